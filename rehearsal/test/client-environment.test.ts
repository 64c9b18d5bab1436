import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { clientEnvironment } from '../client-environment.js';
import { AuthenticatedCloud } from './authenticated-cloud.js';

const run = promisify(execFile);
const PLACE = { project: 'p', zone: 'us-central1-a' };
const OPEN = {
  tpu: '127.0.0.1:1',
  rest: 'http://127.0.0.1:2',
  store: 'http://127.0.0.1:3',
  admin: 'http://127.0.0.1:4',
  sshPort: 22,
  tokenFile: '/s/token',
  headerFile: '/s/authorization-header',
};
const CLOSED = { ...OPEN, caFile: '/c/ca.pem', metadataHost: '127.0.0.1:5', credentialsFile: '/c/login.json' };

describe('the environment of clients', () => {
  it('ends every override of gcloud in a slash, and gives it the token of the rehearsal and no credentials', () => {
    const env = clientEnvironment(OPEN, { ...PLACE, gcloudConfig: '/own' });
    const overrides = Object.entries(env).filter(([name]) => name.startsWith('CLOUDSDK_API_ENDPOINT_OVERRIDES_'));
    assert.ok(overrides.length >= 3 && overrides.every(([, url]) => url.endsWith('/')), JSON.stringify(overrides));
    assert.deepEqual([env['CLOUDSDK_AUTH_ACCESS_TOKEN_FILE'], env['CLOUDSDK_CONFIG']], [OPEN.tokenFile, '/own']);
    assert.equal(env['STORAGE_EMULATOR_HOST'], OPEN.store);
    assert.equal(env['GOOGLE_APPLICATION_CREDENTIALS'], undefined);
  });

  it('names authority, login and metadata server with authentication, and leaves trust in other sites alone', () => {
    const env = clientEnvironment(CLOSED, PLACE);
    assert.equal(env['CLOUDSDK_AUTH_ACCESS_TOKEN_FILE'], undefined);
    assert.equal(env['GOOGLE_APPLICATION_CREDENTIALS'], CLOSED.credentialsFile);
    assert.equal(env['GCE_METADATA_HOST'], CLOSED.metadataHost);
    assert.equal(env['NODE_EXTRA_CA_CERTS'], CLOSED.caFile);
    assert.deepEqual(
      [env['CURL_CA_BUNDLE'], env['REQUESTS_CA_BUNDLE'], env['CLOUDSDK_CONFIG']],
      [undefined, undefined, undefined],
    );
  });

  describe('with authentication', function () {
    this.timeout(60_000);
    const cloud = new AuthenticatedCloud();
    before(() => cloud.start());
    after(() => cloud.stop());

    it('lets curl in with the authority and a token, and not without', async () => {
      const token = await cloud.become({ roles: ['roles/tpu.viewer'] });
      const url = `${cloud.endpoints.rest}/v2/projects/p/locations`;
      const curl = (...more: readonly string[]) =>
        run('curl', ['-sS', '--cacert', cloud.endpoints.caFile ?? '', ...more, url]);
      assert.match((await curl('-H', `Authorization: Bearer ${token}`)).stdout, /us-central1-a/);
      assert.match((await curl()).stdout, /UNAUTHENTICATED/);
    });
  });
});
