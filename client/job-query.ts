import { SUFFIX_PATTERN } from '../domain/identity.js';
import { JobPhase } from '../domain/job-state.js';
import { type JobSearchAttribute, OWN_ID_PREFIXES, REFUSED_PHASE, queryText } from '../domain/temporal-server.js';
import type { EpochMs } from '../domain/units.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { type JobRow, type ShownPhase, rowOf } from './job-rows.js';
import type { TemporalAccess } from './job-executions.js';

export interface JobFilter {
  readonly project?: string;
  readonly user?: string;
  readonly pool?: string;
  /** Members of the group of this id, in all rounds. */
  readonly group?: string;
  /** The phase as rows show it; with several phases, any of them. */
  readonly phase?: ShownPhase | readonly ShownPhase[];
  /** Pattern for ids: `*` for any text, `?` for one character. Without them: the id itself, or this name with a random suffix. */
  readonly name?: string;
  readonly ids?: readonly string[];
  /** Matches jobs that were submitted or ended at this time or later. */
  readonly since?: EpochMs;
  /** Matches jobs that are open, or that ended at this time or later. */
  readonly endedSince?: EpochMs;
  readonly state?: 'open' | 'ended';
}

/** Phases of open jobs. Ended jobs have the other three phases, or Temporal's `terminated`. */
const OPEN_PHASES: ReadonlySet<ShownPhase> = new Set<ShownPhase>(
  Object.values(JobPhase).filter((phase) => !['succeeded', 'failed', 'cancelled'].includes(phase)),
);
const IS_OPEN = "ExecutionStatus = 'Running'";
const HAS_ENDED = "ExecutionStatus != 'Running'";
/** `ExecutionStatus` for each way to end. The phase that the job itself set takes precedence. */
const STATUSES: Readonly<Partial<Record<ShownPhase, readonly string[]>>> = {
  succeeded: ['Completed'],
  failed: ['Failed'],
  cancelled: ['Canceled'],
  terminated: ['Terminated', 'TimedOut'],
};

/**
 * The visibility query of a filter. It uses only features that every visibility store of Temporal supports: SQLite, PostgreSQL
 * and MySQL refuse ORDER BY and can group by status only. If the query is wider than the filter, `matches` decides
 * (docs/adr/0060).
 */
export function queryOf(filter: JobFilter, type: 'job' | 'group' = WorkflowType.Job): string {
  const { project, user, pool, group, name, ids, since, endedSince, state } = filter;
  const wanted: [JobSearchAttribute, string | undefined][] = [
    ['JobProject', project],
    ['JobUser', user],
    ['JobPool', pool],
    ['JobGroup', group],
  ];
  const namespace = type === WorkflowType.Group ? OWN_ID_PREFIXES.group : '';
  const prefix = name === undefined ? '' : literalPrefix(name);
  return [
    `WorkflowType = '${type}'`,
    // Excludes earlier runs of a job: they are not jobs.
    "ExecutionStatus != 'ContinuedAsNew'",
    ...wanted.flatMap(([attribute, value]) => (value === undefined ? [] : [`${attribute} = ${queryText(value)}`])),
    ...(prefix === '' ? [] : [`WorkflowId STARTS_WITH ${queryText(`${namespace}${prefix}`)}`]),
    // A refused submission is not a job: it is shown only to callers that name it.
    ...(ids === undefined
      ? [`(JobPhase IS NULL OR JobPhase != '${REFUSED_PHASE}')`]
      : [`WorkflowId IN (${list(ids)})`]),
    ...(state === undefined ? [] : [state === 'open' ? IS_OPEN : HAS_ENDED]),
    // SQL stores compare an open workflow's missing CloseTime as if it were in the far future.
    ...(since === undefined ? [] : [`(StartTime >= ${time(since)} OR (${HAS_ENDED} AND CloseTime >= ${time(since)}))`]),
    ...(endedSince === undefined ? [] : [`(${IS_OPEN} OR CloseTime >= ${time(endedSince)})`]),
    ...phaseClauses(phasesOf(filter)),
  ].join(' AND ');
}

/** The phases that a filter allows; undefined: any. */
const phasesOf = ({ phase }: JobFilter): readonly ShownPhase[] | undefined =>
  phase === undefined || typeof phase !== 'string' ? phase : [phase];

function phaseClauses(phases: readonly ShownPhase[] | undefined): readonly string[] {
  if (phases === undefined) return [];
  const open = phases.filter((phase) => OPEN_PHASES.has(phase));
  const ended = phases.filter((phase) => !OPEN_PHASES.has(phase));
  const statuses = ended.flatMap((phase) => STATUSES[phase] ?? []);
  const parts = [
    ...(open.length === 0 ? [] : [`(${IS_OPEN} AND JobPhase IN (${list(open)}))`]),
    // A job that no worker has accepted may have no attributes: another service started it.
    ...(open.includes('queued') ? [`(${IS_OPEN} AND JobPhase IS NULL)`] : []),
    ...(ended.length === 0 ? [] : [`JobPhase IN (${list(ended)})`, `ExecutionStatus IN (${list(statuses)})`]),
  ];
  return [`(${parts.join(' OR ')})`];
}

