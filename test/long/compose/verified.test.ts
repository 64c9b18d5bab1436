import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { programArguments } from '../../built.js';
import { makeComposeFolders } from '../../security/compose-folders.js';
import { until } from '../../until.js';
import { GO_BUILD_MS } from '../built-by-go.js';
import { type Json, merged } from '../security/merged-json.js';
import type { BackgroundProcess } from '../postgres/process.js';
import { confinementsOf, DROPPED, listenersIn } from './processes.js';
import { ComposeStack, nameOf, VERIFIED_SERVICES } from './stack.js';

const MINUTE_MS = 60_000;
const ROOT = join(import.meta.dirname, '../../..');
const AUDIENCE = 'jobctl-compose-test';
/** The daemon's processes stand in another folder. */
const QUICK_START = join(ROOT, 'examples/quick-start.yaml');
/** In the network of the container `rehearsal`, which the server shares. */
const ISSUER = 'http://127.0.0.1:7999';

/**
 * docker-compose.verified.yml over the other file, with the folders that the commands of docs/deployment.md make. Needs what
 * real.test.ts needs.
 */
describe('docker compose up, in verified mode', function () {
  this.timeout(10 * MINUTE_MS);
  let folder: string;
  let stack: ComposeStack;
  let issuer: Issuer;

  before(async function () {
    this.timeout(GO_BUILD_MS + 20 * MINUTE_MS);
    folder = mkdtempSync(join(tmpdir(), 'compose-verified-'));
    makeComposeFolders(folder, 'rehearsal');
    configure(folder);
    stack = await ComposeStack.make({
      JOBCTL_API_KEYS_DIR: join(folder, 'api-keys'),
      JOBCTL_SERVER_CONFIG_DIR: join(folder, 'server-config'),
      JOBCTL_REHEARSAL_CONFIG_DIR: join(folder, 'worker-config'),
      // Of the profile gcp, whose containers are only looked into.
      JOBCTL_CONFIG_DIR: join(folder, 'worker-config'),
      JOBCTL_SSH_PRIVATE_KEY_FILE: join(ROOT, 'LICENSE'),
      JOBCTL_SSH_PUBLIC_KEY_FILE: join(ROOT, 'LICENSE'),
    });
    await stack.up();
    issuer = await Issuer.make(stack, folder);
    mkdirSync(join(folder, 'home'));
    await loggedIn('alice@example.org');
  });
  after(async function () {
    this.timeout(MINUTE_MS);
    await issuer?.stop();
    await stack?.remove();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** As a user of this machine types it, at the published port of the server. */
  const jobctl = (token: string, ...words: readonly string[]): string => {
    const env = [`T=${token}`, `HOME=${join(folder, 'home')}`, 'JOBCTL_HOME=/nonexistent/jobctl'];
    const program = [process.execPath, ...programArguments('cli/main'), ...words];
    return stack.engine.inside('env', ...env, 'JOBCTL_SERVER=http://127.0.0.1:7480', ...program);
  };
  const loggedIn = async (email: string): Promise<string> => {
    const token = await issuer.token(email);
    jobctl(token, 'login', '--id-token-from', 'env:T');
    return token;
  };

  it('S7: the server runs by the documented commands, each process by its own API key, none of them root', () => {
    for (const service of VERIFIED_SERVICES) {
      const processes = confinementsOf(stack.engine, stack.pids(service));
      assert.ok(processes.length > 0, service);
      for (const { command, uid, ...confinement } of processes) {
        assert.deepEqual(confinement, DROPPED, `${service}: ${command}`);
        assert.notEqual(uid, 0, `${service}: ${command}`);
      }
    }
    const find = ['find', '/', '-xdev', '-name', 'signing-keys.json', '-o', '-name', 'serve-key.pem'];
    for (const service of VERIFIED_SERVICES) {
      const mounts = stack.engine.docker(
        'inspect',
        '--format',
        '{{range .Mounts}}{{.Source}} {{end}}',
        nameOf(service),
      );
      assert.doesNotMatch(mounts, /api-keys( |\/signing)/u, service);
      assert.equal(/server-config/u.test(mounts), service === 'server-rehearsal', `${service}: ${mounts}`);
    }
    assert.doesNotMatch(
      stack.engine.docker('exec', nameOf('worker-rehearsal'), 'sh', '-c', `${find.join(' ')} || :`),
      /./u,
    );
  });

  it('publishes the server beside Temporal and its Web UI, on 127.0.0.1', () => {
    const published = listenersIn(stack.engine, 'daemon').map(({ address, port }) => `${address}:${port}`);
    assert.deepEqual(published.sort(), ['127.0.0.1:7233', '127.0.0.1:7480', '127.0.0.1:8080']);
  });

  it('S7: the containers of the profile gcp read their API keys and configurations too', async () => {
    const files = { setup: ['/run/api-key/api-key'], worker: ['/run/api-key/api-key', '/etc/jobctl/worker.json'] };
    const ofServer = ['/run/api-key/api-key', '/etc/jobctl/serve.json', '/etc/jobctl/serve-key.pem'];
    for (const [service, read] of Object.entries({ ...files, server: ofServer }))
      await stack.compose(
        ...['--profile', 'gcp', 'run', '--rm', '--no-deps', '--entrypoint', 'sh', service],
        ...['-c', `cat ${read.join(' ')} >/dev/null`],
      );
  });

  it('Temporal refuses whoever has no API key, and takes no job that the server has not signed', async () => {
    const past = (...words: readonly string[]): Promise<string> =>
      stack.compose('exec', '-T', 'worker-rehearsal', 'sh', '-c', words.join(' '));
    await assert.rejects(past('jobctl list'), /permission|unauthorized|not authorized/iu);
    const withKey = 'TEMPORAL_API_KEY=$(cat /run/api-key/api-key)';
    await assert.rejects(
      past(withKey, 'jobctl submit --wait --name unsigned examples/quick-start.yaml'),
      /not signed/u,
    );
  });

  it('runs the quick start of a user who is logged in, and shows it to them alone as theirs', async () => {
    const alice = await issuer.token('alice@example.org');
    jobctl(alice, 'submit', '--wait', '--name', 'first', QUICK_START);
    assert.match(jobctl(alice, 'logs', 'first'), /done: y = [23]\.\d\d x \+ 2\.00/u);
    const { jobs } = JSON.parse(jobctl(alice, 'list', '--output', 'json')) as {
      readonly jobs: readonly { readonly id: string; readonly phase: string; readonly user: string }[];
    };
    const shown = jobs.map(({ id, phase, user }) => `${id} ${phase} ${user}`);
    assert.ok(shown.includes('first succeeded alice@example.org'), shown.join('\n'));
    assert.throws(() => jobctl(alice, 'cancel', 'unsigned', '--yes'), /may not|not found|no job/u);
  });

  it('goes on after a restart of each container', async () => {
    const alice = await issuer.token('alice@example.org');
    for (const service of ['postgres', 'keys', 'temporal', 'ui', 'worker-rehearsal', 'server-rehearsal', 'rehearsal']) {
      const { StartedAt } = stack.inspect(service).State;
      await stack.compose('restart', service);
      await stack.untilHealthy();
      // The network that the issuer is in has gone with that container.
      if (service === 'rehearsal') await issuer.restart(stack, folder);
      assert.notEqual(stack.inspect(service).State.StartedAt, StartedAt, service);
      await until(`${service}: the list is answered`, () => jobctl(alice, 'list').includes('first'), MINUTE_MS);
    }
    jobctl(alice, 'submit', '--wait', '--name', 'after', QUICK_START);
  });
});

/** serve.json and worker.json with the blocks of docs/deployment.md, and what its sentence says of the profile rehearsal. */
function configure(folder: string): void {
  const page = readFileSync(join(ROOT, 'docs/deployment.md'), 'utf8');
  const [, chapter = ''] = /^## Verified mode\n([\s\S]*?)^## /mu.exec(page) ?? [];
  const [ofServer = {}, ofWorker = {}] = [...chapter.matchAll(/^```json\n([\s\S]*?)^```$/gmu)].map(
    ([, block = '']) => JSON.parse(block) as Json,
  );
  const [, store = ''] = /the store of the server is `(\{.*?\})`/u.exec(chapter) ?? [];
  const serve = {
    store: JSON.parse(store) as Json,
    googleProject: 'rehearsal',
    issuers: [{ issuer: ISSUER, audiences: [AUDIENCE], emailDomains: ['example.org'] }],
  };
  writeFileSync(join(folder, 'server-config/serve.json'), JSON.stringify(merged(serve, ofServer)));
  const file = join(folder, 'worker-config/worker.json');
  writeFileSync(file, JSON.stringify(merged(JSON.parse(readFileSync(file, 'utf8')) as Json, ofWorker)));
}

type SigningKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

/** The least that an issuer is: its discovery document and its keys, over HTTP in the network of the server. */
class Issuer {
  #process: BackgroundProcess | undefined;
  readonly #key: SigningKey;
  readonly #program: string;

  private constructor(key: SigningKey, program: string) {
    this.#key = key;
    this.#program = program;
  }

  static async make(stack: ComposeStack, folder: string): Promise<Issuer> {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }] };
    const discovery = { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` };
    const answers = JSON.stringify({ '/keys': keys, '/.well-known/openid-configuration': discovery });
    const serve = `require('node:http').createServer(({ url }, answer) => answer.setHeader('content-type', 'application/json').end(JSON.stringify(${answers}[url] ?? {}))).listen(${new URL(ISSUER).port}, '127.0.0.1', () => console.log('up'))`;
    const issuer = new Issuer(privateKey, serve);
    await issuer.restart(stack, folder);
    return issuer;
  }

  async restart(stack: ComposeStack, folder: string): Promise<void> {
    await this.stop();
    const { Pid } = stack.inspect('rehearsal').State;
    const log = join(mkdtempSync(join(folder, 'issuer-')), 'log');
    const started = stack.engine.startInNetworkOf(Pid, log, process.execPath, '-e', this.#program);
    this.#process = started;
    await until('the issuer', () => started.tail().includes('up'));
  }

  token = (email: string): Promise<string> =>
    new SignJWT({ email, email_verified: true })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(email)
      .setIssuedAt()
      .setExpirationTime('2h')
      .sign(this.#key);

  async stop(): Promise<void> {
    await this.#process?.kill();
  }
}
