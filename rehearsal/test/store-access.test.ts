import assert from 'node:assert/strict';
import { Storage } from '@google-cloud/storage';
import { AuthenticatedCloud } from './authenticated-cloud.js';
import { CloudUnderTest } from './cloud-under-test.js';

/** An upload that names its object in its body alone, as gcloud and the Python client send it. */
function namedInBody(name: string): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const body = `--e\r\n\r\n${JSON.stringify({ name })}\r\n--e\r\n\r\ncontent\r\n--e--`;
  return { headers: { 'content-type': 'multipart/related; boundary=e' }, body };
}

describe('rights in the rehearsal’s Cloud Storage', () => {
  const cloud = new AuthenticatedCloud();
  let store: string;
  before(async () => {
    await cloud.start();
    store = cloud.endpoints.store;
    const token = await cloud.become({ roles: ['roles/owner'] });
    const made = await cloud.ask(`${store}/storage/v1/b?project=p`, {
      method: 'POST',
      token,
      body: { name: 'guarded' },
    });
    assert.equal(made.status, 200);
  });
  after(() => cloud.stop());

  const upload = (token: string, name: string): ReturnType<AuthenticatedCloud['ask']> => {
    const url = `${store}/upload/storage/v1/b/guarded/o?uploadType=multipart`;
    return cloud.ask(url, { method: 'POST', token, ...namedInBody(name) });
  };

  it('to delete are asked of who overwrites, also where the name comes in the body', async () => {
    const token = await cloud.become({ permissions: ['storage.objects.create'] });
    assert.equal((await upload(token, 'named')).status, 200);
    const refused = await upload(token, 'named');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /does not have storage\.objects\.delete access/);
  });

  it('are in a signed URL itself, and in no other', async () => {
    const token = await cloud.become({ roles: ['roles/owner'] });
    await upload(token, 'signed');
    const { json } = await cloud.ask(`${store}/_rehearsal/service-account-key`, { token });
    const signer = new Storage({ apiEndpoint: store, credentials: json as never });
    const file = signer.bucket('guarded').file('signed');
    const [url] = await file.getSignedUrl({ version: 'v4', action: 'read', expires: Date.now() + 60_000 });
    assert.equal((await cloud.ask(url)).text, 'content');
    const bare = await cloud.ask(url.replace(/\?.*/, ''));
    assert.equal(bare.status, 401);
    assert.match(bare.text, /<Code>AuthenticationRequired<\/Code>/);
  });

  it('to make keys are asked of who wants the key that signs', async () => {
    const token = await cloud.become({ roles: ['roles/storage.admin'] });
    for (const asked of [{ token }, {}]) {
      assert.equal((await cloud.ask(`${store}/_rehearsal/service-account-key`, asked)).status, 403);
    }
  });
});

describe('faults of the rehearsal’s Cloud Storage', () => {
  const cloud = new CloudUnderTest();
  before(() => cloud.start());
  after(() => cloud.stop());

  it('meet an object by its name, also where the name comes in the body, and over the XML API', async () => {
    const { store } = cloud.endpoints;
    const ask = (path: string, init: RequestInit): Promise<Response> =>
      fetch(`${store}${path}`, { method: 'POST', ...init });
    const headers = { 'content-type': 'application/json' };
    await ask('/storage/v1/b?project=p', { headers, body: '{"name": "faulty"}' });
    await cloud.admin('refuse', { method: 'objects.insert', code: 'UNAVAILABLE', nameMatches: '/unlucky$' });
    const insert = async (name: string): Promise<number> =>
      (await ask('/upload/storage/v1/b/faulty/o?uploadType=multipart', namedInBody(name))).status;
    assert.deepEqual([await insert('lucky'), await insert('unlucky')], [200, 503]);
    const xml = await ask('/faulty/unlucky', { method: 'PUT', body: 'x' });
    assert.deepEqual([xml.status, /<Code>(\w+)/.exec(await xml.text())?.[1]], [503, 'ServiceUnavailable']);
    assert.equal((await ask('/storage/v1/b/faulty/o/unlucky', { method: 'GET' })).status, 404);
  });
});
