import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { AuthenticatedCloud } from './authenticated-cloud.js';
import type { HttpAnswer } from './authenticated-cloud.js';

describe('a rehearsal with authentication, beside Cloud TPU', () => {
  const cloud = new AuthenticatedCloud();

  before(() => cloud.start());
  after(() => cloud.stop());

  describe('its store', () => {
    const object = (name: string, query = ''): string =>
      `${cloud.endpoints.store}/upload/storage/v1/b/shelf/o?uploadType=media&name=${name}${query}`;
    const put = (token: string | undefined, name: string, query = ''): Promise<HttpAnswer> =>
      cloud.ask(object(name, query), { method: 'POST', body: 'x', ...(token !== undefined && { token }) });

    before(async () => {
      const token = await cloud.become({ roles: ['roles/storage.admin'] });
      const made = await cloud.ask(`${cloud.endpoints.store}/storage/v1/b?project=p`, {
        method: 'POST',
        token,
        body: { name: 'shelf' },
      });
      assert.equal(made.status, 200);
      assert.equal((await put(token, 'there')).status, 200);
    });

    const says = (json: unknown): unknown => (json as { readonly error: unknown }).error;

    it('names the caller and the permission that is missing', async () => {
      const { status, json } = await put(await cloud.become(), 'new');
      const message =
        'alice@example.com does not have storage.objects.create access to the Google Cloud Storage object. ' +
        "Permission 'storage.objects.create' denied on resource (or it may not exist).";
      assert.equal(status, 403);
      assert.deepEqual(says(json), {
        code: 403,
        message,
        errors: [{ message, domain: 'global', reason: 'forbidden' }],
      });
    });

    it('calls who has no token anonymous, and a bad token invalid', async () => {
      const anonymous = await put(undefined, 'new');
      assert.equal(anonymous.status, 401);
      assert.match(anonymous.text, /Anonymous caller does not have storage\.objects\.create access/);
      const bad = await put('nonsense', 'new');
      assert.equal(bad.status, 401);
      assert.match(bad.text, /"message":"Invalid Credentials".*"reason":"authError"/);
    });

    it('wants the right to delete of who overwrites', async () => {
      const token = await cloud.become({ permissions: ['storage.objects.create'] });
      assert.equal((await put(token, 'fresh')).status, 200);
      assert.match((await put(token, 'there')).text, /storage\.objects\.delete/);
      // Who wants the name free has lost, and is told that.
      assert.equal((await put(token, 'there', '&ifGenerationMatch=0')).status, 412);
    });

    it('tells which of some permissions the caller holds', async () => {
      const asked = ['storage.objects.create', 'storage.objects.get', 'storage.buckets.get'];
      const query = asked.map((permission) => `permissions=${permission}`).join('&');
      const url = `${cloud.endpoints.store}/storage/v1/b/shelf/iam/testPermissions?${query}`;
      const kind = 'storage#testIamPermissionsResponse';
      const some = await cloud.ask(url, { token: await cloud.become({ roles: ['roles/storage.objectViewer'] }) });
      assert.deepEqual(some.json, { kind, permissions: ['storage.objects.get'] });
      const none = await cloud.ask(url, { token: await cloud.become() });
      assert.deepEqual(none.json, { kind });
    });

    it('refuses who may not use the project that is to be billed', async () => {
      const token = await cloud.become({ roles: ['roles/storage.admin'] });
      const url = `${cloud.endpoints.store}/storage/v1/b/shelf/o`;
      const refused = await cloud.ask(url, { token, headers: { 'x-goog-user-project': 'billed' } });
      assert.match(refused.text, /does not have serviceusage\.services\.use access to the Google Cloud project/);
      assert.equal((await cloud.ask(url, { token })).status, 200);
    });

    it('refuses scopes that do not reach it', async () => {
      const token = await cloud.become({ roles: ['roles/owner'], scopes: ['devstorage.read_only'] });
      assert.match((await put(token, 'new')).text, /Provided scope\(s\) are not authorized/);
      assert.equal((await cloud.ask(`${cloud.endpoints.store}/storage/v1/b/shelf/o`, { token })).status, 200);
    });
  });

  describe('its metadata server', () => {
    const account = 'computeMetadata/v1/instance/service-accounts/default';
    const ask = (
      path: string,
      headers: Record<string, string> = { 'Metadata-Flavor': 'Google' },
    ): Promise<HttpAnswer> => cloud.ask(`http://${cloud.endpoints.metadataHost}/${path}`, { headers });

    it('answers who asks as Google’s libraries do, and nobody else', async () => {
      await cloud.become({ tokenSeconds: 600 });
      const given = await ask(`${account}/token`);
      const { access_token: token, ...rest } = given.json as Record<string, unknown>;
      assert.deepEqual(rest, { expires_in: 600, token_type: 'Bearer' });
      assert.equal(typeof token, 'string');
      assert.equal(given.headers['metadata-flavor'], 'Google');
      assert.equal((await ask(`${account}/email`)).text, 'alice@example.com');
      assert.equal((await ask('computeMetadata/v1/project/project-id')).text, 'rehearsed-project');
      assert.equal((await ask(`${account}/token`, {})).status, 403);
    });

    it('has no account while nobody is the current principal', async () => {
      await cloud.admin('access', { current: null });
      assert.equal((await ask(`${account}/token`)).status, 404);
      assert.equal((await ask('computeMetadata/v1/instance')).status, 200);
    });
  });

  describe('its token service', () => {
    const given = (): string =>
      (JSON.parse(readFileSync(cloud.endpoints.credentialsFile ?? '', 'utf8')) as { refresh_token: string })
        .refresh_token;
    const refresh = (token = given()): Promise<HttpAnswer> =>
      cloud.ask(`${cloud.endpoints.rest}/v1/oauthtoken`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token }).toString(),
      });

    it('says whose a token is', async () => {
      await cloud.become();
      const { access_token: token = '' } = (await refresh()).json as { readonly access_token?: string };
      const info = await cloud.ask(`${cloud.endpoints.rest}/tokeninfo?access_token=${token}`);
      assert.equal((info.json as { readonly email: string }).email, 'alice@example.com');
      assert.equal((await cloud.ask(`${cloud.endpoints.rest}/tokeninfo?access_token=x`)).status, 400);
    });

    it('takes no refresh token that it did not give out', async () => {
      await cloud.become();
      const last = given().at(-1) ?? '';
      for (const forged of [
        '1//rehearsal-current',
        given().slice(0, -1),
        given().replace(/current$/, 'alice@example.com'),
        `${last}${given()}`,
      ]) {
        assert.deepEqual(
          (await refresh(forged)).json,
          { error: 'invalid_grant', error_description: 'Bad Request' },
          forged,
        );
      }
    });

    it('refuses a login that has run out, or wants a new one, in Google’s words', async () => {
      await cloud.become({ login: 'expired' });
      assert.deepEqual((await refresh()).json, {
        error: 'invalid_grant',
        error_description: 'Token has been expired or revoked.',
      });
      await cloud.become({ login: 'reauthentication-needed' });
      const { json, status } = await refresh();
      assert.equal(status, 400);
      assert.equal((json as { readonly error_subtype: string }).error_subtype, 'invalid_rapt');
    });
  });
});
