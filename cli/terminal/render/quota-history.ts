import { count, type EpochMs, formatUnits } from '../../../domain/units.js';
import type { HistoryLine, LeaseStory, UsageRow, Window } from '../../../quota/pool-history.js';
import { formatDuration, utcMinute } from './quantities.js';
import { oneLine, renderTable } from './columns.js';

/** Facts of `jobctl quota history` about a window. */
export interface ToldHistory {
  readonly pool: string;
  readonly window: Window;
  /** All leases, oldest first. */
  readonly leases: readonly LeaseStory[];
  readonly usage: readonly UsageRow[];
  /** Actions of people: files applied, admission, priorities, leases released; oldest first. */
  readonly calls: readonly HistoryLine[];
  /** Limits of the answer, one sentence each. */
  readonly gaps: readonly string[];
}

/** @param limit most rows of leases, the latest ones */
export function renderHistory(told: ToldHistory, limit: number, width?: number): readonly string[] {
  const { pool, window, leases, usage, calls, gaps } = told;
  const hidden = Math.max(0, leases.length - limit);
  return [
    `pool ${pool}, ${utcMinute(window.from)} to ${utcMinute(window.to)} UTC: ${count(leases.length, 'lease')}`,
    ...(leases.length === 0 ? [] : ['', ...leaseTable(leases.slice(-limit), window.to)]),
    ...(hidden > 0 ? [`  .. ${count(hidden, 'lease')} before: --limit shows more`] : []),
    ...(usage.length === 0 ? [] : ['', ...usageTable(usage)]),
    ...(calls.length === 0 ? [] : ['', ...callTable(calls, width)]),
    ...(gaps.length === 0 ? [] : ['', ...gaps.map((gap) => `  ${gap}`)]),
  ];
}

function leaseTable(leases: readonly LeaseStory[], now: EpochMs): readonly string[] {
  const rows = leases.map((story) => [
    `  ${story.grantedAt === undefined ? 'before' : utcMinute(story.grantedAt)}`,
    story.job,
    story.project,
    story.user,
    formatUnits(story.units),
    String(story.tier + 1),
    formatDuration(story.heldMs),
    endOf(story, now),
  ]);
  return renderTable([['  GRANTED (UTC)', 'JOB', 'PROJECT', 'USER', 'UNITS', 'TIER', 'HELD', 'END (UTC)'], ...rows]);
}

function endOf({ freedAt, revokedAt, isEndUnknown }: LeaseStory, now: EpochMs): string {
  const revoked = revokedAt === undefined ? '' : ', preempted by quota';
  if (freedAt !== undefined) return `${utcMinute(freedAt)}${revoked}`;
  if (isEndUnknown) return `not told${revoked}`;
  return revokedAt === undefined ? '-' : `asked back ${formatDuration(now - revokedAt)} ago`;
}

function usageTable(usage: readonly UsageRow[]): readonly string[] {
  const rows = usage.map(({ project, user, type, leases, preempted, unitHours, chipHours }) => [
    `  ${project}`,
    user,
    type,
    String(leases),
    String(preempted),
    hours(unitHours),
    chipHours === undefined ? '-' : hours(chipHours),
  ]);
  return renderTable([['  PROJECT', 'USER', 'TYPE', 'LEASES', 'PREEMPTED', 'UNIT-HOURS', 'CHIP-HOURS'], ...rows]);
}

/** Formats hours with about three significant digits. */
const hours = (value: number): string => value.toFixed(value >= 100 ? 0 : value >= 1 ? 1 : 3);

function callTable(calls: readonly HistoryLine[], width: number | undefined): readonly string[] {
  const rows = calls.map(({ at, by, kind, job, reason }) => [
    `  ${utcMinute(at)}`,
    by ?? '-',
    kind,
    oneLine([job, reason].filter((part) => part !== undefined).join(': ')),
  ]);
  return renderTable([['  AT (UTC)', 'BY', 'CALL', 'WHAT'], ...rows], width);
}
