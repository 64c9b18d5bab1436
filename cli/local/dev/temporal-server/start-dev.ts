import type { Connection } from '@temporalio/client';
import type { TemporalLogin } from '../../../../cloud/temporal/login-files.js';
import { JOB_SEARCH_ATTRIBUTES } from '../../../../domain/temporal-server.js';

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
