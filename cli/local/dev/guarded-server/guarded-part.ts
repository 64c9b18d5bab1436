import { readLogin, type KeySet, keySetOf, newSigningKey, signApiKey } from '../../../../cloud/temporal/login-files.js';
import type { Environment, StackHome } from '../../../terminal/home.js';
import { type Part, partEnvironment } from '../part.js';
import { DEV_NAMESPACE } from '../../../place/stack/context.js';
import { answersCalls, DYNAMIC_CONFIG } from '../temporal-server/resolve.js';
import { serverFiles, serverLoginFiles, SERVER_NAME, type ServerFiles } from '../../../place/stack/stack-record.js';
import { readFileSync } from 'node:fs';
import { writePrivate } from '../../../terminal/file-on-disk.js';
import { randomBytes, createHash, X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { generate as generateCertificate } from 'selfsigned';

/** The configuration that marks a part as this server, and not as the dev server on the same database. */
export const GUARDED = 'asks who calls';

interface GuardedPart {
  readonly part: Omit<Part, 'title' | 'claim' | 'stopGraceMs'>;
  /** Ends the serving of keys. Call it when the part has started, or failed to start. */
  readonly settled: () => void;
}

/**
 * Temporal's real server on the stack's database, with TLS and its own authorizer. At each start it gets a new login, which only
 * the owner of the state folder can read (docs/adr/0076).
 * @param program returns the executable, called only if the server is started
 */
export function guardedPart(
  home: StackHome,
  port: number,
  program: () => Promise<string>,
  env: Environment,
): GuardedPart {
  const files = serverFiles(home);
  let keySet: KeySetServer | undefined;
  const command = async (): Promise<string> => {
    const path = await program();
    keySet = await serveKeySet(await makeCredentials(files, Date.now()));
    const ownPorts = await freePorts(OWN_PORTS, portsBefore(files));
    writeConfiguration(files, { databaseFile: home.databaseFile, port, ownPorts, keysUrl: keySet.url });
    return path;
  };
  return {
    part: {
      ...{ command, args: serverArguments(files), env: partEnvironment(env), cwd: home.root, configuration: GUARDED },
      isReady: () => answersGuarded(home, port),
      readyTimeoutMs: 60_000,
      isRestartedIfSilent: true,
    },
    settled: () => keySet?.close(),
  };
}

/** Tries once whether the server answers calls with the login in the state folder. */
export async function answersGuarded(home: StackHome, port: number, timeoutMs?: number): Promise<boolean> {
  try {
    return await answersCalls(`127.0.0.1:${port}`, DEV_NAMESPACE, timeoutMs, readLogin(serverLoginFiles(home)));
  } catch {
    // The server has no login yet.
    return false;
  }
}

/** The server's own workers have no API key: they use the internal frontend, which requires a certificate instead. */
const SERVICES = ['frontend', 'internal-frontend', 'history', 'matching', 'worker'] as const;

/** Number of ports that the server needs in addition to the frontend's: one for calls and one for membership, per service. */
export const OWN_PORTS = SERVICES.length * 2 - 1;

interface ServerPlace {
  readonly databaseFile: string;
  /** Port of the frontend, which clients call. */
  readonly port: number;
  readonly ownPorts: readonly number[];
  /** URL from which the server reads, once at its start, the keys for verifying API keys. */
  readonly keysUrl: string;
}

const ENVIRONMENT = 'stack';

/** Arguments of `temporal-server`. */
function serverArguments({ folder }: ServerFiles): readonly string[] {
  const services = SERVICES.flatMap((name) => ['--service', name]);
  return ['--root', folder, '--config', 'config', '--env', ENVIRONMENT, 'start', ...services];
}

/** Writes the configuration: all services in one process on loopback, with TLS on every port. */
export function writeConfiguration(files: ServerFiles, place: ServerPlace): void {
  // JSON is valid YAML.
  writePrivate(files.configuration, JSON.stringify(configurationOf(files, place), null, 2));
  const values = { ...DYNAMIC_CONFIG, 'system.enableRingpopTLS': true };
  const dynamic = Object.entries(values).map(([key, value]) => [key, [{ value }]]);
  writePrivate(files.dynamicConfiguration, JSON.stringify(Object.fromEntries(dynamic), null, 2));
}

function configurationOf(files: ServerFiles, place: ServerPlace): object {
  const rpcAddress = `127.0.0.1:${place.port}`;
  const active = { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress };
  return {
    log: { stdout: true, level: 'warn' },
    persistence: persistenceOf(place.databaseFile),
    global: {
      // Members that a killed server left behind do not answer: each attempt to join waits this long for them.
      membership: { maxJoinDuration: '10s', broadcastAddress: '127.0.0.1' },
      tls: tlsOf(files),
      authorization: authorizationOf(place.keysUrl),
    },
    services: servicesOf(place),
    clusterMetadata: {
      ...{ enableGlobalNamespace: false, failoverVersionIncrement: 10 },
      ...{ masterClusterName: 'active', currentClusterName: 'active', clusterInformation: { active } },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: files.dynamicConfiguration, pollInterval: '60s' },
  };
}

/** Uses the dev server's own database, with its shards and names, so that a stack may switch between the servers. */
function persistenceOf(databaseName: string): object {
  const connectAttributes = { mode: 'rwc', setup: 'true', journal_mode: 'wal', synchronous: 'normal' };
  const sql = {
    ...{ pluginName: 'sqlite', databaseName, connectAddr: 'localhost', connectProtocol: 'tcp' },
    ...{ connectAttributes, maxConns: 1, maxIdleConns: 1 },
  };
  return { defaultStore: 'sqlite', visibilityStore: 'sqlite', numHistoryShards: 1, datastores: { sqlite: { sql } } };
}

function tlsOf({ authority, certificate, certificateKey }: ServerFiles): object {
  const shown = { certFile: certificate, keyFile: certificateKey };
  const client = { serverName: SERVER_NAME, rootCaFiles: [authority] };
  return {
    frontend: { server: shown, client },
    // Behind the frontend no API key is required.
    internode: { server: { ...shown, requireClientAuth: true, clientCaFiles: [authority] }, client },
  };
}

function authorizationOf(keysUrl: string): object {
  return {
    // The keys are not served later, when another process may listen there.
    jwtKeyProvider: { keySourceURIs: [keysUrl], refreshInterval: '87600h' },
    ...{ permissionsClaimName: 'permissions', authorizer: 'default', claimMapper: 'default' },
  };
}

/**
 * The ports of the previous start. A killed server leaves its members in the database, and a server with other ports waits for
 * them: for 24 s and more, seen with 1.29.1, only its frontend answers ("Not enough hosts to serve the request").
 * @returns empty if there was no such start
 */
function portsBefore({ configuration }: ServerFiles): readonly number[] {
  try {
    const { services } = JSON.parse(readFileSync(configuration, 'utf8')) as { services: ReturnType<typeof servicesOf> };
    const ports = SERVICES.flatMap((name) => {
      const { grpcPort, membershipPort } = services[name]?.rpc ?? {};
      return [grpcPort, membershipPort].filter((port) => port !== undefined);
    });
    // The first is the frontend's, which clients know.
    return ports.slice(1);
  } catch {
    return [];
  }
}

interface ServicePorts {
  readonly rpc: { readonly grpcPort?: number; readonly membershipPort?: number; readonly bindOnLocalHost: true };
}

function servicesOf({ port, ownPorts }: ServerPlace): Readonly<Record<string, ServicePorts>> {
  if (ownPorts.length < OWN_PORTS) throw new RangeError(`the server needs ${OWN_PORTS} ports, got ${ownPorts.length}`);
  const ports = [port, ...ownPorts];
  const services = SERVICES.map((name, index) => {
    const [grpcPort, membershipPort] = [ports[index * 2], ports[index * 2 + 1]];
    return [name, { rpc: { grpcPort, membershipPort, bindOnLocalHost: true } }];
  });
  return Object.fromEntries(services) as Readonly<Record<string, ServicePorts>>;
}

interface KeySetServer {
  readonly url: string;
  close(): void;
}

/** Serves public keys on loopback for a starting Temporal server, which reads them only by HTTP (1.29). */
async function serveKeySet(keys: KeySet): Promise<KeySetServer> {
  const path = `/${randomBytes(16).toString('hex')}`;
  const body = JSON.stringify(keys);
  const server = createServer((request, response) => {
    if (request.url === path) response.setHeader('content-type', 'application/json').end(body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, close };
}

/** Finds free loopback ports, all at once so that they differ. @param wanted preferred ports, used if they are free */
async function freePorts(count: number, wanted: readonly number[] = []): Promise<readonly number[]> {
  const listening = async (port: number): Promise<Server> => {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return server;
  };
  const servers = await Promise.all(
    Array.from({ length: count }, (_, at) => listening(wanted[at] ?? 0).catch(() => listening(0))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

const DAY_MS = 86_400_000;
/** Lifetime of a certificate. Browsers and Apple's TLS reject a longer one. */
const LIFETIME_DAYS = 820;
/** A `dev up` within this time before a login's end restarts the server with a new login. */
const RENEWED_DAYS_BEFORE = 60;
/** Days before its creation from which a certificate is valid: another clock (a container's) may be a little behind. */
const CLOCK_DAYS = 1;

/**
 * Creates a new authority, certificate and API key. Neither the authority's key nor the signing key of API keys is stored, so no
 * further certificate or key can be made, and a restart of the server makes the old ones worthless.
 * @returns the key set with which the server verifies API keys
 */
export async function makeCredentials(files: ServerFiles, now: number): Promise<KeySet> {
  const notAfter = now + LIFETIME_DAYS * DAY_MS;
  await makeCertificates(files, now, notAfter);
  const key = newSigningKey();
  const claims = { subject: 'local stack', permissions: ['temporal-system:admin'], expiresAt: notAfter };
  writePrivate(files.apiKey, signApiKey(key, claims));
  return keySetOf([key]);
}

/** The end of the login in epoch ms; undefined if there is none yet. */
export function loginEnd({ certificate }: ServerFiles): number | undefined {
  try {
    return Date.parse(new X509Certificate(readFileSync(certificate)).validTo);
  } catch {
    return undefined;
  }
}

/** Returns whether a running server must be restarted for a new login. */
export function isLoginOld(files: ServerFiles, now: number): boolean {
  const end = loginEnd(files);
  return end === undefined || end - now < RENEWED_DAYS_BEFORE * DAY_MS;
}

/** A different value for each login: clients of an earlier login must reconnect. */
export function loginFingerprint({ apiKey }: ServerFiles): string {
  return createHash('sha256').update(readFileSync(apiKey)).digest('hex').slice(0, 16);
}

/** The library does not export its types, so they are derived from parameters. */
type CertificateOptions = NonNullable<Parameters<typeof generateCertificate>[1]>;
type CertificateExtension = NonNullable<CertificateOptions['extensions']>[number];

async function makeCertificates(files: ServerFiles, now: number, notAfter: number): Promise<void> {
  const { generate } = await import('selfsigned');
  const options = {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - CLOCK_DAYS * DAY_MS),
    notAfterDate: new Date(notAfter),
  } as const;
  const authority = await generate([{ name: 'commonName', value: 'local stack' }], {
    ...options,
    extensions: AUTHORITY_EXTENSIONS,
  });
  const server = await generate([{ name: 'commonName', value: SERVER_NAME }], {
    ...options,
    ca: { key: authority.private, cert: authority.cert },
    extensions: SERVER_EXTENSIONS,
  });
  writePrivate(files.certificateKey, server.private);
  writePrivate(files.certificate, server.cert);
  writePrivate(files.authority, authority.cert);
}

const AUTHORITY_EXTENSIONS: CertificateExtension[] = [
  { name: 'basicConstraints', cA: true, critical: true },
  { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
];
const SERVER_EXTENSIONS: CertificateExtension[] = [
  { name: 'basicConstraints', cA: false },
  { name: 'keyUsage', digitalSignature: true, critical: true },
  { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
  {
    name: 'subjectAltName',
    altNames: [
      { type: 2, value: SERVER_NAME },
      { type: 7, ip: '127.0.0.1' },
    ],
  },
];

/** A line for people: the server's address, its login, and the end of that login. */
export function guardedLine(home: StackHome, address: string): string {
  const files = serverFiles(home);
  const end = loginEnd(files);
  const until = end === undefined ? '' : `, until ${new Date(end).toISOString().slice(0, 10)}`;
  return `Temporal: ${address}, by TLS and the API key in ${files.apiKey}${until}; it has no Web UI`;
}
