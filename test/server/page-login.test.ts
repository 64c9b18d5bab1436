import assert from 'node:assert/strict';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { type LoginServer, startServerOf } from '../login/login-server.js';
import { Person } from '../login/person.js';
import { PAGE_CLIENT, PersonIssuer, SCOPES, SECRET_CLIENT } from '../login/person-issuer.js';
import { freePort } from '../temporal-server.js';
import { challengeOf } from '../../ui/login-answer.js';

/** What a page keeps of its login. */
interface Kept {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}
const kept = (letter: string): Kept => ({
  verifier: `verifier-${letter}`.padEnd(43, letter),
  state: `state-${letter}`.padEnd(30, letter),
  nonce: `nonce-${letter}`.padEnd(30, letter),
});

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

const SECRET_VARIABLE = 'JOBCTL_TEST_PAGE_SECRET';

describe('a login by the page, at a real OpenID provider', function () {
  this.timeout(60_000);
  let issuer: PersonIssuer;
  let server: LoginServer;

  before(async () => {
    issuer = await PersonIssuer.start();
    server = await startWith({ page: { clientId: PAGE_CLIENT } });
  });
  after(async () => {
    await server?.stop();
    await issuer?.stop();
  });

  async function startWith(more: object, ofServer: object = {}, of = issuer.url): Promise<LoginServer> {
    const port = await freePort();
    const own = { issuer: of, audiences: [PAGE_CLIENT, SECRET_CLIENT.id], scopes: SCOPES, ...more };
    return startServerOf({ publicUrl: `http://127.0.0.1:${port}`, issuers: [own], ...ofServer }, port);
  }
  async function call(path: string, body?: object, { url }: LoginServer = server): Promise<Answer> {
    const response = await fetch(`${url}${path}`, {
      ...(body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text) as Answer['body'] };
  }
  const begin = async ({ verifier, state, nonce }: Kept, at = server, of = issuer.url): Promise<Answer> =>
    call('/v1/page-login', { issuer: of, challenge: await challengeOf(verifier), state, nonce }, at);
  const end = ({ verifier, nonce }: Pick<Kept, 'verifier' | 'nonce'>, answer: object, at = server, of = issuer.url) =>
    call('/v1/page-login/code', { issuer: of, verifier, nonce, ...answer }, at);
  /** What the issuer sent the browser of this person back with. */
  async function comeBack(name: string, own: Kept, at = server): Promise<{ code: string; iss: string; state: string }> {
    const { url } = (await begin(own, at)).body as { readonly url: string };
    const back = new URL(await new Person(name).logIn(url));
    assert.equal(`${back.origin}${back.pathname}`, new URL(url).searchParams.get('redirect_uri'));
    const [code = '', iss = '', state = ''] = ['code', 'iss', 'state'].map((key) => back.searchParams.get(key) ?? '');
    return { code, iss, state };
  }
  const failure = ({ status, body }: Answer): string => `${status} ${String(body['code'])}: ${String(body['detail'])}`;

  it('is begun with PKCE, state, nonce and the one address of the configuration, whatever host was called', async () => {
    const own = kept('a');
    const { status, body } = await begin(own);
    assert.equal(status, 200);
    const { origin, searchParams } = new URL(String(body['url']));
    assert.equal(origin, issuer.url);
    assert.deepEqual(Object.fromEntries(searchParams), {
      ...{ client_id: PAGE_CLIENT, response_type: 'code', redirect_uri: `${server.url}/ui/login` },
      ...{ code_challenge: await challengeOf(own.verifier), code_challenge_method: 'S256' },
      ...{ scope: 'openid email', state: own.state, nonce: own.nonce },
    });
    const elsewhere = await call('/v1/page-login', undefined, {
      ...server,
      url: server.url.replace('127.0.0.1', 'localhost'),
    });
    assert.equal(elsewhere.status, 404);
    const local = { ...server, url: server.url.replace('127.0.0.1', 'localhost') };
    assert.equal((await begin(own, local)).body['url'], body['url']);
  });

  it('gives the token of the person who logged in, once', async () => {
    const own = kept('b');
    const { code, iss, state } = await comeBack('anna', own);
    assert.deepEqual([state, iss], [own.state, issuer.url]);
    const { status, body } = await end(own, { code, iss });
    assert.deepEqual([status, Object.keys(body)], [200, ['token']]);
    const who = await fetch(`${server.url}/v1/whoami`, {
      headers: { authorization: `Bearer ${String(body['token'])}` },
    });
    assert.equal(((await who.json()) as { id: string }).id, 'anna@example.org');
    assert.match(failure(await end(own, { code, iss })), /^401 unauthenticated: http\S+ gave no login: invalid_grant/);
  });

  it('takes the code of another login for none: without its verifier, and with its verifier but another nonce', async () => {
    const [victim, thief] = [kept('c'), kept('d')];
    const stolen = await comeBack('anna', victim);
    await begin(thief);
    assert.match(failure(await end(thief, stolen_(stolen))), /^401 unauthenticated: \S+ gave no login: invalid_grant/);
    const again = await comeBack('anna', victim);
    assert.match(
      failure(await end({ ...victim, nonce: thief.nonce }, stolen_(again))),
      /^401 unauthenticated: the answer of \S+ is not one to this login: .*nonce/,
    );
  });
  const stolen_ = ({ code, iss }: { code: string; iss: string }) => ({ code, iss });

  it('takes no answer that names another issuer, or names none although its issuer does', async () => {
    const own = kept('e');
    const { code } = await comeBack('anna', own);
    assert.match(failure(await end(own, { code, iss: 'https://evil.example' })), /^401 .*not one to this login.*iss/);
    assert.match(failure(await end(own, { code })), /^401 .*not one to this login.*iss/);
    assert.equal((await end(own, { code }, server, 'https://evil.example')).status, 422);
  });

  it('lets in whom the rules of the issuer let in, and says who may not', async () => {
    const strict = await startWith({ page: { clientId: PAGE_CLIENT }, emailDomains: ['company.example'] });
    try {
      const own = kept('f');
      assert.match(
        failure(await end(own, stolen_(await comeBack('anna', own, strict)), strict)),
        /^403 forbidden: 'anna@example\.org' is not let in: its domain is none of company\.example/,
      );
    } finally {
      await strict.stop();
    }
  });

  it('by a client with a secret: it is sent to the issuer, and to nobody else', async () => {
    process.env[SECRET_VARIABLE] = SECRET_CLIENT.secret;
    const page = { clientId: SECRET_CLIENT.id, clientSecret: `env:${SECRET_VARIABLE}`, name: 'company' };
    const confidential = await startWith({ page });
    process.env[SECRET_VARIABLE] = 'another';
    const wrong = await startWith({ page });
    delete process.env[SECRET_VARIABLE];
    try {
      const own = kept('g');
      const begun = await begin(own, confidential);
      const settings = await call('/v1/login', undefined, confidential);
      assert.ok(!`${begun.text}${settings.text}`.includes('a-secret'), settings.text);
      assert.deepEqual((settings.body['issuers'] as { page?: unknown }[])[0]?.page, { name: 'company' });
      assert.match(String(begun.body['url']), /redirect_uri=[^&]+%2Fui%2Flogin%2Fcompany(&|$)/);
      assert.equal((await end(own, stolen_(await comeBack('anna', own, confidential)), confidential)).status, 200);
      const refused = await end(own, stolen_(await comeBack('anna', own, wrong)), wrong);
      assert.match(failure(refused), /^503 unavailable: /);
      assert.match(String(refused.body['remedy']), /an operator looks at/);
      assert.ok(!refused.text.includes('another'));
    } finally {
      await confidential.stop();
      await wrong.stop();
    }
  });

  it('may be begun and ended as often in a minute as an address may be refused a login', async () => {
    const small = await startWith({ page: { clientId: PAGE_CLIENT } }, { limits: { refusedLoginsPerMinute: 2 } });
    try {
      const answers = [await begin(kept('h'), small), await begin(kept('h'), small), await begin(kept('h'), small)];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 429],
      );
    } finally {
      await small.stop();
    }
  });

  describe('at an issuer that is broken or hostile', () => {
    let hostile: Hostile;
    let own: LoginServer;
    before(async () => {
      hostile = await Hostile.start();
    });
    after(() => hostile?.stop());
    beforeEach(async () => {
      hostile.reset();
      own = await startWith({ page: { clientId: PAGE_CLIENT } }, {}, hostile.url);
    });
    afterEach(() => own.stop());
    const words = async (): Promise<string> => failure(await begin(kept('i'), own, hostile.url));

    const cases: readonly (readonly [what: string, (to: Hostile) => void, words: RegExp])[] = [
      ['a document without an end', (to) => (to.document = { pad: 'x'.repeat(300_000) }), /longer than 262144 bytes/],
      [
        'one of another issuer',
        (to) => (to.document = { issuer: 'https://evil.example' }),
        /says it is 'https:\/\/evil\.example'/,
      ],
      ['a redirect', (to) => (to.redirects = true), /cannot be asked how to log in/],
      [
        'an endpoint elsewhere without TLS',
        (to) => (to.document = { token_endpoint: 'http://10.0.0.1/token' }),
        /token_endpoint of its discovery document is 'http:\/\/10\.0\.0\.1\/token', which is no https address/,
      ],
      [
        'no endpoint',
        (to) => (to.document = { token_endpoint: undefined }),
        /has no authorization_endpoint or no token_endpoint/,
      ],
      [
        'a script as an endpoint',
        (to) => (to.document = { authorization_endpoint: 'javascript:alert(1)' }),
        /no https address/,
      ],
    ];
    for (const [what, set, wanted] of cases)
      it(`says so: ${what}`, async () => {
        set(hostile);
        const said = await words();
        assert.match(said, wanted);
        assert.match(said, /^503 unavailable/);
        hostile.reset();
        assert.match(await words(), /^200/, 'it is asked again');
      });

    it('takes no token for another audience, of another issuer, without end, or without a signature of the issuer', async () => {
      const { nonce } = kept('i');
      const answered = async (claims: object, key?: 'forged'): Promise<string> => {
        hostile.token = await hostile.signed({ nonce, ...claims }, key);
        return failure(await end(kept('i'), { code: 'c' }, own, hostile.url));
      };
      assert.match(await answered({ aud: 'another-client' }), /^401 .*not one to this login.*aud/);
      assert.match(await answered({ iss: 'https://evil.example' }), /^401 .*not one to this login.*iss/);
      assert.match(await answered({ exp: 1 }), /^401 /);
      assert.match(await answered({}, 'forged'), /^401 unauthenticated: the token is not signed by/);
      hostile.token = 'x'.repeat(300_000);
      assert.match(failure(await end(kept('i'), { code: 'c' }, own, hostile.url)), /^503 .*longer than/);
      hostile.token = await hostile.signed({ nonce });
      assert.equal((await end(kept('i'), { code: 'c' }, own, hostile.url)).status, 200);
    });
  });
});

