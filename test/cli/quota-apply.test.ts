import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Reply, ScriptedServer } from '../client/http/scripted-server.js';
import { jobctl } from './command-line.js';

const QUOTA = `[toml-schema]
version = "1"
[[total_resources]]
v4 = 8
[project_resources.a]
v4 = 1.0
[project_membership]
a = ["olga"]
`;
const CLAIMS = { iss: 'https://login.example', aud: 'jobctl', sub: 'olga', exp: 9_999_999_999, iat: 1 };
const TOKEN = `h.${Buffer.from(JSON.stringify(CLAIMS)).toString('base64url')}.s`;

describe('jobctl quota apply, of a file that somebody else changes meanwhile', () => {
  const server = new ScriptedServer();
  let folder: string;
  let file: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-apply-'));
    file = join(folder, 'quota.toml');
    writeFileSync(file, QUOTA);
    await server.start();
  });
  after(() => {
    server.stop();
    rmSync(folder, { recursive: true });
  });
  const env = (): Record<string, string> => ({
    HOME: folder,
    JOBCTL_HOME: folder,
    JOBCTL_SERVER: server.address,
    T: TOKEN,
  });
  beforeEach(async () => {
    server.forget();
    server.replies = [having(undefined, [404, {}])];
    const login = await jobctl(['login', '--id-token-from', 'env:T', '--audience', 'jobctl'], env());
    assert.equal(login.exitCode, 0, login.stderr);
    server.forget();
  });

  /** A server with this file in force. @param applied its answer to the call */
  const having =
    (generation: string | undefined, applied: readonly [status: number, body: object]): Reply =>
    ({ method, url }, response) => {
      const send = (status: number, body: object, type = status < 400 ? 'json' : 'problem+json'): void =>
        void response.writeHead(status, { 'content-type': `application/${type}` }).end(JSON.stringify(body));
      const { pathname, searchParams } = new URL(url, 'http://x');
      const isQuota = searchParams.get('name') === 'quota/lab/applied/quota' && generation !== undefined;
      if (method === 'POST') return send(...applied);
      if (pathname === '/v1/login')
        return send(200, { issuers: [{ issuer: CLAIMS.iss, clientId: 'jobctl', scopes: [] }] });
      if (pathname === '/v1/whoami')
        return send(200, { kind: 'user', id: 'olga', groups: [], issuer: 'i', expiresAt: 1 });
      if (isQuota && pathname === '/v1/objects/stat')
        return send(200, { name: 'quota/lab/applied/quota', generation, size: 1, updatedAt: 1 });
      if (isQuota) return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(QUOTA);
      send(404, { status: 404, code: 'not-found', detail: 'not here', requestId: 'r' });
    };
  const apply = () => jobctl(['quota', 'apply', file, '--pool', 'lab', '--yes'], env());
  const sent = (): unknown => JSON.parse(server.seen.findLast(({ method }) => method === 'POST')?.body ?? 'null');

  it('sends which file it compared with, or that there was none', async () => {
    server.replies = [having('17', [200, { message: 'in force' }])];
    const done = await apply();
    assert.equal(done.exitCode, 0, done.stderr);
    assert.deepEqual(sent(), { quotaFile: { name: file, text: QUOTA, replaces: '17' } });
    server.replies = [having(undefined, [200, { message: 'in force' }])];
    await apply();
    assert.deepEqual(sent(), { quotaFile: { name: file, text: QUOTA, replaces: 'none' } });
    const order = server.seen
      .filter(({ url }) => url.includes('applied%2Fquota'))
      .map(({ url }) => new URL(url, 'http://x').pathname);
    assert.deepEqual(
      order.slice(0, 2),
      ['/v1/objects/stat', '/v1/objects/content'],
      'a newer text would look compared',
    );
  });

  it('is refused with who changed it, and what to do', async () => {
    const detail =
      'the quota file of pool lab was changed meanwhile by bob, at 2026-11-30T09:00:00.000Z: look at what is in force, and repeat';
    server.replies = [having('17', [409, { status: 409, code: 'refused', detail, requestId: 'r' }])];
    const { exitCode, stderr } = await apply();
    assert.equal(exitCode, 4, stderr);
    assert.match(
      stderr,
      /was changed meanwhile by bob, at 2026-11-30T09:00:00\.000Z: look at what is in force, and repeat/,
    );
  });
});
