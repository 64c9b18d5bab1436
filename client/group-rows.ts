import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { GroupMemo } from '../contract/group.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import type { GroupCounts } from '../domain/array/group-state.js';
import { type JobSearchAttribute, OWN_ID_PREFIXES } from '../domain/temporal-server.js';
import type { EpochMs } from '../domain/units.js';
import type { TemporalAccess } from './job-executions.js';
import { type JobFilter, matches, PAGE, queryOf } from './job-query.js';
import { readableMemo } from './job-rows.js';

/** A group as Temporal shows it: needs no worker. A list of them costs one call. */
export interface GroupRow {
  readonly id: string;
  readonly name: string;
  readonly user: string;
  readonly project: string;
  readonly pool: string;
  readonly members: number;
  readonly submittedAt: EpochMs;
  /** Absent: members wait or are open. */
  readonly endedAt?: EpochMs;
  /** Members by their state, as the group last told. Absent: no worker has taken it yet, or a key is missing. */
  readonly counts?: GroupCounts;
  /** Others that it waits for before it starts a member, as in `prep-7f3k to succeed`. Absent: none. */
  readonly awaited?: string;
  /** The person who stopped it: no member begins. Absent: nobody has. */
  readonly stopped?: string;
  /** It was ended in Temporal from outside, or its input was refused: it left no state. Absent: neither. */
  readonly end?: 'terminated' | 'refused';
}

type KeyOfGroups = 'project' | 'user' | 'pool' | 'group' | 'name' | 'since' | 'endedSince';
/** The keys of a filter of jobs that a group has too. One that is undefined filters nothing. */
export type GroupFilter = { readonly [Key in KeyOfGroups]?: JobFilter[Key] | undefined };

/** Groups in Temporal's order: open ones first, the newest before, then those that ended last. Each id once, with its last run. */
export async function findGroups(
  { temporal, calls }: Pick<TemporalAccess, 'temporal' | 'calls'>,
  { project, user, pool, group, name, since, endedSince }: GroupFilter,
  most: number,
): Promise<readonly GroupRow[]> {
  const given = Object.entries({ project, user, pool, group, name, since, endedSince });
  const filter: JobFilter = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  const query = queryOf(filter, WorkflowType.Group);
  const found = temporal.workflow.list({ query, pageSize: Math.min(most, PAGE) })[Symbol.asyncIterator]();
  const rows = new Map<string, GroupRow>();
  while (rows.size < most) {
    const next = await calls.bounded(() => found.next());
    if (next.done === true) break;
    const row = groupRowOf(next.value);
    // A retry of a group that has ended is another run of it, and a reset leaves the run before it behind.
    if (!rows.has(row.id) && matches(filter, { id: row.id })) rows.set(row.id, row);
  }
  return [...rows.values()];
}

/** A group as Temporal lists or describes it. */
export function groupRowOf(execution: Omit<WorkflowExecutionInfo, 'raw'>): GroupRow {
  const { workflowId, searchAttributes, status, startTime, closeTime } = execution;
  const id = workflowId.slice(OWN_ID_PREFIXES.group.length);
  const attribute = (name: JobSearchAttribute): string => String(searchAttributes[name]?.[0] ?? '-');
  const memo: Partial<GroupMemo> = readableMemo(execution.memo ?? {}).memo;
  const { name = id, members = 0, counts, awaited = '', stopped = '' } = memo;
  const end = ENDS[status.name];
  return {
    ...{ id, name, members, submittedAt: startTime.getTime() },
    ...{ user: attribute('JobUser'), project: attribute('JobProject'), pool: attribute('JobPool') },
    ...(closeTime ? { endedAt: closeTime.getTime() } : {}),
    ...(counts === undefined ? {} : { counts }),
    // One that was ended from outside has the memo of its wait.
    ...(awaited === '' || closeTime ? {} : { awaited }),
    ...(stopped === '' || closeTime ? {} : { stopped }),
    ...(end === undefined ? {} : { end }),
  };
}

const ENDS: Readonly<Record<string, GroupRow['end']>> = {
  TERMINATED: 'terminated',
  TIMED_OUT: 'terminated',
  FAILED: 'refused',
};
