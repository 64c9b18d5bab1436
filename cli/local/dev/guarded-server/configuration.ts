import { readFileSync } from 'node:fs';
import { DYNAMIC_CONFIG } from '../temporal-server/start-dev.js';
import { writePrivate } from '../../../terminal/file-on-disk.js';
import { SERVER_NAME, type ServerFiles } from '../../../place/stack/server-files.js';

/** The server's own workers have no API key: they use the internal frontend, which requires a certificate instead. */
const SERVICES = ['frontend', 'internal-frontend', 'history', 'matching', 'worker'] as const;

/** Number of ports that the server needs in addition to the frontend's: one for calls and one for membership, per service. */
export const OWN_PORTS = SERVICES.length * 2 - 1;

export interface ServerPlace {
  readonly databaseFile: string;
  /** Port of the frontend, which clients call. */
  readonly port: number;
  readonly ownPorts: readonly number[];
  /** URL from which the server reads, once at its start, the keys for verifying API keys. */
  readonly keysUrl: string;
}

const ENVIRONMENT = 'stack';

/** Arguments of `temporal-server`. */
export function serverArguments({ folder }: ServerFiles): readonly string[] {
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
export function portsBefore({ configuration }: ServerFiles): readonly number[] {
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
