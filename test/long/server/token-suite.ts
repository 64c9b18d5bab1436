import assert from 'node:assert/strict';
import { until } from '../../until.js';
import type { ServerStack } from '../../server/server-stack.js';

const at = (name: string): string => `${name}@example.org`;

/** Whom a server lets in. What it leaves behind: the issuer has another key. */
export function tokenSuite(stackOf: () => ServerStack): void {
  const who = async (token: string, replica?: number) =>
    stackOf().call('', 'GET', '/v1/whoami', undefined, { token, ...(replica === undefined ? {} : { replica }) });

  it('one of the issuer, for this server', async () => {
    const { status, body } = await who(await stackOf().issuer.token({ email: at('alice'), groups: ['a', 'b'] }));
    assert.equal(status, 200);
    const { expiresAt, ...rest } = body;
    assert.deepEqual(rest, { kind: 'user', id: at('alice'), groups: ['a', 'b'], issuer: stackOf().issuer.url });
    assert.ok(Number(expiresAt) > Date.now());
  });

  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const refused: Readonly<
    Record<string, readonly [(issuer: ServerStack['issuer']) => string | Promise<string>, number, RegExp]>
  > = {
    forged: [(issuer) => issuer.forged({ email: at('alice') }), 401, /is not signed by/],
    'without a signature': [
      (issuer) =>
        `${part({ alg: 'none' })}.${part({ iss: issuer.url, aud: 'jobctl-test', sub: 'a', email: at('alice'), exp: 9e9, iat: 1 })}.`,
      401,
      /is not one that .* makes/,
    ],
    expired: [(issuer) => issuer.token({ email: at('alice'), lifetimeS: -60 }), 401, /has expired at 20/],
    'for another audience': [
      (issuer) => issuer.token({ email: at('alice'), audience: 'grafana' }),
      401,
      /is for 'grafana', wanted jobctl-test/,
    ],
    'for two audiences, made for the other': [
      (issuer) => issuer.token({ email: at('alice'), audience: ['jobctl-test', 'grafana'], more: { azp: 'grafana' } }),
      401,
      /was made for 'grafana'/,
    ],
    'of another issuer': [
      (issuer) => issuer.token({ email: at('alice'), issuer: 'https://accounts.google.com' }),
      401,
      /is of issuer 'https:\/\/accounts\.google\.com'/,
    ],
    'with an address that nobody verified': [
      (issuer) => issuer.token({ email: at('alice'), emailVerified: false }),
      401,
      /has not verified the address/,
    ],
    'with no address that could be a user': [
      (issuer) => issuer.token({ email: 'a b@example.org' }),
      403,
      /cannot be a user/,
    ],
    nonsense: [() => 'a.b.c', 401, /no JWT of an issuer/],
  };
  for (const [name, [token, status, detail]] of Object.entries(refused))
    it(`not one that is ${name}`, async () => {
      const sent = await token(stackOf().issuer);
      const answer = await who(sent);
      assert.equal(answer.status, status, answer.text);
      assert.match(String(answer.body['detail']), detail);
      assert.ok(
        !answer.text.includes(sent) && !stackOf().urls.some((_, index) => stackOf().allOfLog(index).includes(sent)),
        'no token is repeated',
      );
    });

  it('none at all is a problem that says what to do, on every route but the open ones', async () => {
    const { paths } = (await (await fetch(`${stackOf().url}/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
    );
    assert.ok(operations.length >= 30, String(operations.length));
    for (const [method, path] of operations) {
      if (path === '/v1/login') continue;
      const url = `${stackOf().url}${path.replace('{id}', 'some-job').replace('{pool}', 'default')}`;
      const answer = await fetch(url, { method });
      assert.equal(answer.status, 401, `${method} ${path}`);
      assert.match(answer.headers.get('content-type') ?? '', /application\/problem\+json/);
      const { code, remedy } = (await answer.json()) as { code: string; remedy: string };
      assert.equal(code, 'unauthenticated');
      assert.match(remedy, /jobctl login/);
    }
    for (const path of ['/healthz', '/readyz', '/metrics', '/v1/login', '/openapi.json'])
      assert.equal((await fetch(`${stackOf().url}${path}`)).status, 200, path);
  });

  it('of a key that the issuer rotated to, without a restart; of the old one no more, once the new ones are known', async () => {
    const old = await stackOf().issuer.token({ email: at('alice') });
    assert.equal((await who(old)).status, 200);
    await stackOf().issuer.rotate();
    // Keys are asked for again 5 s after the last time at the earliest, so that made-up key ids cost an issuer nothing.
    const replicas = stackOf().urls.map((_, replica) => replica);
    for (const replica of replicas)
      await until(
        'a token of the new key is taken',
        async () => (await who(await stackOf().issuer.token({ email: at('alice') }), replica)).status === 200,
        20_000,
      );
    for (const replica of replicas) assert.equal((await who(old, replica)).status, 401);
  });

  it('another Host or Origin is refused before anything else', async () => {
    const token = await stackOf().issuer.token({ email: at('alice') });
    const { request } = await import('node:http');
    const statusWith = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const call = request(
          `${stackOf().url}/v1/whoami`,
          { headers: { authorization: `Bearer ${token}`, ...headers } },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        call.on('error', reject).end();
      });
    assert.equal(await statusWith({}), 200);
    assert.equal(await statusWith({ host: 'evil.example:7480' }), 403);
    assert.equal(await statusWith({ origin: 'https://evil.example' }), 403);
  });
}
