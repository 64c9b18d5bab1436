import { resolve } from 'node:path';
import { shortPath } from '../../../terminal/print.js';
import {
  cachedCliPath,
  fillCache,
  PINNED_CLI_VERSION,
  executableOnPath,
  isExecutableFile,
  goInstall,
  type GoProgram,
  probeGo,
  ARCHIVE_SHA256,
  DOWNLOAD_URL,
  downloadCli,
  findArchive,
} from './executables.js';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isOlderVersion, JOB_SEARCH_ATTRIBUTES } from '../../../../domain/temporal-server.js';
import type { Connection } from '@temporalio/client';
import type { TemporalLogin } from '../../../../cloud/temporal/login-files.js';

/** The ways to a Temporal CLI, in the order they are tried. */
export const WAYS = ['JOBCTL_TEMPORAL_CLI', 'PATH', 'cache', 'download', 'go install'] as const;
export type Way = (typeof WAYS)[number];

export interface TemporalCli {
  /** Absolute path. */
  readonly path: string;
  /** Versions of the CLI and of the server inside, for people. */
  readonly version: string;
  readonly how: Way;
}

export interface ResolveOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called with one line for people at each decision and during long steps. */
  readonly onProgress?: (line: string) => void;
  readonly downloadUrl?: string;
  /** Hashes of the archives there, in the form of `ARCHIVE_SHA256`. */
  readonly hashes?: Readonly<Record<string, string>>;
  /** Time in ms that an address may be silent before the next way is tried. */
  readonly probeTimeoutMs?: number;
  readonly platform?: string;
  readonly arch?: string;
}

/** No way led to a Temporal CLI; the message names each way with its reason, and the remedy. */
export class NoTemporalCli extends Error {
  override readonly name = 'NoTemporalCli';
  readonly reasons: Readonly<Record<Way, string>>;

  constructor(reasons: Readonly<Record<Way, string>>) {
    const tried = WAYS.map((way) => `  ${way}: ${reasons[way]}`).join('\n');
    super(
      `No Temporal server: each way to the Temporal CLI was tried, none worked.\n${tried}\nWhat to do: install the CLI ` +
        '(https://docs.temporal.io/cli) and put it on PATH or name it in JOBCTL_TEMPORAL_CLI, or give the address of a server ' +
        'that runs: jobctl dev up --temporal-address HOST:PORT',
    );
    this.reasons = reasons;
  }
}

/** A way that is not set up here. It is listed in the final error, but not reported if another way works. */
class NotThere extends Error {}

type Context = Required<ResolveOptions>;

const PROBE_TIMEOUT_MS = 3_000;

/**
 * Finds or installs a Temporal CLI that runs on this machine and is new enough. If the address of a running server is configured,
 * the caller uses that and does not call this.
 * @throws NoTemporalCli
 */
export async function resolveTemporalCli(options: ResolveOptions = {}): Promise<TemporalCli> {
  const context: Context = {
    env: process.env,
    onProgress: () => undefined,
    downloadUrl: DOWNLOAD_URL,
    hashes: ARCHIVE_SHA256,
    probeTimeoutMs: PROBE_TIMEOUT_MS,
    platform: process.platform,
    arch: process.arch,
    ...options,
  };
  const reasons: Partial<Record<Way, string>> = {};
  for (const way of WAYS) {
    try {
      return await tryWay(way, context);
    } catch (err) {
      reasons[way] = (err as Error).message;
      if (!(err instanceof NotThere)) context.onProgress(`Temporal CLI by ${way}: ${reasons[way]}`);
    }
  }
  throw new NoTemporalCli(reasons as Record<Way, string>);
}

async function tryWay(way: Way, context: Context): Promise<TemporalCli> {
  const path = await PATH_BY_WAY[way](context);
  const { cli, server } = await checkTemporalCli(path);
  const found = { path, version: `${cli} (server ${server})`, how: way };
  context.onProgress(`Temporal CLI ${found.version} by ${way}: ${shortPath(path)}`);
  return found;
}