/** An issuer that answers as a test says. */
class Hostile {
  readonly url: string;
  readonly #server: Server;
  readonly #key: Parameters<SignJWT['sign']>[0];
  readonly #jwk: JWK;
  /** Over the keys of its document. */
  document: Readonly<Record<string, unknown>> = {};
  redirects = false;
  token = '';

  private constructor(server: Server, key: Parameters<SignJWT['sign']>[0], jwk: JWK) {
    this.#server = server;
    this.#key = key;
    this.#jwk = jwk;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', ({ url }, response) => this.#answer(url ?? '', response));
  }

  static async start(): Promise<Hostile> {
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Hostile(server, privateKey, { ...(await exportJWK(publicKey)), alg: 'RS256', kid: 'k' });
  }

  reset(): void {
    this.document = {};
    this.redirects = false;
    this.token = '';
  }

  #answer(url: string, response: ServerResponse): void {
    const json = (value: object): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (url === '/keys') return json({ keys: [this.#jwk] });
    if (url === '/token') return json({ access_token: 'a', token_type: 'bearer', id_token: this.token });
    if (this.redirects) return void response.writeHead(302, { location: '/elsewhere' }).end();
    const own = { issuer: this.url, jwks_uri: `${this.url}/keys` };
    json({ ...own, authorization_endpoint: `${this.url}/auth`, token_endpoint: `${this.url}/token`, ...this.document });
  }

  async signed(claims: object, by?: 'forged'): Promise<string> {
    const key = by === undefined ? this.#key : (await generateKeyPair('RS256')).privateKey;
    const now = Math.floor(Date.now() / 1_000);
    const all = { iss: this.url, aud: PAGE_CLIENT, sub: 's', iat: now, exp: now + 600, email: 'eve@example.org' };
    return new SignJWT({ ...all, email_verified: true, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .sign(key);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
