import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { createNamespace, DEFAULT_RETENTION_MS, ensureSearchAttributes } from '../../client/namespace.js';
import type { WorkerConfig } from '../../worker/config.js';
import { connectWorker } from '../../worker/temporal-connection.js';
import { jobctl, type Ended } from '../cli/command-line.js';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';
import { GO_BUILD_MS, temporalServerFolder } from './built-by-go.js';
import { BackgroundProcess } from './postgres/process.js';

const JOB = 'tpu: { accelerator: v5litepod-16, zone: us-central1-a }\ncommand: { run: echo hi }\n';
const NAMESPACE = 'team';
/** The server's own workers have no key: they use a frontend that nobody else reaches. */
const SERVICES = ['frontend', 'internal-frontend', 'history', 'matching', 'worker'];

/** The real server with its own authorizer: an API key is a token that it checks against a key of its issuer. */
describe('a Temporal server that asks who calls', function () {
  this.timeout(60_000);
  const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let folder: string;
  let keys: Server;
  let server: BackgroundProcess;
  let address: string;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-authorization-'));
    writeFileSync(join(folder, 'job.yaml'), JOB);
    keys = await serveKeys(issuer.publicKey);
    const frontend = await writeConfiguration(folder, (keys.address() as AddressInfo).port);
    address = `127.0.0.1:${frontend}`;
    const services = SERVICES.flatMap((name) => ['--service', name]);
    const program = join(await temporalServerFolder(), 'temporal-server');
    server = BackgroundProcess.start(
      program,
      ['--root', folder, '--config', 'config', '--env', 'native', 'start', ...services],
      {
        logFile: join(folder, 'server.log'),
      },
    );
    const connection = await until(
      'the server lets an admin in',
      async () => {
        const made = await Connection.connect({
          address,
          tls: false,
          apiKey: token(issuer.privateKey, ['temporal-system:admin']),
        });
        try {
          await createNamespace(made, NAMESPACE, DEFAULT_RETENTION_MS);
          return made;
        } catch (error) {
          await made.close();
          throw new Error(`${String(error)}\n${server.tail()}`, { cause: error });
        }
      },
      60_000,
    );
    await ensureSearchAttributes(connection, NAMESPACE);
    await connection.close();
  });
  after(async () => {
    await server.stop('SIGTERM', 5_000);
    keys.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const submitWith = (more: Record<string, string>): Promise<Ended> =>
    jobctl(['submit', join(folder, 'job.yaml'), '--name', `by-${Object.keys(more).length}`, '--user', 'alice'], {
      HOME: folder,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: NAMESPACE,
      TEMPORAL_TLS: 'false',
      ...more,
    });

  it('takes a job from one with a right key', async () => {
    const { exitCode, stderr } = await submitWith({
      TEMPORAL_API_KEY: token(issuer.privateKey, [`${NAMESPACE}:write`]),
    });
    assert.equal(exitCode, 0, stderr);
  });

  it('refuses one without a key, and says which variable is meant', async () => {
    const { exitCode, stderr } = await submitWith({});
    assert.equal(exitCode, 5);
    assert.match(
      stderr,
      /^Temporal at \S+: it does not let this client in: Request unauthorized\.?\n {2}it wants an API key \(TEMPORAL_API_KEY\)/,
    );
  });

  it('refuses a key of another issuer, one that has expired, and one of another namespace', async () => {
    const wrong = [
      token(other.privateKey, [`${NAMESPACE}:write`]),
      token(issuer.privateKey, [`${NAMESPACE}:write`], -60),
      token(issuer.privateKey, ['elsewhere:write']),
    ];
    for (const key of wrong) {
      const { exitCode, stderr } = await submitWith({ TEMPORAL_API_KEY: key });
      assert.equal(exitCode, 5, stderr);
      assert.match(
        stderr,
        /it does not let this client in: .*\n {2}is TEMPORAL_API_KEY right, not expired, and has its owner rights in namespace team\?/,
      );
    }
  });

  it('says the same to a worker, which ends', async () => {
    process.env['TEMPORAL_API_KEY'] = token(other.privateKey, []);
    process.env['TEMPORAL_TLS'] = 'false';
    try {
      await assert.rejects(
        connectWorker({ temporal: { address, namespace: NAMESPACE } } as WorkerConfig),
        /it does not let this client in: .*\n {2}is TEMPORAL_API_KEY right/,
      );
    } finally {
      delete process.env['TEMPORAL_API_KEY'];
      delete process.env['TEMPORAL_TLS'];
    }
  });
});

/** A JWT as the server's default claim mapper reads it (docs.temporal.io, "Authorization plugin", 2026-11). */
function token(key: KeyObject, permissions: readonly string[], lifetimeS = 3600): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const head = part({ alg: 'RS256', typ: 'JWT', kid: 'one' });
  const body = part({ sub: 'alice', permissions, iat: now - 120, exp: now + lifetimeS });
  return `${head}.${body}.${createSign('RSA-SHA256').update(`${head}.${body}`).sign(key, 'base64url')}`;
}

async function serveKeys(publicKey: KeyObject): Promise<Server> {
  const answer = JSON.stringify({
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }],
  });
  const server = createServer((_request, response) => response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** All services in one process, on SQLite in memory. Returns the frontend's port. */
async function writeConfiguration(folder: string, keysPort: number): Promise<number> {
  const services: Record<string, object> = {};
  let frontend = 0;
  for (const name of SERVICES) {
    const grpcPort = await freePort();
    if (name === 'frontend') frontend = grpcPort;
    services[name] = { rpc: { grpcPort, membershipPort: await freePort(), bindOnLocalHost: true } };
  }
  const sql = {
    pluginName: 'sqlite',
    databaseName: 'temporal',
    connectAddr: 'localhost',
    connectProtocol: 'tcp',
    connectAttributes: { mode: 'memory', cache: 'shared', setup: 'true' },
    maxConns: 1,
  };
  const active = { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: `127.0.0.1:${frontend}` };
  const configuration = {
    log: { stdout: true, level: 'warn' },
    persistence: { defaultStore: 's', visibilityStore: 's', numHistoryShards: 4, datastores: { s: { sql } } },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' },
      authorization: {
        jwtKeyProvider: { keySourceURIs: [`http://127.0.0.1:${keysPort}/`], refreshInterval: '1m' },
        permissionsClaimName: 'permissions',
        authorizer: 'default',
        claimMapper: 'default',
      },
    },
    services,
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: { active },
    },
    dcRedirectionPolicy: { policy: 'noop' },
  };
  mkdirSync(join(folder, 'config'));
  // YAML holds JSON.
  writeFileSync(join(folder, 'config', 'native.yaml'), JSON.stringify(configuration));
  return frontend;
}
