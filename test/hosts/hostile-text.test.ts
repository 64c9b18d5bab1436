import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { shellPath, shellQuote, shellWords } from '../../domain/shell-quote.js';
import { ended, request } from './run.js';
import { never, withHost } from './session.js';

/** What shells, tools and people trip over. */
const PIECES = [
  ...`'"\`$\\!#&|;<>()[]{}*?~ \t\n\r%=:,@^+-`.split(''),
  ...['$HOME', '$(id)', '`id`', '${x:-y}', "'\\''", '\\n', '-n', '--', '-rf', '\u0001', '\u001b[31m', '\u007f'],
  ...['é', 'ß', '漢字', '🙂', '\u202e', '\ufeff', '\u2028', 'EOF', 'jobctl-runner: done', '%s', '..', 'a', 'Z', '0'],
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 24 }).map((pieces) => pieces.join(''));
/** One part of a path: no slash, not too long, and not the folder itself. */
const name = text
  .filter((part) => part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= 200)
  .map((part) => part.replaceAll('/', ''));

const CASES = 1000;
const samples = <T>(arbitrary: fc.Arbitrary<T>, count = CASES): T[] =>
  fc.sample(arbitrary, { numRuns: count, seed: SEED });
const SEED = 20261122;

const digest = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('hostile text arrives byte for byte', function () {
  this.timeout(60_000);

  it('1,000 words of a command line, over SSH', () =>
    withHost(async ({ connection }) => {
      const words = samples(text);
      const printed: Buffer[] = [];
      const options = {
        onStdout: (chunk: Buffer) => void printed.push(chunk),
        onStderr: () => undefined,
        signal: never,
      };
      const command = `sh -c 'for word; do printf "%s\\0" "$word"; done' ${shellWords(['sh', ...words])}`;
      assert.deepEqual(await connection.exec(command, options), { code: 0 });
      assert.deepEqual(Buffer.concat(printed).toString().split('\0').slice(0, -1), words);
    }));

  it('1,000 values of the environment', () =>
    withHost(async ({ connection, read }) => {
      const values = samples(text);
      const env = Object.fromEntries(values.map((value, index) => [`V${index}`, value]));
      const script = `for i in $(seq 0 ${CASES - 1}); do n=V$i; printf '%s\\0' "\${!n}"; done`;
      await connection.startRun(request(script, { env }));
      assert.equal((await ended(connection)).code, 0);
      assert.deepEqual(read('.jobctl/runs/train-x1-a1/output').split('\0').slice(0, -1), values);
    }));

  it('1,000 commands in one script, each by what it prints', () =>
    withHost(async ({ connection, read }) => {
      const words = samples(text);
      // As a user would write them: words of printf, and documents that the shell must not read.
      const commands = words.map((word, index) =>
        index % 2 === 0
          ? `printf '%s\\0' ${shellQuote(word)}`
          : `cat <<'END-OF-${index}'\n${word}\nEND-OF-${index}\nprintf '\\0'`,
      );
      await connection.startRun(request(`${commands.join('\n')}\nexit 9\n`));
      assert.equal((await ended(connection)).code, 9);
      const expected = words.map((word, index) => (index % 2 === 0 ? word : `${word}\n`));
      assert.deepEqual(read('.jobctl/runs/train-x1-a1/output').split('\0').slice(0, -1), expected);
    }));

  it('1,000 paths, under the home folder and absolute ones', () =>
    withHost(async ({ host, connection }) => {
      const root = mkdtempSync(join(tmpdir(), 'hostile-'));
      try {
        const paths = [...new Set(samples(name))].map((part, index) => ({
          part,
          path: index % 2 === 0 ? `~/paths/${part}` : `${root}/${part}`,
        }));
        const script = `mkdir -p ~/paths\n${paths.map(({ path, part }) => `printf %s ${shellQuote(part)} > ${shellPath(path)}`).join('\n')}`;
        await connection.startRun(request(script));
        assert.equal((await ended(connection)).code, 0);
        for (const { part, path } of paths)
          assert.equal(readFileSync(path.replace(/^~/, host.home), 'utf8'), part, JSON.stringify(path));
        assert.ok(paths.length > 900, `${paths.length} different names`);
      } finally {
        rmSync(root, { recursive: true });
      }
    }));

  it('names and contents of copied files', () =>
    withHost(async ({ host, connection }) => {
      const names = [...new Set(samples(name, 40))].filter((part) => !part.includes('\n'));
      await Promise.all(
        names.map(async (part) => {
          const content = Buffer.from(`${part}\r\n\0${part}`);
          await connection.putFile(content, `~/copied/${part}`, { mode: 0o640, signal: never });
          const file = join(host.home, 'copied', part);
          assert.equal(digest(readFileSync(file)), digest(content), JSON.stringify(part));
          assert.equal(statSync(file).mode & 0o777, 0o640);
        }),
      );
      assert.ok(names.length > 20);
    }));

  it('the reason of a stop', () =>
    withHost(async ({ connection, read }) => {
      const reason = samples(text, 200).join(' ');
      const script = `trap 'cat "$JOBCTL_NOTICE_FILE"; exit' TERM; echo up; while :; do sleep 0.05; done`;
      await connection.startRun(request(script));
      await connection
        .followOutput('train-x1-a1', 0, () => Promise.reject(new Error('up')), never)
        .catch(() => undefined);
      await connection.stopRun('train-x1-a1', 8000, { cause: 'cancel', reason });
      const notice = read('.jobctl/runs/train-x1-a1/output')
        .split('\n')
        .find((line) => line.startsWith('{'));
      assert.equal((JSON.parse(notice ?? '') as { reason: string }).reason, reason);
    }));
});
