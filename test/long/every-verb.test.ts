import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../client/cli/program.js';
import { programArguments } from '../built.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { GOOD } from '../cli/bad-input.js';

/**
 * Arguments with which each verb gets as far as it can here. `server`: a Temporal with one job and no worker. `nowhere`: one that
 * is not there, for verbs that would wait for a worker. Text: why a verb is not run.
 */
const JOB = `verbs-${process.pid}`;
type Tried = readonly ['server' | 'nowhere', ...string[]];
const TRIED: Readonly<Record<string, Tried | string>> = {
  init: ['nowhere', 'FOLDER', '--yes', '--force'],
  submit: ['nowhere', 'FOLDER/job.yaml'],
  validate: ['nowhere', 'FOLDER/job.yaml'],
  list: ['server'],
  status: ['server', JOB],
  why: ['server', JOB],
  logs: ['server', JOB],
  wait: ['server', JOB, '--timeout', '1s'],
  export: ['server', JOB],
  cancel: ['nowhere', JOB],
  stop: ['nowhere', JOB],
  resume: ['nowhere', JOB],
  restart: ['nowhere', JOB],
  requeue: ['nowhere', JOB],
  delete: ['nowhere', JOB],
  'import bastion-jobspec': ['nowhere', 'FOLDER/spec.json'],
  'import jobman': ['nowhere', 'FOLDER/job.yaml'],
  'import launch': ['nowhere', '--', '--instance_type=v4-8', '--', 'python3', 'x.py'],
  top: ['server'],
  outputs: ['nowhere', JOB],
  download: ['nowhere', JOB],
  ssh: ['nowhere', JOB],
  exec: ['nowhere', JOB, '--', 'ls'],
  cp: ['nowhere', `${JOB}:x`, 'FOLDER'],
  'port-forward': ['nowhere', JOB, '8080'],
  'context ls': ['nowhere'],
  'context use': ['nowhere', 'nobody'],
  'context show': ['nowhere'],
  'context set': ['nowhere', 'No/Name'],
  'context rm': ['nowhere', 'nobody'],
  'secret put': ['nowhere', 'TOKEN'],
  'secret ls': ['nowhere'],
  'secret rm': ['nowhere', 'TOKEN'],
  'quota show': ['server'],
  'quota history': ['server'],
  'quota plan': ['server'],
  'quota validate': ['nowhere', 'FOLDER/job.yaml'],
  'quota fmt': ['nowhere', 'FOLDER/job.yaml'],
  'quota apply': ['nowhere', 'FOLDER/job.yaml'],
  'quota freeze': ['nowhere'],
  'quota drain': ['nowhere'],
  'quota thaw': ['nowhere'],
  'quota set-priority': ['nowhere', JOB, '2'],
  setup: ['nowhere', JOB],
  'setup server': ['nowhere'],
  doctor: ['nowhere'],
  'audit leaks': ['nowhere'],
  'codec new-key': ['nowhere'],
  'codec serve': ['nowhere'],
  worker: ['nowhere'],
  version: ['nowhere'],
  completion: ['nowhere', 'bash'],
  'dev up': 'starts a stack: test/dev interrupts it',
  'dev down': ['nowhere'],
  'dev status': ['nowhere'],
  'dev logs': ['nowhere'],
  'rehearsal status': ['nowhere'],
  'rehearsal preempt': ['nowhere', JOB],
  'rehearsal warn': ['nowhere', JOB],
  'rehearsal capacity': ['nowhere', 'us-central1-a/v5litepod', '4'],
  'rehearsal fail': ['nowhere', 'CreateNode'],
  'rehearsal script': ['nowhere', 'FOLDER/job.yaml'],
  'rehearsal journal': ['nowhere'],
  'rehearsal dump': ['nowhere'],
  'rehearsal clock': ['nowhere'],
  'rehearsal env': ['nowhere'],
  rehearse: ['nowhere', 'FOLDER/none.yaml'],
};

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Verbs that do something, by their words. */
function verbsOf(command: Command, words: readonly string[] = []): readonly (readonly [string, Command])[] {
  const own = [words.join(' '), command] as const;
  const below = command.commands.flatMap((each) => verbsOf(each, [...words, each.name()]));
  return command.commands.length === 0 || command.registeredArguments.length > 0 ? [own, ...below] : below;
}

const VERBS = verbsOf(createProgram({ commandWords: undefined, exitCode: 0 }));

/** What only a program that came to grief prints. */
const STACK = /^\s+at .+[:(]\d+|node:internal|UnhandledPromise|\[object Object\]/m;
// oxlint-disable-next-line no-control-regex -- escape codes are what must not be printed
const ESCAPE = /\u001b/;

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
  });
  after(async () => {
    await run(['cancel', JOB], { env: server });
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
    const child = spawn(process.execPath, [...programArguments('client/cli/main'), ...args], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        LANG: 'C.UTF-8',
        HOME: folder,
        JOBCTL_HOME: join(folder, 'no-stack'),
        ...env,
      },
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

  it('is tried here, or it is said why not', () => {
    assert.deepEqual(
      VERBS.map(([verb]) => verb).filter((verb) => !Object.hasOwn(TRIED, verb)),
      [],
      'add a row to TRIED',
    );
    assert.ok(VERBS.length >= 55, String(VERBS.length));
  });

  for (const [verb, command] of VERBS) {
    const tried = TRIED[verb];
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
        assert.ok([0, 1, 2, 3, 4, 5, 124, 141].includes(ended.code ?? -1), `exit code ${ended.code}: ${ended.stderr}`);
        if (ended.code !== 0 && ended !== closed) assert.notEqual(ended.stderr + ended.stdout, '', 'it says why');
      }
      // One document, or one on each line.
      if (json !== undefined && json.stdout !== '') assert.ok(isJsonText(json.stdout), json.stdout);
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
