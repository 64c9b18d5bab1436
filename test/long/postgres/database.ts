import { execFile } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../temporal-server.js';
import { until } from '../../until.js';
import { BackgroundProcess } from './process.js';

const run = promisify(execFile);
/** Those of docker-compose.yml, in a database on loopback that a test makes and removes. */
const ROLES = {
  owner: { user: 'temporal', password: 'not-a-secret' },
  /** It cannot change a table. */
  server: { user: 'temporal_server', password: "not'a'secret:{either}" },
} as const;
const { user: USER, password: PASSWORD } = ROLES.owner;
export type DatabaseRole = keyof typeof ROLES;
const START_TIMEOUT_MS = 60_000;

/** A real PostgreSQL with a data directory of its own, on loopback alone. It can be killed and started again on its data. */
export class PostgresDatabase {
  readonly port: number;
  readonly #directory: string;
  readonly #programs: string;
  readonly #account: Account;
  #process: BackgroundProcess | undefined;

  private constructor(directory: string, programs: string, account: Account, port: number) {
    this.#directory = directory;
    this.#programs = programs;
    this.#account = account;
    this.port = port;
  }

  /** `directory` is made, and every folder above it must be open to the account that the database runs as. */
  static async create(directory: string): Promise<PostgresDatabase> {
    const programs = findPrograms();
    const account = await unprivilegedAccount();
    mkdirSync(directory, { recursive: true });
    if (account.uid !== undefined && account.gid !== undefined) chownSync(directory, account.uid, account.gid);
    requireTraversable(directory, account);
    const database = new PostgresDatabase(directory, programs, account, await freePort());
    await database.#initialize();
    await database.start();
    return database;
  }

  /** The environment of the scripts of deploy/temporal, which work as the databases' owner; psql is on its PATH. */
  get ownerEnvironment(): Readonly<Record<string, string>> {
    return {
      ...this.#address,
      POSTGRES_USER: USER,
      POSTGRES_PASSWORD: PASSWORD,
      POSTGRES_SERVER_USER: ROLES.server.user,
      POSTGRES_SERVER_PASSWORD: ROLES.server.password,
      PATH: [this.#programs, process.env['PATH']].join(delimiter),
    };
  }

  /** The environment of the Temporal server. */
  get serverEnvironment(): Readonly<Record<string, string>> {
    return { ...this.#address, POSTGRES_USER: ROLES.server.user, POSTGRES_PASSWORD: ROLES.server.password };
  }

  get #address(): Readonly<Record<string, string>> {
    return { POSTGRES_HOST: '127.0.0.1', POSTGRES_PORT: String(this.port) };
  }

  get pid(): number {
    return (this.#process as BackgroundProcess).pid;
  }

  /** Returns when it answers queries. One that was just killed may refuse for seconds: its lock file, its recovery. */
  async start(): Promise<void> {
    await until('PostgreSQL answers', () => this.#answersWithin(START_TIMEOUT_MS), START_TIMEOUT_MS);
  }

  /** kill -9 to every process of it. */
  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** SIGINT: connections are cut, what was committed is written. */
  async stop(): Promise<void> {
    await this.#process?.stop('SIGINT', 10_000);
  }

  /** What psql prints: a line a row, columns parted by `|`. */
  async sql(query: string, database = 'temporal', as: DatabaseRole = 'owner'): Promise<string> {
    const { user, password } = ROLES[as];
    const args = ['-h', '127.0.0.1', '-p', String(this.port), '-U', user, '-d', database];
    const env = { ...process.env, PGPASSWORD: password, PGCONNECT_TIMEOUT: '5' };
    const psql = join(this.#programs, 'psql');
    const { stdout } = await run(psql, [...args, '-XAtq', '-v', 'ON_ERROR_STOP=1', '-c', query], {
      env,
      maxBuffer: 1 << 30,
    });
    return stdout.trimEnd();
  }

  /** pg_dump while it runs: one moment of that database. */
  async dump(database: string, file: string): Promise<void> {
    await this.#tool('pg_dump', '-Fc', '-f', file, database);
  }

  /** What `dump` wrote, in place of what is there. Whoever is connected is cut off. */
  async restore(database: string, file: string): Promise<void> {
    await this.#tool('dropdb', '--force', database);
    await this.#tool('createdb', database);
    await this.#tool('pg_restore', '--exit-on-error', '-d', database, file);
  }

  async #tool(name: string, ...args: readonly string[]): Promise<void> {
    const env = { ...process.env, PGHOST: '127.0.0.1', PGPORT: String(this.port), PGUSER: USER, PGPASSWORD: PASSWORD };
    await run(join(this.#programs, name), [...args], { env, maxBuffer: 1 << 24 });
  }

  async #initialize(): Promise<void> {
    const passwordFile = join(dirname(this.#directory), 'database-password');
    writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
    const args = ['-D', this.#directory, '-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8'];
    await run(join(this.#programs, 'initdb'), [...args, '--locale=C'], { ...this.#account, cwd: '/' });
  }

  async #answersWithin(withinMs: number): Promise<boolean> {
    const started = (this.#process ??= this.#launch());
    if (!started.isRunning) {
      this.#process = this.#launch();
      throw new Error(`PostgreSQL ended:\n${started.tail()}`);
    }
    await this.sql(`SET statement_timeout = ${withinMs}; SELECT 1`, 'postgres');
    return true;
  }

  #launch(): BackgroundProcess {
    const settings = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      // As in docker-compose.yml: PostgreSQL's own default, said here since a test of crashes would be void without it.
      fsync: 'on',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const logFile = join(dirname(this.#directory), 'postgres.log');
    return BackgroundProcess.start(join(this.#programs, 'postgres'), ['-D', this.#directory, ...args], {
      ...this.#account,
      logFile,
    });
  }
}

interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** Debian keeps one folder a version, off the PATH. @throws Error that says what to install */
function findPrograms(): string {
  const versions = '/usr/lib/postgresql';
  const installed = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...installed.map((version) => join(versions, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  const folder = folders.find((path) => ['initdb', 'postgres', 'psql'].every((name) => existsSync(join(path, name))));
  if (folder === undefined) {
    throw new Error('PostgreSQL is not installed: no initdb, postgres and psql; on Debian: apt-get install postgresql');
  }
  return folder;
}

/** PostgreSQL refuses to run as root: then Debian's own account, or nobody's. */
async function unprivilegedAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => (await run('id', [flag, name])).stdout));
      return { uid: Number(uid), gid: Number(gid) };
    } catch {
      // No such account: the next.
    }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is neither an account `postgres` nor `nobody`');
}

/** mkdtemp makes folders that only their owner may enter: ours is opened, those of others are named. */
function requireTraversable(directory: string, { uid }: Account): void {
  if (uid === undefined) return;
  chmodSync(dirname(directory), statSync(dirname(directory)).mode | 0o011);
  for (let path = dirname(directory); path !== '/'; path = dirname(path)) {
    if ((statSync(path).mode & 0o001) === 0)
      throw new Error(`${path}: user ${uid}, which PostgreSQL runs as, may not enter it; chmod o+x, or another TMPDIR`);
  }
}
