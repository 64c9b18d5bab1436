import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { DEV_NAMESPACE } from '../../../cli/place/stack/context.js';
import { answersCalls } from '../../../cli/local/dev/temporal-server/resolve.js';
import type { TemporalLogin } from '../../../cloud/temporal/login-files.js';
import { createNamespace, DEFAULT_RETENTION_MS } from '../../../client/namespace.js';
import { until } from '../../until.js';
import { temporalServerFolder } from '../built-by-go.js';
import { type DatabaseRole, PostgresDatabase } from './database.js';
import { freePortOffset } from './port-offset.js';
import { BackgroundProcess } from './process.js';

/** What docker-compose.yml mounts into its containers. */
const DEPLOY = fileURLToPath(new URL('../../../deploy/temporal', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 15_000;

export type PostgresTemporalPart = 'database' | 'server';

/** The topology of docker-compose.yml without containers: PostgreSQL and the real Temporal server, on loopback. */
export interface PostgresTemporal {
  /** host:port of the frontend. */
  readonly address: string;
  readonly namespace: string;
  /** Of the processes that run now. */
  readonly pids: Readonly<Record<PostgresTemporalPart, number>>;
  /** kill -9, for the database to every process of it; returns when it is gone. */
  kill(part: PostgresTemporalPart): Promise<void>;
  /** Starts it again on its data, under its address; returns when it answers real calls. */
  restart(part: PostgresTemporalPart): Promise<void>;
  /** What the server is started with from now on: whether it takes calls with an API key alone. */
  useGuard(guard: Guard | undefined): void;
  /** pg_dump of both databases into `directory` (made), as docs/operations.md says it, while everything runs. */
  dump(directory: string): Promise<void>;
  /** Stops the server, puts both databases back to `dump`, starts the server; returns when it answers. */
  restore(directory: string): Promise<void>;
  /** What psql prints: a line a row, columns parted by `|`. Databases: `temporal`, `temporal_visibility`. */
  sql(query: string, database?: string, as?: DatabaseRole): Promise<string>;
  /** Ends both. The directory is the caller's to remove. */
  stop(): Promise<void>;
}

export interface PostgresTemporalOptions {
  readonly directory: string;
  /** The server takes calls with an API key alone. */
  readonly guard?: Guard;
}

export interface Guard {
  readonly keySetUri: string;
  /** Of somebody who may make namespaces. */
  readonly admin: TemporalLogin;
}

/**
 * Starts both below `directory` (made; logs are `postgres.log` and `server.log` in it), sets up the schema and the roles with the scripts of
 * deploy/temporal, makes the namespace, and returns when that answers. The executables may have to be built first: give a
 * `before` the time of GO_BUILD_MS.
 */
export async function startPostgresTemporal({ directory, guard }: PostgresTemporalOptions): Promise<PostgresTemporal> {
  mkdirSync(directory, { recursive: true });
  const executables = await temporalServerFolder();
  const database = await PostgresDatabase.create(join(directory, 'postgres'));
  try {
    await setUpDatabases(executables, database);
    const server = await TemporalServer.start({ directory, executables, database, ...(guard && { guard }) });
    try {
      await server.untilAnswering(() => makeNamespace(server.address, guard?.admin));
    } catch (error) {
      await server.stop();
      throw error;
    }
    return assembled(database, server);
  } catch (error) {
    await database.stop();
    throw error;
  }
}

function assembled(database: PostgresDatabase, server: TemporalServer): PostgresTemporal {
  const parts = { database, server };
  return {
    address: server.address,
    namespace: DEV_NAMESPACE,
    get pids() {
      return { database: database.pid, server: server.pid };
    },
    kill: (part) => parts[part].kill(),
    restart: async (part) => {
      if (part === 'database') return database.start();
      await server.launch();
      await server.untilAnswering();
    },
    useGuard: (guard) => server.useGuard(guard),
    dump: async (directory) => {
      mkdirSync(directory, { recursive: true });
      for (const name of DATABASES) await database.dump(name, join(directory, name));
    },
    restore: async (directory) => {
      await server.stop();
      for (const name of DATABASES) await database.restore(name, join(directory, name));
      // Who may connect to a database is not in its dump.
      await runScript('set-up-roles.sh', database.ownerEnvironment);
      await server.launch();
      await server.untilAnswering();
    },
    sql: (query, name, as) => database.sql(query, name, as),
    stop: async () => {
      await server.stop();
      await database.stop();
    },
  };
}

/** In the order of a dump: a listing that is newer than what it lists names workflows that are not there. */
const DATABASES = ['temporal_visibility', 'temporal'] as const;

interface ServerOptions {
  readonly directory: string;
  readonly executables: string;
  readonly database: PostgresDatabase;
  readonly guard?: Guard;
}

class TemporalServer {
  readonly address: string;
  #options: ServerOptions;
  readonly #portOffset: number;
  #process: BackgroundProcess | undefined;

  private constructor(options: ServerOptions, portOffset: number) {
    this.#options = options;
    this.#portOffset = portOffset;
    this.address = `127.0.0.1:${FRONTEND_PORT + portOffset}`;
  }

  static async start(options: ServerOptions): Promise<TemporalServer> {
    const server = new TemporalServer(options, await freePortOffset(SERVER_PORTS));
    server.#writeConfiguration();
    await server.launch();
    return server;
  }

  /** The file of deploy/temporal as it is, and over it what is not as in a container: where to listen. */
  #writeConfiguration(): void {
    const folder = join(this.#options.directory, CONFIG);
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(DEPLOY, 'server.yaml'), join(folder, 'base.yaml'));
    const port = (usual: number): number => usual + this.#portOffset;
    const services = Object.entries(SERVICES).map(([name, [grpc, membership]]) => {
      const rpc = { grpcPort: port(grpc), membershipPort: port(membership), bindOnLocalHost: true };
      return [name, { rpc }];
    });
    const active = { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: this.address };
    const native = {
      services: Object.fromEntries(services) as object,
      clusterMetadata: { clusterInformation: { active } },
      dynamicConfigClient: { filepath: join(DEPLOY, 'dynamic.yaml'), pollInterval: '10s' },
    };
    // YAML holds JSON.
    writeFileSync(join(folder, 'native.yaml'), JSON.stringify(native));
  }

  useGuard(guard: Guard | undefined): void {
    const { guard: _, ...options } = this.#options;
    this.#options = { ...options, ...(guard && { guard }) };
  }

  get pid(): number {
    return (this.#process as BackgroundProcess).pid;
  }

  async launch(): Promise<void> {
    const { directory, executables, database, guard } = this.#options;
    const services = Object.keys(SERVICES).map((name) => `--service=${name}`);
    const args = ['--root', directory, '--config', CONFIG, '--env', 'native', '--allow-no-auth', 'start', ...services];
    this.#process = BackgroundProcess.start(join(executables, 'temporal-server'), args, {
      logFile: join(directory, 'server.log'),
      env: { ...database.serverEnvironment, ...(guard && { TEMPORAL_KEY_SET_URI: guard.keySetUri }) },
    });
  }

  /** One that ends before it answers is started again: its database may be on the way up. */
  async untilAnswering(look = (): Promise<boolean> => this.#answers()): Promise<void> {
    await until(
      `Temporal at ${this.address} answers`,
      async () => {
        if (this.#process?.isRunning !== true) {
          const tail = this.#process?.tail();
          await this.launch();
          throw new Error(`the server ended:\n${tail}`);
        }
        return look();
      },
      START_TIMEOUT_MS,
    );
  }

  #answers = (): Promise<boolean> => answersCalls(this.address, DEV_NAMESPACE, undefined, this.#options.guard?.admin);

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async stop(): Promise<void> {
    await this.#process?.stop('SIGTERM', STOP_GRACE_MS);
  }
}

