import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Begun, begun, type Ended, jobctl, jobctlProcess } from '../cli/command-line.js';
import { ended, started } from '../cli/running-command.js';
import { until } from '../until.js';
import { type LoginServer, startLoginServer } from './login-server.js';
import { Person } from './person.js';
import { CLIENT_ID, PersonIssuer, SCOPES } from './person-issuer.js';

describe('jobctl login, logout and whoami, at a real OpenID provider', function () {
  this.timeout(60_000);
  let issuer: PersonIssuer;
  let server: LoginServer;
  let home: string;
  let env: Record<string, string>;
  const file = (): string => join(home, '.local/state/jobctl-login/logins.json');
  const run = (...args: readonly string[]): Promise<Ended> => jobctl(args, env);

  before(async () => {
    issuer = await PersonIssuer.start();
    server = await startLoginServer(issuer.url, CLIENT_ID, SCOPES);
  });
  after(async () => {
    await server.stop();
    await issuer.stop();
  });
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'jobctl-login-'));
    env = { HOME: home, JOBCTL_SERVER: server.url };
    issuer.lifetimeS = 3_600;
    issuer.tokensAfterMs = 0;
    issuer.grants.length = 0;
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const browsed = (): Record<string, string> => ({ ...env, BROWSER: 'true' });

  /** A login whose address is visited as soon as it is printed. */
  async function logIn(name: string): Promise<void> {
    const login = begun(['login'], browsed());
    await visit(name, await printed(login, ADDRESS));
    assert.equal((await login.ended).exitCode, 0);
  }

  async function visit(name: string, address: string): Promise<void> {
    const page = await fetch(await new Person(name).logIn(address));
    assert.deepEqual([page.status, await page.text()], [200, 'jobctl has your login. You can close this page.\n']);
  }

  it('by a browser, its audience shown before: PKCE, state and nonce; what else comes to the port is answered and ends nothing', async () => {
    const login = started(['login'], browsed());
    const address = await until('its address', () => {
      assert.equal(login.child.exitCode, null, login.out.stdout + login.out.stderr);
      return ADDRESS.exec(login.out.stderr)?.[1];
    });
    // Nobody sits at a terminal, who could be asked.
    assert.match(login.out.stderr, /audience jobctl-login-test\n[\s\S]*^ {2}http/m);
    const { searchParams } = new URL(address);
    const [method, state, nonce] = ['code_challenge_method', 'state', 'nonce'].map((key) => searchParams.get(key));
    assert.equal(method, 'S256');
    assert.ok(state !== null && state !== undefined && state.length >= 32 && (nonce?.length ?? 0) >= 32);
    const callback = searchParams.get('redirect_uri') ?? '';
    assert.match(callback, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    assert.equal((await fetch(`${callback}?code=stolen&state=other`)).status, 400);
    assert.equal((await fetch(new URL('/', callback))).status, 404);
    assert.equal((await fetch(`${callback}?code=x&state=${state}`, { method: 'POST' })).status, 404);
    assert.equal((await fetch(`${callback.replace('127.0.0.1', 'localhost')}?code=x&state=${state}`)).status, 404);
    await visit('anna', address);
    const { exitCode, stdout, stderr } = await ended(login);
    assert.deepEqual([exitCode, stdout], [0, `logged in at ${server.url} as anna@example.org\n`]);
    const stored = readFileSync(file(), 'utf8');
    const { idToken, refreshToken } = loginIn(stored);
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.ok(!`${stdout}${stderr}`.includes(idToken) && !`${stdout}${stderr}`.includes(refreshToken));
  });

  it('whoami shows whom the server knows, and until when; --print-token prints the token alone', async () => {
    await logIn('anna');
    const shown = await run('whoami');
    assert.equal(shown.exitCode, 0);
    assert.match(
      shown.stdout,
      new RegExp(
        `^user +anna@example\\.org\ngroups +-\nissuer +${issuer.url}\ntoken +until \\S+Z, for \\S+\nserver +${server.url}\n$`,
      ),
    );
    const { expiresAt, ...who } = JSON.parse((await run('whoami', '-o', 'json')).stdout) as Record<string, unknown>;
    assert.ok(Number(expiresAt) > Date.now());
    assert.deepEqual(who, {
      ...{ mode: 'verified', server: server.url, isVerified: true },
      ...{ kind: 'user', id: 'anna@example.org', groups: [], issuer: issuer.url },
    });
    const token = await run('login', '--print-token');
    assert.deepEqual([token.exitCode, token.stdout], [0, `${loginIn(readFileSync(file(), 'utf8')).idToken}\n`]);
  });

  it('by a code in another browser, also where nobody sits at a terminal', async () => {
    const login = begun(['login'], env);
    const address = await printed(login, /^ {2}(http\S+\/device)$/m);
    const code = await printed(login, /^Code: (\S+)$/m);
    await new Person('dora').enterCode(address, code);
    const { exitCode, stdout } = await login.ended;
    assert.deepEqual([exitCode, stdout], [0, `logged in at ${server.url} as dora@example.org\n`]);
    assert.deepEqual(issuer.grants.slice(-1), ['urn:ietf:params:oauth:grant-type:device_code']);
  });

  it('a token that is about to end is renewed silently, by one of two commands at once: the refresh token is good for one use', async () => {
    issuer.lifetimeS = 40;
    await logIn('anna');
    issuer.lifetimeS = 3_600;
    issuer.grants.length = 0;
    issuer.tokensAfterMs = 2_000;
    const all = await Promise.all([jobctlProcess(['whoami'], env), jobctlProcess(['whoami'], env)]);
    assert.deepEqual(
      all.map(({ exitCode, stderr }) => [exitCode, stderr]),
      [
        [0, ''],
        [0, ''],
      ],
    );
    assert.deepEqual(issuer.grants, ['refresh_token']);
    assert.equal((await run('whoami')).exitCode, 0);
    assert.deepEqual(issuer.grants, ['refresh_token']);
  });

  it('the keys of the issuer are rotated: what the server refuses is renewed once, and the command goes on', async () => {
    await logIn('anna');
    // A server that has the old keys yet takes tokens of theirs until it asks again.
    await server.stop();
    await issuer.rotateKeys();
    server = await startLoginServer(issuer.url, CLIENT_ID, SCOPES, Number(new URL(server.url).port));
    issuer.grants.length = 0;
    const { exitCode, stdout, stderr } = await run('whoami');
    assert.deepEqual([exitCode, stderr], [0, '']);
    assert.match(stdout, /^user +anna@example\.org\n/);
    assert.deepEqual(issuer.grants, ['refresh_token']);
  });

  it('logout forgets the login here, and the issuer renews it no more, also for who has copied it', async () => {
    issuer.lifetimeS = 40;
    await logIn('anna');
    copyFileSync(file(), join(home, 'copy'));
    const out = await run('logout');
    assert.deepEqual([out.exitCode, out.stdout], [0, `logged out of ${server.url}, and its issuer knows\n`]);
    const after = await run('whoami');
    assert.deepEqual([after.exitCode, after.stdout], [5, '']);
    assert.equal(
      after.stderr,
      `you are not logged in at ${server.url}\n  log in: jobctl login --server ${server.url}\n`,
    );
    const again = await run('logout');
    assert.deepEqual([again.exitCode, again.stdout], [0, `you were not logged in at ${server.url}\n`]);
    copyFileSync(join(home, 'copy'), file());
    const copied = await run('whoami');
    assert.equal(copied.exitCode, 5);
    assert.match(copied.stderr, new RegExp(`^${issuer.url} does not renew your login: invalid_grant.*\n {2}log in: `));
  });

  it('a login that has ended and cannot be renewed says of whom, and since when', async () => {
    mkdirSync(join(home, '.local/state/jobctl-login'), { recursive: true, mode: 0o700 });
    const login = {
      kind: 'oidc',
      issuer: issuer.url,
      clientId: CLIENT_ID,
      idToken: 'a.b.c',
      expiresAt: 1_700_000_000_000,
    };
    writeFileSync(file(), JSON.stringify({ v: 1, servers: { [server.url]: login } }), { mode: 0o600 });
    const { exitCode, stderr } = await run('whoami');
    assert.equal(exitCode, 5);
    assert.equal(
      stderr,
      `your login at ${issuer.url} ended at 2023-11-14T22:13:20.000Z\n  log in: jobctl login --server ${server.url}\n`,
    );
  });

  it('a file of logins that others can read is refused', async () => {
    await logIn('anna');
    chmodSync(file(), 0o640);
    const { exitCode, stderr } = await run('whoami');
    assert.equal(exitCode, 2);
    assert.match(stderr, /logins\.json: others can reach it \(mode 640\), and it holds your logins\n {2}chmod 600 /);
    assert.ok(!stderr.includes(loginIn(readFileSync(file(), 'utf8')).idToken));
  });

  describe('by a token that somebody else keeps', () => {
    it('a variable, asked for each time: nothing of the token is stored', async () => {
      await logIn('anna');
      const { idToken } = loginIn(readFileSync(file(), 'utf8'));
      const login = await jobctl(['login', '--id-token-from', 'env:CI_TOKEN'], { ...env, CI_TOKEN: idToken });
      assert.deepEqual([login.exitCode, login.stdout], [0, `logged in at ${server.url} as anna@example.org\n`]);
      assert.deepEqual(JSON.parse(readFileSync(file(), 'utf8')), {
        v: 1,
        servers: { [server.url]: { kind: 'from', from: 'env:CI_TOKEN', audience: CLIENT_ID } },
      });
      const without = await run('whoami');
      assert.equal(without.exitCode, 5);
      assert.match(without.stderr, /^env:CI_TOKEN: the environment variable is not set\n/);
      assert.equal((await jobctl(['whoami'], { ...env, CI_TOKEN: idToken })).exitCode, 0);
    });

    it('for another audience: it says which, and the login that was there stays', async () => {
      await logIn('anna');
      const before = readFileSync(file(), 'utf8');
      const foreign = await foreignToken({ aud: 'somebody-else' });
      const { exitCode, stderr } = await jobctl(['login', '--id-token-from', 'env:T'], { ...env, T: foreign });
      assert.equal(exitCode, 5);
      assert.match(stderr, /^the token of env:T is for 'somebody-else', wanted jobctl-login-test: it is not sent\n/);
      assert.ok(!stderr.includes(foreign));
      assert.equal(readFileSync(file(), 'utf8'), before);
    });

    it('a file whose token has ended, or that holds none', async () => {
      const path = join(home, 'token');
      writeFileSync(path, await foreignToken({ exp: 1_700_000_000 }));
      const old = await run('login', '--id-token-from', `file:${path}`);
      assert.equal(old.exitCode, 5);
      assert.match(
        old.stderr,
        new RegExp(`^file:${path}: its token of ${issuer.url} ended at 2023-11-14T22:13:20.000Z\n`),
      );
      writeFileSync(path, 'ya29.secret-access-token');
      const none = await run('login', '--id-token-from', `file:${path}`);
      assert.match(none.stderr, /: holds no ID token \(a JSON Web Token is wanted\)\n/);
      assert.ok(!none.stderr.includes('ya29'));
      assert.ok(!existsSync(file()));
    });

    /** A gcloud that gives `token` for the audience, and of a person's account says what gcloud says. */
    function gcloudOf(account: 'service account' | 'person', token: string): Record<string, string> {
      const bin = join(home, 'bin');
      mkdirSync(bin, { recursive: true });
      const refusal = `echo 'ERROR: (gcloud) Invalid account Type for \`--audiences\`. Requires valid service account.' >&2; exit 1`;
      const withAudience = account === 'person' ? refusal : `echo ${token}`;
      const body = `echo "$*" >>${home}/asked\ncase "$*" in\n*--audiences=*) ${withAudience};;\n*) echo ${token};;\nesac\n`;
      writeFileSync(join(bin, 'gcloud'), `#!/bin/sh\n${body}`, { mode: 0o755 });
      return { ...env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    }
    const asked = (): string => (existsSync(join(home, 'asked')) ? readFileSync(join(home, 'asked'), 'utf8') : '');
    const own = async (): Promise<string> => {
      await logIn('anna');
      const { idToken } = loginIn(readFileSync(file(), 'utf8'));
      rmSync(file());
      return idToken;
    };

    it('gcloud with a service account, for the audience that the user names', async () => {
      const token = await own();
      const withGcloud = gcloudOf('service account', token);
      const login = await jobctl(['login', '--id-token-from', 'gcloud', '--audience', CLIENT_ID], withGcloud);
      assert.deepEqual([login.exitCode, login.stderr], [0, '']);
      assert.equal((await jobctl(['whoami'], withGcloud)).exitCode, 0);
      const lines = new Set(asked().trim().split('\n'));
      assert.deepEqual([...lines], [`auth print-identity-token --audiences=${CLIENT_ID}`]);
      assert.ok(!readFileSync(file(), 'utf8').includes(token));
    });

    it('S8: gcloud is asked for no audience that only the server names', async () => {
      const { exitCode, stderr } = await jobctl(
        ['login', '--id-token-from', 'gcloud'],
        gcloudOf('service account', await own()),
      );
      assert.equal(exitCode, 2);
      assert.match(
        stderr,
        /asks for a token of the audience jobctl-login-test, and there is no terminal to ask on\n.*--audience jobctl-login-test\n/,
      );
      assert.deepEqual([asked(), existsSync(file())], ['', false]);
    });

    it('S8: nor is what gcloud makes of a person for every program sent to the server', async () => {
      const withGcloud = gcloudOf('person', await own());
      const words = ['login', '--id-token-from', 'gcloud', '--audience'];
      const { exitCode, stderr } = await jobctl([...words, CLIENT_ID], withGcloud);
      assert.equal(exitCode, 5);
      assert.match(stderr, /^gcloud: a person's account has no tokens for jobctl-login-test, only for gcloud itself\n/);
      // Its token is for jobctl-login-test here: chosen is gcloud's own audience, and another one is not sent.
      const shared = '32555940559.apps.googleusercontent.com';
      const other = await jobctl([...words, shared], withGcloud);
      assert.match(
        other.stderr,
        /^the token of gcloud is for 'jobctl-login-test', wanted 32555940559\.apps\S+: it is not sent\n/,
      );
      assert.ok(!existsSync(file()));
    });

    it('no way at all is not repeated: it may be the token itself', async () => {
      const { exitCode, stderr } = await run('login', '--id-token-from', 'eyJhbGciOi.secret.x');
      assert.equal(exitCode, 2);
      assert.match(stderr, /^--id-token-from: names no way to a token\n/);
      assert.ok(!stderr.includes('secret'));
    });
  });

  describe('S8: a token is good wherever its audience is accepted', () => {
    let hostile: LoginServer;
    before(async () => {
      // It names the audience of the server that the user knows.
      hostile = await startLoginServer(issuer.url, CLIENT_ID, SCOPES);
    });
    after(() => hostile.stop());

    const ways: Readonly<Record<string, readonly string[]>> = {
      'by a browser or a code': [],
      'by gcloud': ['--id-token-from', 'gcloud'],
      'by a variable': ['--id-token-from', 'env:T'],
    };
    for (const [way, words] of Object.entries(ways)) {
      it(`${way}: another server that names the audience of a server where one is logged in is refused`, async () => {
        await logIn('anna');
        const { idToken } = loginIn(readFileSync(file(), 'utf8'));
        const there = { ...env, JOBCTL_SERVER: hostile.url, T: idToken };
        const { exitCode, stderr } = await jobctl(['login', ...words], there);
        assert.equal(exitCode, 2, stderr);
        assert.match(
          stderr,
          new RegExp(`^${hostile.url} names the audience jobctl-login-test, which is that of ${server.url}: `),
        );
        assert.ok(!readFileSync(file(), 'utf8').includes(hostile.url));
      });
    }

    it('a context keeps the choice: over a logout, and against another server', async () => {
      const { JOBCTL_SERVER: _, ...mine } = env;
      const inContexts = (...args: readonly string[]): Promise<Ended> => jobctl(args, { ...mine, T: token });
      await logIn('anna');
      const { idToken: token } = loginIn(readFileSync(file(), 'utf8'));
      await run('logout');
      await inContexts('context', 'set', 'team', '--server', server.url);
      await inContexts('context', 'set', 'evil', '--server', hostile.url);
      const by = ['--id-token-from', 'env:T'];
      assert.equal((await inContexts('login', '--context', 'team', ...by, '--audience', CLIENT_ID)).exitCode, 0);
      await inContexts('logout', '--context', 'team');
      const refused = await inContexts('login', '--context', 'evil', ...by);
      assert.match(refused.stderr, /names the audience jobctl-login-test, which is that of /);
      assert.match(readFileSync(join(home, '.config/jobctl/contexts.toml'), 'utf8'), /audience = "jobctl-login-test"/);
      // Whoever says that both belong together has chosen.
      assert.equal((await inContexts('login', '--context', 'evil', ...by, '--audience', CLIENT_ID)).exitCode, 0);
    });

    it('a server that names another client than before is refused until that is chosen', async () => {
      await logIn('anna');
      const port = Number(new URL(server.url).port);
      await server.stop();
      server = await startLoginServer(issuer.url, 'another-client', SCOPES, port);
      const { exitCode, stderr } = await run('login');
      await server.stop();
      server = await startLoginServer(issuer.url, CLIENT_ID, SCOPES, port);
      assert.equal(exitCode, 2, stderr);
      assert.match(
        stderr,
        /names the audience another-client for its logins, and you chose jobctl-login-test for it\n/,
      );
    });
  });

  it('by Temporal nobody verifies who it is, and that is said', async () => {
    const temporal = { HOME: home, TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const who = await jobctl(['whoami'], temporal);
    assert.equal(who.exitCode, 0);
    assert.match(who.stdout, /^trusted mode: \S+ \(unverified\)\n$/);
    const login = await jobctl(['login'], temporal);
    assert.equal(login.exitCode, 2);
    assert.match(login.stderr, /^jobctl login: 127\.0\.0\.1:1 is a Temporal server: it knows no logins of jobctl\n/);
  });

  /** Of the issuer by its own word, signed by nobody whom the server knows. */
  async function foreignToken(claims: Readonly<Record<string, unknown>>): Promise<string> {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ iss: issuer.url, aud: CLIENT_ID, sub: 'eve', iat: now - 100, exp: now + 3_600, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: String((await exportJWK(privateKey)).x).slice(0, 8) })
      .sign(privateKey);
  }
});

function loginIn(text: string): { readonly idToken: string; readonly refreshToken: string } {
  const { servers } = JSON.parse(text) as { servers: Record<string, { idToken: string; refreshToken: string }> };
  const [login] = Object.values(servers);
  assert.ok(login);
  return login;
}

const ADDRESS = /^ {2}(http\S+authorization\S*|http\S+\/auth\?\S+)$/m;

/** What `pattern` finds on stderr, as soon as it is there. */
function printed(command: Begun, pattern: RegExp): Promise<string> {
  let over: Ended | undefined;
  void command.ended.then((end) => (over = end));
  return until(`${String(pattern)} on stderr`, () => {
    const found = pattern.exec(command.stderr.text)?.[1];
    if (found === undefined && over !== undefined) throw new Error(`it has ended: ${over.stdout}${over.stderr}`);
    return found;
  });
}
