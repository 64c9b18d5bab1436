import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { farBuckets } from '../../cli/place/buckets.js';
import { ensureBucket } from '../../cloud/store/gcs.js';
import { farRegions } from '../../domain/store-place.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { jobctl } from './command-line.js';

describe('a bucket that is mounted far from where it lies', function () {
  this.timeout(20_000);
  const bucketsIn: Readonly<Record<string, string>> = { near: 'us-central1', wide: 'us', far: 'eu', pair: 'nam4' };
  let cloud: RehearsedCloud;
  before(async () => {
    cloud = await startRehearsedCloud();
    for (const [name, location] of Object.entries(bucketsIn)) {
      const url = `${cloud.storeEndpoint}/storage/v1/b?project=p`;
      const headers = { 'content-type': 'application/json' };
      const made = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ name, location }) });
      assert.equal(made.status, 200, await made.text());
    }
  });
  after(() => cloud.stop());

  const job = (buckets: readonly string[], zones: readonly string[] = ['us-central1-a']) => ({
    gcsfuse: buckets.map((bucket) => ({ bucket, path: `/mnt/${bucket}` })),
    zones,
  });
  const contextOf = (endpoint: string) => ({ bucket: { endpoint, bucket: 'jobs' } });

  it('is named once with both places; those that are near are not', async () => {
    assert.deepEqual(await farBuckets(job(['near', 'far', 'wide', 'pair', 'far']), contextOf(cloud.storeEndpoint)), [
      'gcsfuse: bucket far lies in eu, and the slices in us-central1: reads are slow, and Google bills the traffic',
    ]);
    const elsewhere = job(['near'], ['us-central1-b', 'us-west4-a', 'europe-west4-b']);
    assert.match(
      (await farBuckets(elsewhere, contextOf(cloud.storeEndpoint)))[0] ?? '',
      /near lies in us-central1, and the slices in us-west4 or europe-west4:/,
    );
  });

  it('of a job that takes any zone is said of every zone that it may get, and of the bucket of its outputs', async () => {
    const any = { ...job(['far'], ['us-central1-b', 'us-east5-a']), isAnyZone: true as const };
    const own = { bucket: { endpoint: cloud.storeEndpoint, bucket: 'near' } };
    assert.deepEqual(await farBuckets(any, own), [
      'gcsfuse: bucket far lies in eu, and slices may be in us-central1 or us-east5: reads are slow, and Google bills the traffic',
      'zones: any: the bucket of logs and outputs, near lies in us-central1, and slices may be in us-east5: reads are slow, and Google bills the traffic',
    ]);
  });

  it('is not spoken of where nobody can know: no such bucket, no rights, no answer, no zone yet', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    const refusing = createServer((_, response) => response.writeHead(403).end('{}')).listen(0, '127.0.0.1');
    const closed = createServer().listen(0, '127.0.0.1');
    const [silentAt, refusingAt, closedAt] = (await Promise.all(
      [silent, refusing, closed].map(async (server) => {
        if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
        return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      }),
    )) as [string, string, string];
    closed.close();
    const nothing = await Promise.all([
      farBuckets(job(['gone']), contextOf(cloud.storeEndpoint)),
      ...[silentAt, refusingAt, closedAt].map((endpoint) => farBuckets(job(['far']), contextOf(endpoint))),
      farBuckets(job(['far'], []), contextOf(cloud.storeEndpoint)),
      farBuckets(job(['far']), { ...contextOf(cloud.storeEndpoint), label: 'REHEARSAL' }),
    ]);
    assert.deepEqual(nothing.flat(), []);
    silent.closeAllConnections();
    silent.close();
    refusing.close();
  });

  it('is near in its own region, in every region of its continent, and wherever two regions share it', () => {
    const regions = (location: string, locationType: string) =>
      farRegions({ location, locationType }, ['us-central1-a', 'us-central1-b', 'europe-west4-a', 'asia-east1-c']);
    assert.deepEqual(regions('us-central1', 'region'), ['europe-west4', 'asia-east1']);
    assert.deepEqual(regions('us', 'multi-region'), ['europe-west4', 'asia-east1']);
    assert.deepEqual(regions('eu', 'multi-region'), ['us-central1', 'asia-east1']);
    assert.deepEqual(regions('asia', 'multi-region'), ['us-central1', 'europe-west4']);
    assert.deepEqual(regions('nam4', 'dual-region'), []);
  });

  it('is warned of by submit on stderr, and the job is submitted', async function () {
    this.timeout(TEMPORAL_START_MS);
    const folder = mkdtempSync(join(tmpdir(), 'bucket-regions-'));
    const file = join(folder, 'job.yaml');
    const name = `far-${process.pid}`;
    writeFileSync(
      file,
      'tpu: { accelerator: v5litepod-8, zone: us-central1-a }\ncommand: { run: "true" }\n' +
        'setup: { modules: [gcsfuse, command] }\ngcsfuse: { bucket_name: far, mount_path: /mnt/far }\n',
    );
    const { address, namespace } = await testServer();
    const { exitCode, stdout, stderr } = await jobctl(['submit', file, '--name', name], {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      JOBCTL_TASK_QUEUE: name,
      JOBCTL_BUCKET: 'near',
      JOBCTL_STORE_ENDPOINT: cloud.storeEndpoint,
      HOME: folder,
    });
    rmSync(folder, { recursive: true, force: true });
    assert.deepEqual([exitCode, stdout], [0, `${name}\n`], stderr);
    assert.ok(
      stderr.includes(`${file}: warning: gcsfuse: bucket far lies in eu, and the slices in us-central1: `),
      stderr,
    );
  });
});