const CONFIG = 'config';
const FRONTEND_PORT = 7233;
/** gRPC and membership port of each, as in deploy/temporal/server.yaml. */
const SERVICES = {
  frontend: [FRONTEND_PORT, 6933],
  'internal-frontend': [7236, 6936],
  history: [7234, 6934],
  matching: [7235, 6935],
  worker: [7239, 6939],
} as const;
const SERVER_PORTS = Object.values(SERVICES).flat();
async function setUpDatabases(executables: string, { ownerEnvironment }: PostgresDatabase): Promise<void> {
  const PATH = [executables, ownerEnvironment['PATH']].join(delimiter);
  for (const script of ['set-up-schema.sh', 'set-up-roles.sh']) await runScript(script, { ...ownerEnvironment, PATH });
}

async function runScript(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  await promisify(execFile)('sh', [join(DEPLOY, name)], { env, maxBuffer: 1 << 24 });
}

/** One try; in the containers `jobctl setup server` does it. */
async function makeNamespace(address: string, login?: TemporalLogin): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: '2s', ...login });
  try {
    await createNamespace(connection, DEV_NAMESPACE, DEFAULT_RETENTION_MS);
  } finally {
    await connection.close();
  }
  return answersCalls(address, DEV_NAMESPACE, undefined, login);
}
