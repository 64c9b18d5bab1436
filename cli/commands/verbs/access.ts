import type { AuditLine } from '../../../contract/api/callers.js';
import { accessRows, auditLines } from '../../../client/http/access.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type ContextFlags, refuseStranger, resolveContext, type ServerPlace } from '../../place/context.js';
import { serverOptionsOf } from '../../place/login/server-access.js';
import { explainedBy } from '../../place/login/server-failures.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut } from '../../terminal/print.js';
import { renderTable } from '../../terminal/render/columns.js';

export interface ExplainFlags extends ContextFlags, OutputFlag {
  readonly job?: string;
  readonly project?: string;
  readonly verb?: string;
  readonly pool?: string;
}

/** Prints the rights of the caller, as the server decides them. */
export async function explain({ job, project, verb, pool, ...flags }: ExplainFlags): Promise<number> {
  const place = serverOf(flags, 'access explain');
  const about = defined({ job, project, verb, pool });
  const rows = await accessRows(serverOptionsOf(place), about).catch((error: unknown) =>
    Promise.reject(explainedBy(place, error)),
  );
  const shown = rows.map(({ verb: name, isAllowed, as, why }) => [name, isAllowed ? 'yes' : 'no', as ?? why ?? '']);
  print(flags, rows, ['VERB', 'ALLOWED', 'AS, OR WHY NOT'], shown);
  return ExitCode.Done;
}

export interface AuditLogFlags extends ContextFlags, OutputFlag {
  readonly user?: string;
  readonly job?: string;
  /** Milliseconds before now. */
  readonly since?: number;
  readonly limit?: number;
  readonly pool?: string;
}

/** Prints the audit log, for operators of the pool. */
export async function auditLog({ user, job, since, limit, pool, ...flags }: AuditLogFlags): Promise<number> {
  const place = serverOf(flags, 'audit log');
  const from = since === undefined ? undefined : Date.now() - since;
  const wish = defined({ user, job, since: from, limit, pool });
  const { lines, readFrom } = await auditLines(serverOptionsOf(place), wish).catch((error: unknown) =>
    Promise.reject(explainedBy(place, error)),
  );
  print(flags, lines, ['TIME', 'WHO', 'FROM', 'VERB', 'ON', 'DECISION', 'AS, OR WHY NOT'], lines.map(cellsOf));
  if (readFrom !== undefined)
    printErr(
      `not the whole log: lines before ${new Date(readFrom).toISOString()} were not read, because there are too many\n`,
    );
  return ExitCode.Done;
}

const cellsOf = ({ at, subject, from, verb, pool, project, job, decision, as, why }: AuditLine): readonly string[] => [
  new Date(at).toISOString(),
  subject,
  from,
  verb,
  job ?? (project === undefined ? `pool ${pool ?? '-'}` : `project ${project}`),
  decision,
  as ?? why ?? '',
];

function print(
  { output }: OutputFlag,
  values: readonly object[],
  title: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  printOut(
    output === 'json' ? `${JSON.stringify(values, null, 2)}\n` : `${renderTable([title, ...rows]).join('\n')}\n`,
  );
}

/** @throws CliError if the context names no server */
function serverOf(flags: ContextFlags, verb: string): ServerPlace {
  const context = resolveContext(flags);
  refuseStranger(context);
  if (context.server !== undefined) return context.server;
  throw new CliError(
    ExitCode.Usage,
    `jobctl ${verb}: ${context.place?.address ?? 'Temporal'} is a Temporal server, in trusted mode: it knows no users`,
    'a jobctl serve is named with --server URL, JOBCTL_SERVER, or a context that has one: `jobctl help where`',
  );
}

const defined = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
