import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellWords } from '../../domain/shell-quote.js';
import { programArguments } from '../built.js';
import { onTerminal } from '../end-to-end/on-terminal.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { GOOD } from '../cli/bad-input.js';
import { ASKS, JOB, SCHEDULE, type Tried, triedAs, VERBS } from '../cli/tried-verbs.js';

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Verbs of which something is painted in every case that is tried. */
const COLOURED: ReadonlySet<string> = new Set(['list']);

/** What only a program that came to grief prints. */
const STACK = /^\s+at .+[:(]\d+|node:internal|UnhandledPromise|\[object Object\]/m;
// oxlint-disable-next-line no-control-regex -- escape codes are what must not be printed
const ESCAPE = /\u001b/;
/** Colours, and not what moves the cursor or says how wide the terminal is. */
// oxlint-disable-next-line no-control-regex -- SGR codes begin with ESC
const COLOUR = /\u001b\[[\d;]*m/;
const CODES = [0, 1, 2, 3, 4, 5, 124];

describe('every verb of the command line', function () {
  this.timeout(120_000);
  let folder: string;
  let server: Record<string, string>;

  before(async function () {
    this.timeout(TEMPORAL_START_MS + 60_000);
    folder = mkdtempSync(join(tmpdir(), 'every-verb-'));
    writeFileSync(join(folder, 'job.yaml'), GOOD);
    writeFileSync(join(folder, 'train.py'), 'print(1)\n');
    const spec = { name: 'x', command: 'python3 x.py', metadata: { resources: { v4: 8 } } };
    writeFileSync(join(folder, 'spec.json'), JSON.stringify(spec));
    const { address, namespace } = await testServer();
    server = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: JOB };
    const job = ['submit', join(folder, 'job.yaml'), '--name', JOB, '--no-verdict'];
    const submitted = await run(job, { env: server });
    assert.equal(submitted.code, 0, submitted.stderr);
    const schedule = ['schedule', 'create', SCHEDULE, join(folder, 'job.yaml'), '--cron', '@yearly', '--user', 'ann'];
    const created = await run(schedule, { env: server });
    assert.equal(created.code, 0, created.stderr);
  });
  after(async () => {
    await run(['cancel', JOB], { env: server });
    await run(['schedule', 'delete', SCHEDULE, '--yes'], { env: server });
    rmSync(folder, { recursive: true, force: true });
  });

  interface RunOptions {
    readonly env: Readonly<Record<string, string>>;
    /** The reader goes at once. */
    readonly isClosed?: true;
    /** Ctrl-C as soon as this is so. */
    readonly interruptAfter?: Promise<unknown>;
  }

  async function run(args: readonly string[], { env, isClosed, interruptAfter }: RunOptions): Promise<Ended> {
    const child = spawn(process.execPath, [...programArguments('cli/main'), ...args], {
      cwd: folder,
      env: environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    if (isClosed === true) child.stdout.destroy();
    else child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    void interruptAfter?.then(() => child.kill('SIGINT'));
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout, stderr };
  }

  const wordsOf = (verb: string, tried: Tried, more: readonly string[] = []): readonly string[] => {
    const args = tried.slice(1).map((word) => word.replace('FOLDER', folder));
    return [...verb.split(' '), ...more, ...args];
  };

  const environment = (env: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
    PATH: process.env['PATH'] ?? '',
    LANG: 'C.UTF-8',
    HOME: folder,
    JOBCTL_HOME: join(folder, 'no-stack'),
    ...env,
  });
  const program = [process.execPath, ...programArguments('cli/main')];

  /** On a terminal of 100 columns. */
  const typed = (args: readonly string[], env: Readonly<Record<string, string>>, keys?: string, question?: string) =>
    onTerminal([...program, ...args], {
      columns: 100,
      cwd: folder,
      env: environment(env),
      ...(keys === undefined ? {} : { keys }),
      ...(question === undefined ? {} : { question }),
    });

  /** `jobctl .. | head -1`: the exit code of jobctl, and what it wrote to stderr. */
  async function head(args: readonly string[], env: Readonly<Record<string, string>>) {
    const line = `${shellWords([...program, ...args])} | head -1 >/dev/null; exit "\${PIPESTATUS[0]}"`;
    const child = spawn('bash', ['-c', line], {
      cwd: folder,
      env: environment(env),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const [code] = (await once(child, 'close')) as [number];
    return { code, stderr };
  }

  for (const [verb, asked] of Object.entries(ASKS)) {
    if (typeof asked === 'string') continue;
    const { question, codeOfNo = 4 } = asked;
    for (const [answer, keys, code] of [
      ['Ctrl-C', '\u0003', 130],
      ['no', 'n\r', codeOfNo],
    ] as const) {
      // Of init a word is an answer.
      if (answer === 'no' && codeOfNo === 0) continue;
      it(`${verb}: ${answer} at its question changes nothing`, async () => {
        const before = readFileSync(join(folder, 'job.yaml'), 'utf8');
        const args = asked.args.map((word) => word.replace('FOLDER', folder));
        const ended = await typed([...verb.split(' '), ...args], { ...server, NO_COLOR: '1' }, keys, question);
        assert.equal(ended.code, code, ended.text);
        assert.doesNotMatch(ended.text, STACK);
        assert.match(ended.text, /nothing was changed/i);
        assert.equal(readFileSync(join(folder, 'job.yaml'), 'utf8'), before);
        // By the index alone: no worker is there to be asked.
        const { stdout, stderr } = await run(['list', '--name', JOB, '-o', 'json'], { env: server });
        const { jobs } = JSON.parse(stdout || '{"jobs":[]}') as { jobs: readonly { phase: string }[] };
        assert.deepEqual(
          jobs.map(({ phase }) => phase),
          ['queued'],
          stderr,
        );
      });
    }
  }

  for (const [verb, command] of VERBS) {
    const tried = triedAs(verb, command);
    if (tried === undefined || typeof tried === 'string') continue;
    const isJson = command.options.some(({ long, argChoices }) => long === '--output' && argChoices?.includes('json'));

    it(`${verb}: no terminal, NO_COLOR, -o json, a reader that goes`, async () => {
      const at = tried[0] === 'server' ? server : { TEMPORAL_ADDRESS: '127.0.0.1:1' };
      const [plain, json, closed] = await Promise.all([
        run(wordsOf(verb, tried), { env: { ...at, NO_COLOR: '1', FORCE_COLOR: '' } }),
        isJson ? run(wordsOf(verb, tried, ['-o', 'json']), { env: at }) : undefined,
        run(wordsOf(verb, tried), { env: at, isClosed: true }),
      ]);
      for (const ended of [plain, json, closed]) {
        if (ended === undefined) continue;
        assert.equal(ended.signal, null);
        assert.doesNotMatch(ended.stderr + ended.stdout, STACK);
        assert.doesNotMatch(ended.stderr + ended.stdout, ESCAPE);
        assert.ok([...CODES, 141].includes(ended.code ?? -1), `exit code ${ended.code}: ${ended.stderr}`);
        if (ended.code !== 0 && ended !== closed) assert.notEqual(ended.stderr + ended.stdout, '', 'it says why');
      }
      // One document, or one on each line.
      if (json !== undefined && json.stdout !== '') assert.ok(isJsonText(json.stdout), json.stdout);
    });

    it(`${verb}: a reader that goes after the first line`, async () => {
      const env = tried[0] === 'server' ? server : { TEMPORAL_ADDRESS: '127.0.0.1:1' };
      const { code, stderr } = await head(wordsOf(verb, tried), env);
      assert.doesNotMatch(stderr, STACK);
      assert.doesNotMatch(stderr, /EPIPE|broken pipe/i);
      assert.ok([...CODES, 141].includes(code), `exit code ${code}: ${stderr}`);
    });

    it(`${verb}: on a terminal, in colour, without colour, and dumb`, async () => {
      const at = tried[0] === 'server' ? server : { TEMPORAL_ADDRESS: '127.0.0.1:1' };
      const words = wordsOf(verb, tried);
      const [coloured, plain, dumb] = await Promise.all([
        typed(words, { ...at, TERM: 'xterm-256color' }),
        typed(words, { ...at, TERM: 'xterm-256color', NO_COLOR: '1' }),
        typed(words, { ...at, TERM: 'dumb' }),
      ]);
      for (const { code, text } of [coloured, plain, dumb]) {
        assert.doesNotMatch(text, STACK);
        assert.ok(CODES.includes(code ?? -1), `exit code ${code}: ${text}`);
      }
      assert.doesNotMatch(plain.text, COLOUR);
      assert.doesNotMatch(dumb.text, ESCAPE);
      if (COLOURED.has(verb)) assert.match(coloured.text, COLOUR);
    });

    it(`${verb}: Ctrl-C while a server is silent`, async () => {
      const silent: Server = createServer();
      const asked = once(silent, 'connection');
      await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
      const env = { TEMPORAL_ADDRESS: `127.0.0.1:${(silent.address() as AddressInfo).port}` };
      const { code, signal, stderr, stdout } = await run(wordsOf(verb, tried), { env, interruptAfter: asked });
      silent.close();
      assert.doesNotMatch(stderr + stdout, STACK);
      // What asks no server has ended by itself.
      assert.ok(signal === 'SIGINT' || [0, 1, 2, 3, 4, 5, 130].includes(code ?? -1), `${code} ${signal}`);
    });
  }
});

function isJsonText(text: string): boolean {
  const isJson = (part: string): boolean => {
    try {
      JSON.parse(part);
      return true;
    } catch {
      return false;
    }
  };
  return isJson(text) || text.trim().split('\n').every(isJson);
}
