import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientEnvironment } from '../client-environment.js';
import { AuthenticatedCloud } from './authenticated-cloud.js';
import { environment, Gcloud } from './conformance/gcloud/gcloud.js';
import { scratchFolder } from './scratch.js';

describe('the environment of clients, with authentication', function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  const scratch = scratchFolder('environment');
  before(() => cloud.start());
  after(async () => {
    await cloud.stop();
    scratch.remove();
  });

  it('lets gcloud in by a token, and tells it what it may not', async () => {
    const tokenFile = join(scratch.path, 'token');
    const own = { gcloudConfig: join(scratch.path, 'gcloud'), gcloudTokenFile: tokenFile };
    // gcloud takes the authorities of these variables in place of those that it is told.
    const { REQUESTS_CA_BUNDLE: _, CURL_CA_BUNDLE: __, ...usual } = environment();
    const place = { project: 'p', zone: 'us-central1-a' };
    const gcloud = new Gcloud({ ...usual, ...clientEnvironment(cloud.endpoints, { ...place, ...own }) });
    writeFileSync(tokenFile, await cloud.become({ roles: ['roles/tpu.viewer'] }));
    assert.deepEqual(await gcloud.json('compute', 'tpus', 'tpu-vm', 'list', '--zone=-'), []);
    await cloud.become({ roles: ['roles/tpu.viewer'], denied: ['tpu.nodes.list'] });
    const { code, stderr } = await gcloud.run('compute', 'tpus', 'tpu-vm', 'list');
    assert.equal(code, 1);
    assert.match(stderr, /PERMISSION_DENIED: Permission 'tpu\.nodes\.list' denied on/);
  });
});
