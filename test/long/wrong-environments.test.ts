import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellWords } from '../../domain/shell-quote.js';
import { programArguments } from '../built.js';
import { GOOD } from '../cli/bad-input.js';
import type { Ended } from '../cli/command-line.js';
import { startOtherServers } from '../cli/other-servers.js';
import { ODD_BUT_RIGHT, WRONG_FOLDERS, WRONG_VARIABLES, type WrongEnvironment } from '../cli/wrong-environments.js';
import { WRONG_SERVERS } from '../cli/wrong-servers.js';

const ALL = { ...WRONG_SERVERS, ...WRONG_VARIABLES, ...WRONG_FOLDERS };
/** Root, bound by the modes of files as everybody else is. */
const AS_OTHERS = ['setpriv', '--inh-caps=-all', '--bounding-set=-dac_override,-dac_read_search'];

describe('an environment in which nothing can work is told from what is typed wrong', function () {
  this.timeout(60_000);
  let folder: string;
  let servers: Awaited<ReturnType<typeof startOtherServers>>;

  before(async () => void (servers = await startOtherServers()));
  after(() => servers.stop());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wrong-environment-'));
    writeFileSync(join(folder, 'job.yaml'), GOOD);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const placed = (text: string, server?: string): string =>
    text
      .replaceAll('GOOD', join(folder, 'job.yaml'))
      .replaceAll('{DIR}', folder)
      .replaceAll('{AT}', `127.0.0.1:${server === undefined ? 1 : servers.ports.get(server)}`);

  interface Run extends Pick<WrongEnvironment, 'args' | 'isBoundByModes' | 'shell'> {
    readonly env: Readonly<Record<string, string>>;
  }

  /** The program as it is installed, from a shell that says what stands around it. */
  function run({ args, env, isBoundByModes, shell }: Run): Promise<Ended> {
    const program = shellWords([process.execPath, ...programArguments('cli/main')]);
    const line = shell === undefined ? `exec $JOBCTL ${shellWords(args)}` : shell;
    const who = isBoundByModes === true && process.getuid?.() === 0 ? AS_OTHERS : [];
    const [file, ...words] = [...who, '/bin/bash', '-c', line.replaceAll('$JOBCTL', program)];
    const child = spawn(file, words, {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (ended.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (ended.stderr += text));
    return new Promise((resolve) => child.once('close', (exitCode) => resolve({ exitCode, ...ended })));
  }

  async function prepare(lines: string): Promise<void> {
    const { exitCode, stderr } = await run({ args: [], env: {}, shell: lines });
    assert.equal(exitCode, 0, stderr);
  }

  for (const [name, { args, env = {}, server, prepare: lines, shell, exitCode, wants, ...who }] of Object.entries(ALL))
    it(name, async () => {
      if (lines !== undefined) await prepare(lines);
      const known = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, placed(value, server)]));
      const words = args.map((word) => placed(word, server));
      const ended = await run({
        args: words,
        env: known,
        ...who,
        ...(shell === undefined ? {} : { shell: placed(shell) }),
      });
      // Above what went wrong verbs that change something say where they are.
      const told = ended.stderr.replace(/^(server|bundle|packing|reading).*\n/gm, '');
      const stderr = wants.map((line) => `${placed(line, server)}\n`).join('');
      assert.deepEqual({ ...ended, stderr: told }, { exitCode, stdout: '', stderr });
    });

  for (const [name, env] of Object.entries(ODD_BUT_RIGHT))
    it(`${name}: the answer is the same`, async () => {
      const usual = { args: ['validate', 'job.yaml'], env: { LANG: 'C.UTF-8' } };
      const [odd, ever] = await Promise.all([run({ ...usual, env }), run(usual)]);
      assert.deepEqual(odd, ever);
      assert.equal(odd.exitCode, 0);
    });

  for (const source of [
    '<(cat job.yaml)',
    '/dev/stdin < job.yaml',
    '<(sed "s/$/\r/" job.yaml)',
    '<(printf "\\xef\\xbb\\xbf"; cat job.yaml)',
  ])
    it(`a good job file comes from ${source} too`, async () => {
      const { exitCode, stdout, stderr } = await run({ args: [], env: {}, shell: `$JOBCTL validate ${source}` });
      assert.deepEqual([exitCode, stdout.split('\n')[1]], [0, '  slice    v5litepod-16: 16 chips on 4 hosts'], stderr);
    });

  it('has a case for each kind, 40 and more', () =>
    assert.ok(Object.keys(ALL).length >= 40, `${Object.keys(ALL).length}`));
});