/** Returns whether a row that the query found matches the filter. */
export function matches(
  filter: JobFilter,
  { id, phase }: Pick<JobRow, 'id'> & Partial<Pick<JobRow, 'phase'>>,
): boolean {
  const { name } = filter;
  if (name !== undefined && !isMeant(name, id)) return false;
  return phase === undefined || (phasesOf(filter)?.includes(phase) ?? true);
}

/** Returns whether the server's counts are exact: the query alone decides which names match. */
export const isCountable = ({ name }: JobFilter): boolean => name === undefined || /^[^*?]*\*$/.test(name);

const literalPrefix = (name: string): string => /^[^*?]*/.exec(name)?.[0] ?? '';

const SUFFIX = new RegExp(`^${SUFFIX_PATTERN}$`);

/** Returns whether `name` means this id. Without `*` and `?` a name means itself, and itself with a random suffix. */
function isMeant(name: string, id: string): boolean {
  if (/[*?]/.test(name)) return matchesGlob(name, id);
  return id.startsWith(name) && (id.length === name.length || SUFFIX.test(id.slice(name.length)));
}

/**
 * Returns whether the whole `text` matches: `*` stands for any characters, `?` for one. This is no regular expression, because
 * one with `.*` for each `*` backtracks: 60 stars and ten letters take days. Here only the last `*` is retried, so the number of
 * steps is at most the product of both lengths.
 * @param look is called for each comparison of two characters
 */
export function matchesGlob(pattern: string, text: string, look: () => void = () => undefined): boolean {
  let [at, star, resume] = [0, -1, 0];
  for (let i = 0; i < text.length;) {
    look();
    const wanted = pattern[at];
    if (wanted === '*') [star, resume] = [at++, i];
    else if (wanted === '?' || wanted === text[i]) [at, i] = [at + 1, i + 1];
    else if (star === -1) return false;
    // The star takes one more character.
    else [at, i] = [star + 1, ++resume];
  }
  return /^\**$/.test(pattern.slice(at));
}

const list = (values: readonly string[]): string => values.map(queryText).join(', ');
const time = (at: EpochMs): string => queryText(new Date(at).toISOString());

type Finding = Pick<TemporalAccess, 'temporal' | 'calls'>;

/** The most rows that Temporal returns in one call. */
export const PAGE = 1_000;

export interface JobCounts {
  readonly total: number;
  readonly open: number;
  /** Counts of ended jobs by the status of their workflows; phases without jobs are absent. */
  readonly ended: Readonly<Partial<Record<ShownPhase, number>>>;
}

/** Rows in Temporal's order: open jobs, newest first, then ended jobs, latest end first. Each id once, with its last run. */
export async function findJobs(
  { temporal, calls }: Finding,
  filter: JobFilter,
  most = Infinity,
): Promise<readonly JobRow[]> {
  if (most <= 0 || filter.ids?.length === 0) return [];
  const query = queryOf(filter);
  const found = temporal.workflow.list({ query, pageSize: Math.min(most, PAGE) })[Symbol.asyncIterator]();
  const rows = new Map<string, JobRow>();
  while (rows.size < most) {
    // Most rows are already loaded; each page has a separate deadline.
    const next = await calls.bounded(() => found.next());
    if (next.done === true) break;
    const execution = next.value;
    // An operator's reset leaves the run before it behind, closed.
    if (rows.has(execution.workflowId)) continue;
    const row = rowOf(execution);
    if (matches(filter, row)) rows.set(row.id, row);
  }
  return [...rows.values()];
}

export async function countJobs({ temporal, calls }: Finding, filter: JobFilter): Promise<JobCounts> {
  if (filter.ids?.length === 0) return { total: 0, open: 0, ended: {} };
  const query = `${queryOf(filter)} GROUP BY ExecutionStatus`;
  const { count: total, groups } = await calls.bounded(() => temporal.workflow.count(query));
  const ended: Partial<Record<ShownPhase, number>> = {};
  let open = 0;
  for (const { count, groupValues } of groups) {
    const phase = ENDS[String(groupValues[0])];
    if (phase === undefined) open += count;
    else ended[phase] = (ended[phase] ?? 0) + count;
  }
  return { total, open, ended };
}

const ENDS: Readonly<Record<string, ShownPhase>> = {
  Completed: 'succeeded',
  Failed: 'failed',
  Canceled: 'cancelled',
  Terminated: 'terminated',
  TimedOut: 'terminated',
};