const CLI: GoProgram = {
  title: 'the Temporal CLI',
  module: 'github.com/temporalio/cli',
  version: PINNED_CLI_VERSION,
  command: 'cmd/temporal',
  executable: 'temporal',
  minutes: 3,
};

const PATH_BY_WAY: Readonly<Record<Way, (context: Context) => Promise<string>>> = {
  JOBCTL_TEMPORAL_CLI: ({ env }) => settle(() => configuredPath(env)),
  PATH: ({ env }) => settle(() => pathOnPath(env)),
  cache: ({ env }) => settle(() => existingCache(env)),
  download: async (context) => {
    const { downloadUrl: baseUrl, probeTimeoutMs, platform, arch, hashes, onProgress } = context;
    const archive = await findArchive({ baseUrl, probeTimeoutMs, platform, arch, hashes });
    return filled(context, (scratch) => downloadCli(archive, scratch, onProgress));
  },
  'go install': async (context) => {
    const { env, onProgress, probeTimeoutMs } = context;
    await probeGo(CLI, env, probeTimeoutMs);
    return filled(context, (scratch) => goInstall(CLI, env, scratch, onProgress));
  },
};

async function filled(context: Context, make: (scratch: string) => Promise<string>): Promise<string> {
  const path = cachedCliPath(context.env);
  const isUsable = (): Promise<boolean> =>
    checkTemporalCli(path).then(
      () => true,
      () => false,
    );
  const makeChecked = async (scratch: string): Promise<string> => {
    const made = await make(scratch);
    await checkTemporalCli(made);
    return made;
  };
  await fillCache(path, isUsable, makeChecked, context.onProgress);
  return path;
}

function configuredPath(env: Context['env']): string {
  const configured = env['JOBCTL_TEMPORAL_CLI'];
  if (configured === undefined || configured === '') throw new NotThere('not set');
  return resolve(configured);
}

function pathOnPath(env: Context['env']): string {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
  const found = executableOnPath(name, env);
  if (found === undefined) throw new NotThere('there is no `temporal` on PATH');
  return found;
}

function existingCache(env: Context['env']): string {
  const path = cachedCliPath(env);
  if (!isExecutableFile(path)) throw new NotThere(`${path} is not there yet`);
  return path;
}

/** Runs `find` so that its exceptions become rejections. */
async function settle(find: () => string): Promise<string> {
  return find();
}

/** Versions from `temporal --version`. */
interface TemporalVersion {
  /** Version of the CLI; `0.0.0-DEV` if `go install` built it. */
  readonly cli: string;
  /** Version of the server inside, which decides the features; undefined for a very old CLI. */
  readonly server: string | undefined;
}

/** The oldest server that we start ourselves, that of CLI 1.1: the first with the user metadata that the Web UI shows. */
const OLDEST_OWN_SERVER = '1.25.0';
const RUN_TIMEOUT_MS = 5_000;

/**
 * Runs `path --version`.
 * @throws Error with one line that gives the reason why this executable cannot be used
 */
async function checkTemporalCli(path: string): Promise<TemporalVersion> {
  const version = parseTemporalVersion(await versionOutput(path));
  if (version === undefined) throw new Error(`${path} --version does not print a version of the Temporal CLI`);
  const { server } = version;
  if (server === undefined || isOlderVersion(server, OLDEST_OWN_SERVER)) {
    const has = server === undefined ? 'has no server inside' : `has server ${server}`;
    throw new Error(
      `${path} is version ${version.cli} and ${has}; too old: server ${OLDEST_OWN_SERVER} (CLI 1.1) or later is needed`,
    );
  }
  return version;
}

