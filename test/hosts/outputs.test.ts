import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineVerbs } from '../../cloud/hosts/machine-verbs.js';
import type { RunOutputs, RunOutputsStatus } from '../../cloud/hosts/port.js';
import { outputContentObject, outputManifestObject } from '../../domain/store-layout.js';
import { type OutputsManifest, readManifest } from '../../domain/stored-outputs.js';
import { createStore } from '../../cloud/store/gcs.js';
import { until } from '../until.js';
import { ended, NOTICE, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';
import { MAY_NOT, StoreWithRights } from './store-with-rights.js';

const MAY_WRITE = { roles: ['roles/storage.objectUser'] } as const;
const RUN = 'train-x1-a1';
const NO_OUTPUT = { onStdout: () => undefined, onStderr: () => undefined, signal: never };

/** No manifest is there yet, or the next round has taken its place; a content that is not its hash is what the test is about. */
function unlessWrong(error: unknown): undefined {
  if (error instanceof assert.AssertionError && error.operator === 'strictEqual') throw error;
}

describe('the outputs of a command, stored by its host', () => {
  const store = new StoreWithRights();
  before(() => store.start());
  after(() => store.cloud.stop());
  beforeEach(() => store.vmsMay(MAY_WRITE));

  const place = () => createStore({ endpoint: store.cloud.endpoints.store, bucket: 'jobs' });
  /** Undefined: there is no such object. */
  async function read(name: string): Promise<Buffer | undefined> {
    const { status, text } = await store.cloud.ask(place().objectUrl(name) ?? '', { token: await store.cloud.token() });
    return status === 200 ? Buffer.from(text) : undefined;
  }
  const manifestName = (): string => outputManifestObject(`j${job}`, 1, 0);
  let job = 0;

  function onHost(work: (session: HostSession) => Promise<void>): Promise<void> {
    job += 1;
    const inside = async (session: HostSession): Promise<void> => {
      store.trustOn(session.host);
      await work(session);
    };
    return withHost(inside, { env: store.hostEnvironment });
  }

  const outputs = (patterns: readonly string[], more: Partial<RunOutputs> = {}): { outputs: RunOutputs } => ({
    outputs: {
      contentUrl: place().objectUrl(outputContentObject(`j${job}`, 'SHA256')) ?? '',
      manifestUrl: place().objectUrl(outputManifestObject(`j${job}`, 1, 0)) ?? '',
      as: 'service-account',
      place: `gs://jobs/jobs/j${job}/outputs/`,
      everyMs: 600_000,
      folder: '~/.jobctl/outputs/train-x1',
      base: '~',
      patterns,
      isWholeOnly: false,
      host: 0,
      ...more,
    },
  });

  /** Runs the script to its end, and what its host says of its outputs then. */
  async function stored({ connection }: HostSession, script: string, patterns: readonly string[] = ['out']) {
    await connection.startRun(request(script, outputs(patterns)));
    await ended(connection);
    return settled(connection);
  }
  const settled = (connection: HostSession['connection']): Promise<Exclude<RunOutputsStatus, { state: 'storing' }>> =>
    until(
      'its outputs are settled',
      async () => {
        const status = await connection.runOutputs(RUN);
        return status.state === 'storing' ? undefined : status;
      },
      100_000,
    );

  async function manifest(): Promise<OutputsManifest> {
    const content = await read(manifestName());
    assert.ok(content, 'a manifest is stored');
    return readManifest(content);
  }
  async function contents(): Promise<Record<string, string>> {
    const { entries } = await manifest();
    const pairs = entries.map(async (entry) => {
      if (entry.kind !== 'file') return [entry.path, entry.kind === 'link' ? `-> ${entry.target}` : '/'];
      const content = (await read(outputContentObject(`j${job}`, entry.sha256))) ?? Buffer.from('missing');
      assert.equal(createHash('sha256').update(content).digest('hex'), entry.sha256, entry.path);
      return [entry.path, content.toString()];
    });
    return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>;
  }

  it('are what it wrote into $JOBCTL_OUTPUT_DIR and what matches, whatever the names', () =>
    onHost(async (session) => {
      const script = String.raw`mkdir -p out/deep out/empty; printf a > out/a; printf b > "out/deep/with space"
        printf c > $'out/deep/new\nline "q" \\ \t'; printf d > x.ckpt; printf e > no.txt; printf f > "$JOBCTL_OUTPUT_DIR/f"
        printf '' > out/nothing; ln -s deep/../a out/inside; ln -s "$PWD/out/a" out/absolute; chmod 755 out/a`;
      const status = await stored(session, script, ['out', '*.ckpt', '*.none']);
      assert.ok(status.state === 'stored', JSON.stringify(status));
      assert.deepEqual([status.files, status.bytes, status.unmatched, status.problems], [6, 5, ['*.none'], []]);
      assert.deepEqual(await contents(), {
        f: 'f',
        'out/a': 'a',
        'out/absolute': '-> a',
        'out/deep/new\nline "q" \\ \t': 'c',
        'out/deep/with space': 'b',
        'out/empty': '/',
        'out/inside': '-> a',
        'out/nothing': '',
        'x.ckpt': 'd',
      });
      const { state, entries } = await manifest();
      assert.equal(state, 'ended');
      assert.ok(entries.some((entry) => entry.kind === 'file' && entry.path === 'out/a' && entry.mode === 0o755));
    }));

  it('on a machine that outlives its jobs are not what was there before the job, and still are after it came again', () =>
    onHost(async (session) => {
      const { connection } = session;
      const { machine } = connection as unknown as { readonly machine: MachineVerbs };
      const run = (script: string) => connection.exec(script, NO_OUTPUT);
      await run(
        'mkdir out old; printf old > out/old.ckpt; printf log > out/log; printf o > old/o; touch -d 2040-01-01 out/old.ckpt',
      );
      await machine.claim('claim-1', 'claim-1\n', 'train-x1');
      // A set-up lays files down with times of their own, before the command starts.
      await run('printf r > out/restored; touch -d 2020-01-01 out/restored');
      const patterns = ['out', 'out/*.ckpt', 'old'];
      const status = await stored(session, 'printf n > out/new; printf more >> out/log', patterns);
      assert.ok(status.state === 'stored', JSON.stringify(status));
      const first = { 'out/log': 'logmore', 'out/new': 'n', 'out/restored': 'r' };
      assert.deepEqual(await contents(), first);
      assert.deepEqual([status.unmatched, status.problems], [['out/*.ckpt', 'old'], []]);
      await machine.vacate('claim-1', 0);
      await machine.claim('claim-2', 'claim-2\n', 'train-x1');
      await stored(session, 'printf 2 > out/second', patterns);
      assert.deepEqual(await contents(), { ...first, 'out/second': '2' });
    }));

  it('hold no link that leads out of the folder, nor what is behind one', () =>
    onHost(async (session) => {
      const script = `mkdir out secret; printf s > secret/s; printf a > out/a; ln -s ../../etc/passwd out/up
        ln -s /etc/passwd out/abs; ln -s "$PWD/secret" linked; ln -s . out/dot`;
      const status = await stored(session, script, ['out', 'linked/s', 'linked']);
      assert.ok(status.state === 'stored', JSON.stringify(status));
      assert.deepEqual(await contents(), { linked: '-> secret', 'out/a': 'a', 'out/dot': '-> .' });
      assert.match(status.problems.join('\n'), /out\/up: is a symbolic link that leads out of the folder/);
      assert.match(status.problems.join('\n'), /out\/abs: is a symbolic link that leads out of the folder/);
      assert.match(status.problems.join('\n'), /linked\/s: linked is a symbolic link; not stored/);
    }));

  it('are stored while it runs, as whole files, and what did not change is not sent again', () =>
    onHost(async (session) => {
      const { connection } = session;
      const script = `mkdir out; head -c 2000000 /dev/zero > out/big; printf 1 > out/step; echo up
        while [ ! -f go ]; do sleep 0.05; done; printf 2 > out/step`;
      await connection.startRun(request(script, outputs(['out'], { everyMs: 300 })));
      const first = await until('a round is stored', () => manifest().catch(() => undefined));
      assert.equal(first.state, 'running');
      await until('all of it is stored', async () => (await manifest()).entries.length === 2);
      await connection.exec('touch go', {
        onStdout: () => {},
        onStderr: () => {},
        signal: new AbortController().signal,
      });
      await ended(connection);
      const status = await settled(connection);
      assert.equal(status.state, 'stored', JSON.stringify(status));
      assert.equal((await contents())['out/step'], '2');
      const sent = (await store.cloud.journal('store-call')).map((entry) => JSON.stringify(entry));
      const hash = createHash('sha256').update(Buffer.alloc(2_000_000)).digest('hex');
      const uploads = sent.filter((text) => text.includes(hash) && text.includes('objects.insert'));
      assert.equal(uploads.length, 1, uploads.join('\n'));
    }));

  it('never hold half of a file that is written to all the time', function () {
    this.timeout(120_000);
    return onHost(async (session) => {
      const { connection } = session;
      // The file is truncated while it is hashed and while it is sent. A whole round must fit between two writes: the pause between
      // them grows until one does, since how long a round takes depends on how busy the computer is.
      const script = `mkdir out; printf k > out/kept; pause=200
        while [ ! -f stop ]; do
          head -c 300000 /dev/urandom | base64 > out/busy
          sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
          pause=$((pause * 3 / 2)); [ "$pause" -lt 6000 ] || pause=6000
        done`;
      await connection.startRun(request(script, outputs(['out'], { everyMs: 100 })));
      const rounds = new Set<number>();
      const isRoundStored = async (): Promise<boolean> => {
        const { at } = await manifest();
        // Each stored round is judged while the file is written to, not the last one alone.
        if (!rounds.has(at)) await contents();
        return rounds.add(at).size >= 3;
      };
      await until('three rounds are stored', () => isRoundStored().catch(unlessWrong), 100_000);
      const nothing = { onStdout: () => undefined, onStderr: () => undefined, signal: never };
      await connection.exec('touch stop', nothing);
      await ended(connection);
      assert.equal((await settled(connection)).state, 'stored');
      assert.equal((await contents())['out/kept'], 'k');
    });
  });

  it('say why they are not stored: the right is missing; the command is none the worse', () =>
    onHost(async (session) => {
      await store.vmsMay(MAY_NOT);
      const status = await stored(session, 'mkdir out; printf a > out/a');
      assert.ok(status.state === 'failed', JSON.stringify(status));
      assert.match(
        status.reason,
        /the VM's service account may not write to gs:\/\/jobs\/jobs\/j\d+\/outputs\/ \(HTTP 403\)/,
      );
      assert.equal((await ended(session.connection)).code, 0);
      assert.equal(await read(manifestName()), undefined);
    }));

  it('leave no process behind once they are stored', () =>
    onHost(async ({ connection }) => {
      // As nobody else sleeps.
      const everyMs = 987_654;
      await connection.startRun(request('mkdir out; echo 1 > out/a; sleep 1', outputs(['out'], { everyMs })));
      await ended(connection);
      await settled(connection);
      const sleepers = async (): Promise<string> => {
        let found = '';
        const onStdout = (chunk: Buffer): void => void (found += chunk.toString());
        const options = { onStdout, onStderr: () => undefined, signal: never };
        await connection.exec(`pgrep -fx 'sleep ${everyMs / 1000}'`, options);
        return found;
      };
      await until('nobody sleeps on', async () => (await sleepers()) === '', 5_000);
    }));

  it('are nothing where nothing was written and nothing is named', () =>
    onHost(async (session) => {
      assert.deepEqual(await stored(session, 'true', []), { state: 'none' });
      assert.equal(await read(manifestName()), undefined);
    }));

  it('are stored of a command that was stopped, and by the next who asks if their process was killed', () =>
    onHost(async (session) => {
      const { connection, host } = session;
      await connection.startRun(request('mkdir out; printf a > out/a; sleep 300', outputs(['out'])));
      await until('it has begun', () => existsSync(join(host.home, 'out/a')));
      await until('its outputs have a process', () => existsSync(join(host.home, `.jobctl/runs/${RUN}/outputs/pid`)));
      process.kill(Number(session.read(`.jobctl/runs/${RUN}/outputs/pid`)), 'SIGKILL');
      await connection.stopRun(RUN, 1_000, NOTICE);
      assert.equal((await settled(connection)).state, 'stored');
      assert.deepEqual(await contents(), { 'out/a': 'a' });
    }));
});
