import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { s3Settings } from '../../cloud/store/s3-credentials.js';

describe('credentials of S3, as Amazon’s tools find them', () => {
  const home = mkdtempSync(join(tmpdir(), 'jobctl-aws-'));
  const keys = { accessKeyId: 'AK', secretAccessKey: 'SK' };
  before(() => {
    mkdirSync(join(home, '.aws'));
    writeFileSync(
      join(home, '.aws/credentials'),
      '[default]\naws_access_key_id = D\naws_secret_access_key = DS\n\n[lab]\naws_access_key_id=L\naws_secret_access_key=LS=\naws_session_token=LT\n',
    );
    const program = `printf '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"PS","SessionToken":"PT"}'`;
    writeFileSync(
      join(home, '.aws/config'),
      `# a comment\n[default]\nregion = eu-west-1\n[profile lab]\nregion = eu-north-1\nendpoint_url = https://s3.lab\n[profile sso]\ncredential_process = ${program}\n[profile none]\nregion = x\n[profile broken]\ncredential_process = exit 3\n`,
    );
  });
  after(() => rmSync(home, { recursive: true, force: true }));
  const found = async (env: Readonly<Record<string, string>>, endpoint?: string) => {
    const { credentials, ...place } = await s3Settings(endpoint, { HOME: home, ...env });
    return { ...place, ...(await credentials()) };
  };
  const OF_VARIABLES = { AWS_ACCESS_KEY_ID: 'AK', AWS_SECRET_ACCESS_KEY: 'SK' };

  it('variables first, with the region of the profile', async () => {
    assert.deepEqual(await found(OF_VARIABLES), { region: 'eu-west-1', ...keys });
    const region = { AWS_DEFAULT_REGION: 'a', AWS_REGION: 'b' };
    assert.deepEqual(await found({ ...OF_VARIABLES, ...region }), { region: 'b', ...keys });
  });

  it('then the profile’s, which AWS_PROFILE names', async () => {
    assert.deepEqual(await found({}), { region: 'eu-west-1', accessKeyId: 'D', secretAccessKey: 'DS' });
    const lab = { accessKeyId: 'L', secretAccessKey: 'LS=', sessionToken: 'LT' };
    assert.deepEqual(await found({ AWS_PROFILE: 'lab' }), { region: 'eu-north-1', endpoint: 'https://s3.lab', ...lab });
  });

  it('of endpoints the nearest', async () => {
    const both = { ...OF_VARIABLES, AWS_ENDPOINT_URL: 'http://a', AWS_ENDPOINT_URL_S3: 'http://b' };
    assert.equal((await found(both)).endpoint, 'http://b');
    assert.equal((await found(both, 'http://c')).endpoint, 'http://c');
    assert.equal((await found({ ...OF_VARIABLES, AWS_ENDPOINT_URL: 'http://a' })).endpoint, 'http://a');
    await assert.rejects(found({ AWS_ENDPOINT_URL: 'localhost:9000' }), /endpoint "localhost:9000" is not a URL/);
  });

  it('or of a program that the profile names', async () => {
    const wanted = { region: 'us-east-1', accessKeyId: 'P', secretAccessKey: 'PS', sessionToken: 'PT' };
    assert.deepEqual(await found({ AWS_PROFILE: 'sso' }), wanted);
    await assert.rejects(found({ AWS_PROFILE: 'broken' }), /credential_process of the profile: it failed \(3\)/);
  });

  it('else it says what to set', async () => {
    const refused = { name: 'StoreRefused', message: /there are no credentials of S3: set AWS_ACCESS_KEY_ID/ };
    await assert.rejects(found({ AWS_PROFILE: 'none' }), refused);
    await assert.rejects(found({ HOME: '/nonexistent' }), refused);
    await assert.rejects(found({ AWS_PROFILE: 'missing' }), {
      name: 'StoreRefused',
      message: /AWS_PROFILE: "missing"/,
    });
  });
});