describe('a bucket of the job on a simulated cloud', function () {
  this.timeout(TEMPORAL_START_MS);
  const PROGRAM = 'tpu: { accelerator: v5litepod-8, zone: us-central1-a }\n';
  const MODULES = 'setup: { modules: [gcsfuse, command] }\n';
  const folder = mkdtempSync(join(tmpdir(), 'made-buckets-'));
  let cloud: RehearsedCloud;
  let env: Readonly<Record<string, string>>;
  before(async () => {
    cloud = await startRehearsedCloud();
    await ensureBucket({ endpoint: cloud.storeEndpoint, bucket: 'jobctl-dev', projectId: 'rehearsal' });
    const { address, namespace } = await testServer();
    // As `dev up` leaves it.
    const stack = {
      temporal: { address, namespace, uiUrl: null },
      store: { endpoint: cloud.storeEndpoint, bucket: 'jobctl-dev' },
      cloud: { insecure: true },
      rehearsal: { adminUrl: '', headerFile: '', journalDir: '' },
      ssh: { port: 22, privateKeyFile: 'none', publicKeyFile: 'none' },
      ...{ googleProject: 'rehearsal', label: 'REHEARSAL', workerReadyUrl: '' },
    };
    mkdirSync(join(folder, 'stack'));
    writeFileSync(join(folder, 'stack/context.json'), JSON.stringify(stack));
    env = { JOBCTL_HOME: join(folder, 'stack'), JOBCTL_TASK_QUEUE: `made-${process.pid}`, HOME: folder };
  });
  after(async () => {
    await cloud.stop();
    rmSync(folder, { recursive: true });
  });
  const isThere = async (bucket: string): Promise<boolean> =>
    (await fetch(`${cloud.storeEndpoint}/storage/v1/b/${bucket}`)).status === 200;
  let jobs = 0;
  const nextName = (): string => `made-${process.pid}-${++jobs}`;

  const COMMAND = 'command: { run: "true" }\n';
  const CASES: Readonly<Record<string, readonly [string, ...string[]]>> = {
    'mounted by name': [`${MODULES}${COMMAND}gcsfuse: { bucket_name: m-one, mount_path: /mnt/a }\n`, 'm-one'],
    'mounted beside another': [
      `${MODULES}${COMMAND}gcsfuse: { bucket_name: m-two, mount_path: /a, extra_mounts: [{ bucket_name: m-three, mount_path: /b }] }\n`,
      ...['m-two', 'm-three'],
    ],
    'in the command': [
      'command: { run: "gsutil cp x gs://c-one/a; gcloud storage ls gs://c_two." }\n',
      'c-one',
      'c_two',
    ],
    'in env': [`${COMMAND}env: { OUT: gs://e-one/runs }\n`, 'e-one'],
    'in a hook': [`${COMMAND}hooks: { finally: { run: "gcloud storage cp x gs://h.one" } }\n`, 'h.one'],
    'in a script that the job copies': [
      'files: [{ from: setup.sh, to: ~/setup.sh }]\ncommand: { run: bash ~/setup.sh }\n',
      's-one',
    ],
  };
  for (const [where, [text, ...buckets]] of Object.entries(CASES))
    it(`is made by submit, empty, if it is named ${where}`, async () => {
      const file = join(folder, 'job.yaml');
      writeFileSync(join(folder, 'setup.sh'), 'gcloud storage cp gs://s-one/data.tar .\n');
      writeFileSync(file, PROGRAM + text);
      const submit = () => jobctl(['submit', file, '--name', nextName(), '--no-verdict'], env);
      const { exitCode, stderr } = await submit();
      assert.equal(exitCode, 0, stderr);
      for (const bucket of buckets) {
        assert.ok(await isThere(bucket), bucket);
        assert.ok(stderr.includes(`gs://${bucket} is an empty bucket of the simulated cloud, not yours`), stderr);
      }
      assert.doesNotMatch((await submit()).stderr, /empty bucket/, 'it was there');
    });

  it('is made for a line of flags, for --set, and for an edit of a job', async () => {
    const flags = ['--tpu', 'v5litepod-8', '--zone', 'us-central1-a', '--name', nextName(), '--no-verdict'];
    const line = await jobctl(['submit', ...flags, '--', 'gsutil', 'cp', 'x', 'gs://l-one/x'], env);
    assert.equal(line.exitCode, 0, line.stderr);
    assert.ok(await isThere('l-one'), line.stderr);

    const file = join(folder, 'job.yaml');
    writeFileSync(file, `${PROGRAM}${MODULES}${COMMAND}gcsfuse: { bucket_name: t-one, mount_path: /mnt/a }\n`);
    const name = nextName();
    const set = ['--set', 'gcsfuse.bucket_name=t-two', '--name', name, '--no-verdict'];
    const submitted = await jobctl(['submit', file, ...set], env);
    assert.equal(submitted.exitCode, 0, submitted.stderr);
    assert.deepEqual([await isThere('t-one'), await isThere('t-two')], [false, true]);

    // No worker takes the request; the buckets come before it.
    await jobctl(['restart', name, '--set', 'gcsfuse.bucket_name=r-one'], env);
    assert.ok(await isThere('r-one'));
    await jobctl(['resume', name, '--file', file], env);
    assert.ok(await isThere('t-one'));
  });

  it('is not made of a name that only the command completes, nor in a store that may be real', async () => {
    const file = join(folder, 'job.yaml');
    writeFileSync(file, `${PROGRAM}command: { run: 'gsutil cp x gs://v-one-$RUN/x gs://v-two-*' }\n`);
    const { exitCode, stderr } = await jobctl(['submit', file, '--name', nextName(), '--no-verdict'], env);
    assert.equal(exitCode, 0, stderr);
    for (const bucket of ['v-one', 'v-two', 'v']) assert.equal(await isThere(bucket), false, bucket);
    writeFileSync(file, `${PROGRAM}command: { run: 'gsutil cp x gs://real-one/x' }\n`);
    const { address, namespace } = await testServer();
    const elsewhere = {
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: 'made', HOME: folder },
      ...{ JOBCTL_BUCKET: 'jobctl-dev', JOBCTL_STORE_ENDPOINT: cloud.storeEndpoint },
    };
    const real = await jobctl(['submit', file, '--name', nextName(), '--no-verdict'], elsewhere);
    assert.equal(real.exitCode, 0, real.stderr);
    assert.equal(await isThere('real-one'), false);
  });
});