/** Reads `temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)`. */
export function parseTemporalVersion(output: string): TemporalVersion | undefined {
  const cli = /temporal version (\S+)/.exec(output)?.[1];
  return cli === undefined ? undefined : { cli, server: /\(Server (\d+\.\d+\.\d+)/.exec(output)?.[1] };
}

async function versionOutput(path: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], {
      timeout: RUN_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    return stdout;
  } catch (err) {
    const { code, killed, stderr } = err as { code?: unknown; killed?: boolean; stderr?: string };
    if (killed === true)
      throw new Error(`${path} --version gave no answer in ${RUN_TIMEOUT_MS / 1000} s`, { cause: err });
    if (code === 'ENOENT') throw new Error(`${path} does not exist`, { cause: err });
    if (code === 'EACCES') throw new Error(`${path} is not executable`, { cause: err });
    const said = stderr?.trim().split('\n')[0];
    throw new Error(`${path} --version failed (${said === undefined || said === '' ? `exit ${String(code)}` : said})`, {
      cause: err,
    });
  }
}

export interface DevServerOptions {
  readonly port: number;
  readonly uiPort: number;
  /** The database file, created if missing. In memory, data can be lost while the server runs (docs/facts.md). */
  readonly databaseFile: string;
  /** Dynamic configuration beyond ours, such as `limit.historyCount.suggestContinueAsNew`: JSON values by key. */
  readonly dynamicConfig?: Readonly<Record<string, string | number | boolean>>;
}

const LOOPBACK = '127.0.0.1';
/** gRPC status code. */
const NOT_FOUND = 5;

/**
 * The server's default of 10 calls a second for listing and counting is too low for a list command beside a janitor
 * (docs/facts.md, "Temporal"). The namespace is reloaded every second, so that an added search attribute is usable soon. The new
 * matcher heeds the priorities of quota workflows (contract/quota.ts, quotaStart); server 1.29 does not use it by default.
 */
export const DYNAMIC_CONFIG = {
  'frontend.namespaceRPS.visibility': 200,
  'system.namespaceCacheRefreshInterval': '1s',
  'matching.useNewMatcher': true,
  'frontend.enableServerVersionCheck': false,
};

/** Arguments of the `temporal` executable for a dev server on loopback, with its Web UI. */
export function devServerArguments(options: DevServerOptions): readonly string[] {
  const dynamic = Object.entries({ ...DYNAMIC_CONFIG, ...options.dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', String(options.port), '--ui-port', String(options.uiPort)],
    ...['--log-level', 'warn'],
    ...databaseArguments(options.databaseFile),
    ...dynamic.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`]),
    // Only a new database takes these; `ensureSearchAttributes` adds the missing ones to an older one.
    ...JOB_SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ];
}

/** SQLite settings: three times the rate of the defaults, and a killed process loses nothing (docs/facts.md, "Temporal"). */
function databaseArguments(file: string): readonly string[] {
  return ['--db-filename', file, '--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'];
}

/** A task queue and a workflow that do not exist. */
const PROBED = 'jobctl-probe';
const ifThere = (error: { readonly code?: unknown }): void => {
  if (error.code !== NOT_FOUND) throw error;
};

/**
 * Tries once whether the server answers real calls, one for each of its services. Its health service reports ready before the
 * other services are, and after a kill its frontend answers long before it finds them (portsBefore in
 * ../guarded-server/guarded-part.ts).
 * @param login for a server that authenticates callers. A new one has no namespace yet and says so, which counts as an answer
 */
export async function answersCalls(
  address: string,
  namespace: string,
  timeoutMs = 2_000,
  login?: TemporalLogin,
): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    const temporal = await import('@temporalio/client');
    connection = await temporal.Connection.connect({ address, connectTimeout: timeoutMs, ...login });
    const { workflowService } = connection;
    await connection.withDeadline(Date.now() + timeoutMs, async () => {
      await workflowService.describeNamespace({ namespace });
      await workflowService.countWorkflowExecutions({ namespace });
      await workflowService.describeTaskQueue({ namespace, taskQueue: { name: PROBED } });
      await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: PROBED } }).catch(ifThere);
    });
    return true;
  } catch (error) {
    return login !== undefined && (error as { readonly code?: unknown }).code === NOT_FOUND;
  } finally {
    await connection?.close();
  }
}
