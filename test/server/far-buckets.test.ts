import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { type PublicPlaces, warningsOf } from '../../server/far-buckets.js';
import { GatedApp } from './gated-app.js';

const job = (bucket: string) => ({
  project: 'vision',
  tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' },
  setup: { modules: ['gcsfuse', 'command'] },
  gcsfuse: { bucket_name: bucket, mount_path: '/mnt/it' },
  command: { run: 'true' },
});

describe('a job whose buckets lie far away, submitted through a server', function () {
  this.timeout(30_000);
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    for (const [name, location] of Object.entries({ near: 'us-central1', far: 'eu' })) {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ name, location });
      const made = await fetch(`${app.storeEndpoint}/storage/v1/b?project=p`, { method: 'POST', headers, body });
      assert.equal(made.status, 200);
    }
  });
  after(() => app.stop());

  it('is warned of in the answer, and where none is there is no such key', async () => {
    const answerFor = async (bucket: string) => {
      const { status, body } = await app.call('alice', 'POST', '/v1/jobs', {
        job: job(bucket),
        name: `reads-${bucket}`,
      });
      assert.equal(status, 201, JSON.stringify(body));
      return body['warnings'];
    };
    assert.deepEqual(await answerFor('far'), [
      'gcsfuse: bucket far lies in eu, and the slices in us-central1: reads are slow, and Google bills the traffic',
    ]);
    assert.equal(await answerFor('near'), undefined);
    assert.equal(await answerFor('there-is-none'), undefined);
  });

  it("the server's own login is used for the installation's bucket alone: of others it says what anybody may know", async () => {
    const asked: string[] = [];
    const placeOf: PublicPlaces = async (bucket, { login }) => {
      asked.push(`${bucket} by ${login}`);
      return login === 'own' || bucket === 'public' ? { location: 'eu', locationType: 'multi-region' } : undefined;
    };
    const warnings = async (bucket: string) => {
      const resolved = resolveJob(job(bucket));
      assert.ok(resolved.ok);
      return (await warningsOf(resolved.spec, { store: app.store, placeOf })).map((text) => text.split(' ')[2]);
    };
    assert.deepEqual(await warnings('of-others'), []);
    assert.deepEqual(await warnings('public'), ['public']);
    assert.deepEqual(await warnings(app.store.bucket), [app.store.bucket]);
    assert.deepEqual(asked, ['of-others by none', 'public by none', `${app.store.bucket} by own`]);
  });
});
