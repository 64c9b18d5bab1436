import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { farBuckets } from '../../cli/place/bucket-regions.js';
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
