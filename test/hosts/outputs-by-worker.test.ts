import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { DeliveredOutputs } from '../../activities/attempt/delivered-outputs.js';
import type { AttemptHost, HostCaller } from '../../activities/attempt/attempt-hosts.js';
import type { HostConnection, OutputsTaker, RunOutputs, RunRequest, Taken } from '../../cloud/hosts/port.js';
import { type StorePort, StoreUnavailable } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { FileSource } from '../../domain/file-source.js';
import { type OutputsManifest, readManifest } from '../../domain/stored-outputs.js';
import { until } from '../until.js';
import { ended, NOTICE, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';

const RUN = 'train-x1-a1';
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** What a worker has taken. */
class Store implements OutputsTaker {
  readonly contents = new Map<string, Buffer>();
  readonly manifests: OutputsManifest[] = [];
  /** What is answered, in place of taking it. */
  answer: (what: FileSource | 'manifest') => Taken | undefined = () => undefined;

  inTurn<T>(take: () => Promise<T>): Promise<T> {
    return take();
  }

  async content(source: FileSource): Promise<Taken> {
    const answer = this.answer(source);
    if (answer !== undefined) return answer;
    const chunks: Buffer[] = [];
    for await (const chunk of source.read(0)) chunks.push(chunk);
    const content = Buffer.concat(chunks);
    if (sha256(content) !== source.sha256) return { kind: 'changed' };
    this.contents.set(source.sha256, content);
    return { kind: 'stored' };
  }

  async manifest(content: Buffer): Promise<Taken> {
    const answer = this.answer('manifest');
    if (answer !== undefined) return answer;
    const manifest = readManifest(content);
    for (const entry of manifest.entries)
      if (entry.kind === 'file') assert.ok(this.contents.has(entry.sha256), `${entry.path} is there before its list`);
    this.manifests.push(manifest);
    return { kind: 'stored' };
  }

  /** Path and content of the last round. */
  get files(): Record<string, string> {
    const entries = this.manifests.at(-1)?.entries ?? [];
    return Object.fromEntries(
      entries.flatMap((entry) =>
        entry.kind === 'file' ? [[entry.path, String(this.contents.get(entry.sha256))] as const] : [],
      ),
    );
  }
}

const outputs = (patterns: readonly string[], more: Partial<RunOutputs> = {}): RunOutputs => ({
  ...{ contentUrl: 'https://no.such.store/SHA256', manifestUrl: 'https://no.such.store/manifest', as: 'worker' },
  ...{ place: 'gs://jobs/jobs/j/outputs/', everyMs: 600_000, folder: '~/.jobctl/outputs/j', base: '~', patterns },
  ...{ isWholeOnly: false, host: 0, ...more },
});
const run = (script: string, patterns: readonly string[], more: Partial<RunOutputs> = {}): RunRequest =>
  request(script, { outputs: outputs(patterns, more) });

/** No program of a host's reaches a store: it has neither curl nor a metadata server. */
const onHost = (work: (session: HostSession) => Promise<void>): Promise<void> =>
  withHost(work, { env: { GCE_METADATA_HOST: '127.0.0.1:1' } });

describe('the outputs of a command on a host without an identity, taken by its worker', () => {
  const taken = (connection: HostConnection, store: Store, signal = never) =>
    connection.deliverOutputs(RUN, store, signal);

  it('are what it wrote, whatever the names and sizes, and its list comes last', () =>
    onHost(async ({ connection }) => {
      const script = String.raw`mkdir -p out/deep; printf a > out/a; printf b > "out/deep/with space"; printf '' > out/nothing
        printf c > $'out/deep/new\nline "q" \\ \t'; printf d > "$JOBCTL_OUTPUT_DIR/d"
        seq 1 4000000 > out/large; for i in $(seq 1 1200); do echo "$i" > "out/f$i"; done`;
      await connection.startRun(run(script, ['out']));
      const store = new Store();
      assert.equal(await taken(connection, store), 'settled');
      const large = Array.from({ length: 4_000_000 }, (_, at) => `${at + 1}\n`).join('');
      const files = store.files;
      assert.equal(sha256(files['out/large'] ?? ''), sha256(large));
      assert.deepEqual(
        ['out/a', 'out/deep/with space', 'out/nothing', 'out/deep/new\nline "q" \\ \t', 'd', 'out/f1200'].map(
          (path) => files[path],
        ),
        ['a', 'b', '', 'c', 'd', '1200\n'],
      );
      assert.equal(store.manifests.at(-1)?.files, 1206);
      const status = await connection.runOutputs(RUN);
      assert.ok(status.state === 'stored', JSON.stringify(status));
      assert.equal(await taken(connection, store), 'settled', 'there is nothing more to take');
    }));

  it('are stored at once as it hears a notice, and once more at its end', () =>
    onHost(async ({ connection }) => {
      const script = `trap 'printf last > out; exit 9' TERM; printf first > out; while :; do sleep 0.1; done`;
      await connection.startRun(run(script, ['out'], { everyMs: 1_000 }));
      const store = new Store();
      const over = taken(connection, store);
      await until('the first round', () => store.files['out'] === 'first');
      await connection.stopRun(RUN, 5_000, NOTICE);
      assert.equal(await over, 'settled');
      assert.equal(store.files['out'], 'last');
      assert.equal(store.manifests.at(-1)?.state, 'ended');
    }));

  it('go on with the next worker, whichever moment the one before was cut at', () =>
    onHost(async ({ connection, another }) => {
      await connection.startRun(run('seq 1 2000000 > large; printf s > small', ['large', 'small']));
      for (const moment of [0, 1, 2, 'manifest'] as const) {
        const cut = new AbortController();
        const first = new Store();
        let asked = 0;
        first.answer = (what) => {
          if (what !== moment && asked++ !== moment) return undefined;
          cut.abort(new Error('this worker dies'));
          return { kind: 'later', why: 'nobody hears this' };
        };
        await assert.rejects(taken(await another(), first, cut.signal), /this worker dies/);
        assert.deepEqual(first.manifests, []);
      }
      const store = new Store();
      assert.equal(await taken(await another(), store), 'settled');
      assert.equal(store.files['small'], 's');
      assert.equal(store.files['large']?.length, 14_888_896);
    }));

  it('belong to the worker that came last: the one before is sent away', () =>
    onHost(async ({ connection, another }) => {
      await connection.startRun(run('until [ -f go ]; do sleep 0.1; done; printf x > out', ['out']));
      const [one, two] = [new Store(), new Store()];
      const before = taken(connection, one).catch((error: Error) => error.message);
      await until('the first waits', async () => (await connection.runOutputs('nothing')).state === 'none');
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
      const store = new Store();
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
      const store = new Store();
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
      const store = new Store();
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
    spec: { machines: {} },
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
    const host = { target: {}, number: 3 } as unknown as AttemptHost;
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
