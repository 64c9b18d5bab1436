import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DeliveredOutputs } from '../../activities/attempt/outputs.js';
import { type AttemptHost, commandHostsOf, type HostCaller } from '../../activities/attempt/attempt-hosts.js';
import { Restore } from '../../activities/attempt/restore.js';
import { RUNNER_NAME } from '../../cloud/hosts/runner/index.js';
import type { HostConnection, OutputsTaker, RunOutputs, RunRequest, Taken } from '../../cloud/hosts/port.js';
import { type StorePort, StoreUnavailable } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { until } from '../until.js';
import { applyModule } from './apply-modules.js';
import { OutputsInMemory, outputsByWorker } from './outputs-taker.js';
import { ended, NOTICE, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';

const RUN = 'train-x1-a1';
const PATH = { PATH: '/usr/local/bin:/usr/bin:/bin' };
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

const run = (script: string, patterns: readonly string[], more: Partial<RunOutputs> = {}): RunRequest =>
  request(script, { outputs: outputsByWorker(patterns, more) });

/** No program of a host's reaches a store: it has neither curl nor a metadata server. */
const onHost = (work: (session: HostSession) => Promise<void>): Promise<void> =>
  withHost(work, { env: { GCE_METADATA_HOST: '127.0.0.1:1' } });

describe('the outputs of a command on a host without an identity, taken by its worker', () => {
  const taken = (connection: HostConnection, store: OutputsInMemory, signal = never) =>
    connection.deliverOutputs(RUN, store, signal);

  it('are what it wrote, whatever the names and sizes, and its list comes last', () =>
    onHost(async ({ connection }) => {
      const script = String.raw`mkdir -p out/deep; printf a > out/a; printf b > "out/deep/with space"; printf '' > out/nothing
        printf c > $'out/deep/new\nline "q" \\ \t'; printf d > "$JOBCTL_OUTPUT_DIR/d"
        seq 1 700000 > out/large; for i in {1..20}; do echo "$i" > "out/f$i"; done`;
      await connection.startRun(run(script, ['out']));
      const store = new OutputsInMemory();
      assert.equal(await taken(connection, store), 'settled');
      const large = Array.from({ length: 700_000 }, (_, at) => `${at + 1}\n`).join('');
      const files = store.files;
      assert.equal(sha256(files['out/large'] ?? ''), sha256(large));
      assert.deepEqual(
        ['out/a', 'out/deep/with space', 'out/nothing', 'out/deep/new\nline "q" \\ \t', 'd', 'out/f20'].map(
          (path) => files[path],
        ),
        ['a', 'b', '', 'c', 'd', '20\n'],
      );
      assert.equal(store.manifests.at(-1)?.files, 26);
      const status = await connection.runOutputs(RUN);
      assert.ok(status.state === 'stored', JSON.stringify(status));
      assert.equal(await taken(connection, store), 'settled', 'there is nothing more to take');
    }));

  it('are offered a thousand at a time: so many lists of contents, and then that of files', () =>
    onHost(async ({ connection, host }) => {
      await connection.startRun(run('mkdir out; for i in {1..1001}; do echo $i > out/f$i; done', ['out']));
      await ended(connection);
      // Nothing is asked for: each content that is sent costs the host two processes.
      const runner = spawn('sh', [RUNNER_NAME, 'deliver', RUN], { cwd: host.home, env: { HOME: host.home, ...PATH } });
      const lists: number[] = [];
      let offered: string[] = [];
      for await (const line of createInterface(runner.stdout)) {
        const [word = '', ...more] = line.split(' ');
        if (/^\d+$/.test(word) && more.length === 2) offered.push(word);
        if (line.startsWith('manifest ')) runner.stdin.write('stored\n');
        if (line !== 'end') continue;
        lists.push(offered.length);
        runner.stdin.write(`${offered.map((at) => `have ${at}\n`).join('')}end\n`);
        offered = [];
      }
      const status = await connection.runOutputs(RUN);
      assert.deepEqual([lists, status.state === 'stored' && status.files], [[1_000, 1], 1_001]);
    }));

  it('are stored at once as it hears a notice, and once more at its end', () =>
    onHost(async ({ connection }) => {
      const script = `trap 'printf last > out; exit 9' TERM; printf first > out; while :; do sleep 0.1; done`;
      await connection.startRun(run(script, ['out'], { everyMs: 1_000 }));
      const store = new OutputsInMemory();
      const over = taken(connection, store);
      await until('the first round', () => store.files['out'] === 'first');
      await connection.stopRun(RUN, 5_000, NOTICE);
      assert.equal(await over, 'settled');
      assert.equal(store.files['out'], 'last');
      assert.equal(store.manifests.at(-1)?.state, 'ended');
    }));

  it('go on with the next worker, whichever moment the one before was cut at', () =>
    onHost(async ({ connection, another }) => {
      await connection.startRun(run('seq 1 700000 > large; printf s > small', ['large', 'small']));
      for (const moment of [0, 1, 2, 'manifest'] as const) {
        const cut = new AbortController();
        const first = new OutputsInMemory();
        let asked = 0;
        first.answer = (what) => {
          if (what !== moment && asked++ !== moment) return undefined;
          cut.abort(new Error('this worker dies'));
          return { kind: 'later', why: 'nobody hears this' };
        };
        await assert.rejects(taken(await another(), first, cut.signal), /this worker dies/);
        assert.deepEqual(first.manifests, []);
      }
      const store = new OutputsInMemory();
      assert.equal(await taken(await another(), store), 'settled');
      assert.equal(store.files['small'], 's');
      assert.equal(store.files['large']?.length, 4_788_895);
    }));

  it('belong to the worker that came last: the one before is sent away', () =>
    onHost(async (session) => {
      const { connection, another, host } = session;
      await connection.startRun(run('until [ -f go ]; do sleep 0.1; done; printf x > out', ['out']));
      const [one, two] = [new OutputsInMemory(), new OutputsInMemory()];
      const before = taken(connection, one).catch((error: Error) => error.message);
      await until('the first waits', () => existsSync(join(host.home, '.jobctl/runs', RUN, 'outputs/pid')));
      const now = taken(await another(), two);
      assert.match(String(await before), /ended with code 137|ended with signal|cut/);
      await connection.exec('touch go', { onStdout: () => undefined, onStderr: () => undefined, signal: never });
      assert.equal(await now, 'settled');
      assert.deepEqual([one.files, two.files], [{}, { out: 'x' }]);
    }));

  it('wait for a store in trouble, and the host says why', () =>
    onHost(async ({ connection }) => {
      await connection.startRun(run('printf x > out', ['out']));
      await ended(connection);
      const store = new OutputsInMemory();
      let tries = 0;
      store.answer = (what) =>
        tries++ < (what === 'manifest' ? 3 : 2) ? { kind: 'later', why: 'no route\nto the store' } : undefined;
      const over = taken(connection, store);
      await until('the host says why', async () => {
        const status = await connection.runOutputs(RUN);
        return status.state === 'storing' && status.reason === 'no route to the store';
      });
      assert.equal(await over, 'settled');
      assert.equal(store.files['out'], 'x');
    }));

  it('list nothing that changed while it was taken, also not under its other name', () =>
    onHost(async ({ connection }) => {
      await connection.startRun(run('printf x > one; printf x > two; printf y > three', ['*e', 'two']));
      await ended(connection);
      const store = new OutputsInMemory();
      let isChanged = false;
      store.answer = (what) => {
        if (isChanged || what === 'manifest' || what.sha256 !== sha256('x')) return undefined;
        isChanged = true;
        return { kind: 'changed' };
      };
      assert.equal(await taken(connection, store), 'settled');
      assert.deepEqual(store.files, { one: 'x', two: 'x', three: 'y' });
    }));

  it('are given up by name where the list is refused', () =>
    onHost(async ({ connection }) => {
      await connection.startRun(run('printf x > out', ['out']));
      const store = new OutputsInMemory();
      store.answer = (what) => (what === 'manifest' ? { kind: 'refused', why: 'its list is wrong' } : undefined);
      assert.equal(await taken(connection, store), 'settled');
      const status = await connection.runOutputs(RUN);
      assert.ok(status.state === 'failed' && status.reason === 'its list is wrong', JSON.stringify(status));
    }));
});

describe('what a worker stores of what a host hands over', () => {
  const input = {
    job: { id: 'train' },
    attempt: 2,
    spec: {},
    settings: {},
  } as unknown as AttemptInput;

  it('lies below its own job, attempt and number, and trouble of the store is told', async () => {
    const written: string[] = [];
    const store = {
      upload: async (name: string) => {
        written.push(name);
        throw new StoreUnavailable('it is down');
      },
      replace: async (name: string) => void written.push(name),
    } as unknown as StorePort;
    const said: Taken[] = [];
    const connection = {
      deliverOutputs: async (_run: string, taker: OutputsTaker) => {
        const content = Buffer.from('x');
        const read = async function* (): AsyncGenerator<Buffer> {
          yield content;
        };
        said.push(await taker.content({ sha256: sha256(content), size: 1, read }));
        said.push(
          await taker.manifest(
            Buffer.from('{"v":1,"state":"ended","at":1,"files":0,"bytes":0,"unmatched":[],"problems":[]}\n'),
          ),
        );
        said.push(await taker.manifest(Buffer.from('none of ours')));
        return 'settled';
      },
    } as unknown as HostConnection;
    const caller = { on: async (_: unknown, work: (it: HostConnection) => unknown) => work(connection) };
    const host = { target: { reach: 'pod' }, number: 3 } as unknown as AttemptHost;
    await new DeliveredOutputs(store, input, caller as unknown as HostCaller, never).from(host);
    assert.deepEqual(written, [
      `jobs/train/outputs/contents/${sha256('x')}`,
      'jobs/train/outputs/manifests/a2/host-3.jsonl',
    ]);
    assert.deepEqual(
      said.map(({ kind }) => kind),
      ['later', 'stored', 'refused'],
    );
  });
});

describe('what a host without an identity gets back, handed by its worker', function () {
  this.timeout(60_000);
  const contents: Record<string, string> = {
    'out/large': 'line\n'.repeat(60_000),
    'out/same one': 'twice',
    'out/same two': 'twice',
    'out/nothing': '',
    ...Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`out/f${at}`, `content ${at}`])),
  };
  const content = (sha: string): string | undefined => Object.values(contents).find((text) => sha256(text) === sha);
  const inputOf = (attempt: number): AttemptInput =>
    ({
      ...{ job: { id: 'train', run: 'r' }, attempt, settings: { loginUser: 'bob' } },
      spec: {
        ...{ slices: 1, modules: ['command'], command: { run: 'true', hosts: 'all' } },
        outputs: { patterns: ['out'], everySeconds: 600, waitSeconds: 600, restore: true },
      },
      slices: [{ index: 0, uid: 'n', ref: {}, hosts: [{ reach: 'pod', index: 0, internalIp: 'x' }] }],
    }) as unknown as AttemptInput;
  const manifestText = (): string => {
    const entries = Object.entries(contents).map(([path, text]) => ({
      ...{ path, sha256: sha256(text), size: text.length, mtime: 1, mode: '640' },
    }));
    const header = {
      v: 1,
      state: 'ended',
      whole: true,
      at: 1,
      files: entries.length,
      bytes: 3,
      unmatched: [],
      problems: [],
    };
    return [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
  };
  let reads = 0;
  const store = {
    bucket: 'jobs',
    list: async () => [{ name: 'jobs/train/outputs/manifests/a1/host-0.jsonl' }],
    read: async (name: string, range?: { start: number; end?: number }) => {
      if (name.includes('/manifests/')) return Buffer.from(manifestText());
      reads += 1;
      const text = content(name.slice(-64));
      return text === undefined ? undefined : Buffer.from(text.slice(range?.start, range?.end));
    },
    downloadUrl: (name: string) => `https://no.such.store/${name}`,
    objectUrl: (name: string) => `https://no.such.store/${name}`,
  } as unknown as StorePort;

  async function handed({ connection }: HostSession, attempt = 2) {
    const restore = Restore.of(store, inputOf(attempt));
    const host = commandHostsOf(inputOf(attempt))[0]!;
    const find = async () => restore?.planFor(host);
    const plan = await new MockActivityEnvironment().run<[], ModulePlan | undefined, typeof find>(find);
    assert.ok(restore && plan && restore.isHanded(host));
    await restore.hand(host, connection, never);
    const before = reads;
    await restore.hand(host, connection, never);
    assert.equal(reads, before, 'what is there is not sent again');
    return applyModule(connection, plan);
  }

  it('is all of it, whatever the sizes, and no content is sent twice', () =>
    onHost(async (session) => {
      const applied = await handed(session);
      assert.equal(applied.kind, 'done', JSON.stringify(applied));
      for (const [path, text] of Object.entries(contents)) assert.equal(session.read(path), text, path);
      assert.ok(!existsSync(join(session.host.home, '.jobctl/restore/train')), 'nothing is left beside');
    }));

  it('is nothing where the host has run that attempt itself: not a byte is read for it', () =>
    onHost(async (session) => {
      const { connection } = session;
      await connection.startRun(
        request('mkdir out; printf newer > "out/same one"', { runId: 'train-a1', outputs: outputsByWorker(['out']) }),
      );
      await ended(connection, 'train-a1');
      reads = 0;
      assert.equal((await handed(session)).kind, 'done');
      assert.deepEqual([reads, session.read('out/same one')], [0, 'newer']);
    }));

  it('is refused by name where somebody has changed it in the bucket', () =>
    onHost(async (session) => {
      const changed = {
        ...store,
        read: async (name: string, range?: { start: number; end?: number }) => {
          const found = await store.read(name, range);
          return name.endsWith(sha256('content 7')) ? Buffer.from('CONTENT 7') : found;
        },
      } as StorePort;
      const restore = Restore.of(changed, inputOf(2));
      const host = commandHostsOf(inputOf(2))[0]!;
      await new MockActivityEnvironment().run(async () => restore?.planFor(host));
      await assert.rejects(async () => restore?.hand(host, session.connection, never), {
        name: 'ManifestWrong',
        message:
          /^out\/f7: what is stored is not what its host stored \(SHA-256\): .* \(gs:\/\/jobs\/jobs\/train\/outputs\/contents\//,
      });
      assert.ok(!existsSync(join(session.host.home, 'out')));
    }));
});
