import { count, type EpochMs, formatUnits } from '../../../domain/units.js';
import {
  type HistoryLine,
  isOf,
  type LeaseStory,
  leaseStories,
  usageOf,
  type Window,
  type UsageRow,
} from '../../../quota/pool-history.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { openLease, readPoolHistory, readPoolState } from '../../../client/pool-state.js';
import { openReader } from '../../place/connect.js';
import { type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { formatDuration, utcMinute } from '../../terminal/render/quantities.js';
import { terminalWidth, oneLine, renderTable } from '../../terminal/render/columns.js';
import { printOut } from '../../terminal/print.js';

export interface QuotaHistoryFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  /** Milliseconds. */
  readonly since: number;
  readonly project?: string;
  readonly user?: string;
  readonly limit: number;
}

/** Shows a pool's history. It reads only the bucket: no server is asked. */
export async function quotaHistory(flags: QuotaHistoryFlags): Promise<number> {
  const { pool, since, output, limit } = flags;
  const store = await openReader(storeOf(resolveContext(flags), `there is no history of pool '${pool}'`));
  const to = Date.now();
  const window = { from: Math.max(0, to - since), to };
  const state = await readPoolState(store, pool);
  const { lines, unreadable } = await readPoolHistory(store, pool, window.from, state?.unstored);
  const told = toldOf(pool, window, lines, state, flags);
  const gaps = [...gapsOf(told.leases, state), ...(unreadable === 0 ? [] : [unreadableGap(unreadable)])];
  const whole: ToldHistory = { ...told, gaps };
  const width = terminalWidth(process.stdout);
  const text = output === 'json' ? JSON.stringify(whole, null, 2) : renderHistory(whole, limit, width).join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}

function toldOf(
  pool: string,
  window: Window,
  lines: readonly HistoryLine[],
  state: PoolSnapshot | undefined,
  wanted: Pick<QuotaHistoryFlags, 'project' | 'user'>,
): Omit<ToldHistory, 'gaps'> {
  const leases = leaseStories(lines, window, state?.view.leases.map(openLease)).filter((story) => isOf(wanted, story));
  const isFiltered = wanted.project !== undefined || wanted.user !== undefined;
  const calls = lines
    .filter(({ kind }) => CALLS.has(kind))
    .filter((line) => !isFiltered || isOf(wanted, line))
    .toSorted((a, b) => a.at - b.at);
  return { pool, window, leases, usage: usageOf(leases), calls };
}

const CALLS: ReadonlySet<HistoryLine['kind']> = new Set(['applied', 'admission', 'priority', 'released']);

function gapsOf(leases: readonly LeaseStory[], state: PoolSnapshot | undefined): readonly string[] {
  const open = leases.filter(({ freedAt, isEndUnknown }) => freedAt === undefined && !isEndUnknown).length;
  const assumed = leases.filter(({ isStartAssumed }) => isStartAssumed).length;
  const unended = leases.filter(({ isEndUnknown }) => isEndUnknown).length;
  const told: readonly (readonly [boolean, string])[] = [
    [open > 0, `${count(open, 'lease')} not ended: counted until now`],
    [assumed > 0, `${count(assumed, 'lease')} from before: counted as if it had its chips when the time begins`],
    [
      unended > 0,
      `${count(unended, 'lease')} open no more whose end is not told (its line was lost): counted until what is told last`,
    ],
    [state === undefined, 'the pool has published no state: which leases are open now is not known'],
  ];
  const age = state === undefined ? [] : [`open leases are as of ${formatDuration(Date.now() - state.at)} ago`];
  return [...told.flatMap(([applies, sentence]) => (applies ? [sentence] : [])), ...(open > 0 ? age : [])];
}

const unreadableGap = (number: number): string =>
  `${count(number, 'line')} could not be read: damaged, or written by another version of jobctl`;

/** A pool's history within a window of time, as `jobctl quota history` shows it. */
export interface ToldHistory {
  readonly pool: string;
  readonly window: Window;
  /** All leases, oldest first. */
  readonly leases: readonly LeaseStory[];
  readonly usage: readonly UsageRow[];
  /** Actions of people: files applied, admission set, priorities changed, leases released; oldest first. */
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
