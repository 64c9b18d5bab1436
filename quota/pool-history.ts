import { chipsOfUnits } from '../domain/accelerators.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';
import { isSameProject } from './quota-config.js';
import type { QuotaLease } from './quota-config.js';

/** One line of a pool's history, with the fields of its kind. A quota workflow writes it (docs/adr/0019). */
export interface HistoryLine {
  readonly at: EpochMs;
  readonly kind:
    | ('granted' | 'chips' | 'lost-chips' | 'revoked' | 'freed' | 'applied' | 'admission' | 'priority')
    /** A person gave up waiting for slices of a lease. */
    | 'released'
    /** A request ended that was never granted. */
    | 'withdrawn';
  readonly job?: string;
  /** The lease's number; a job may have had several. */
  readonly lease?: number;
  readonly project?: string;
  readonly user?: string;
  readonly tier?: number;
  readonly units?: QuotaUnits;
  /** For `revoked`: the request that gets its chips. */
  readonly for?: string;
  readonly reason?: string;
  /** For `granted` and `withdrawn`: since when it waited. Absent: an earlier build wrote the line. */
  readonly since?: EpochMs;
  /** The user who applied, froze, released, or changed a priority. */
  readonly by?: string;
}

/** The history of one lease within a window of time. */
export interface LeaseStory {
  readonly job: string;
  readonly lease: number;
  readonly project: string;
  readonly user: string;
  readonly tier: number;
  readonly units: QuotaUnits;
  /** Absent: it was granted before the window. */
  readonly grantedAt?: EpochMs;
  /** Time for which the lease had its chips, in ms: from all of its slices ready until they were lost or seen gone. */
  readonly heldMs: number;
  /** Absent: it is still open, or `isEndUnknown`. */
  readonly freedAt?: EpochMs;
  /** The first preemption by quota. */
  readonly revokedAt?: EpochMs;
  /** The lease is no longer open, and no line tells its end. It counts until its last line. */
  readonly isEndUnknown?: true;
  /** The lease began before the window, and no line tells whether it had chips then. It counts as if it had. */
  readonly isStartAssumed?: true;
}

/** A stretch of time: `to` is now, or the end that the caller chose. */
export interface Window {
  readonly from: EpochMs;
  readonly to: EpochMs;
}

/** An open lease as it was published, with job and number instead of its id. */
export type OpenLease = Omit<QuotaLease, 'id'> & { readonly job: string; readonly number: number };

/**
 * The leases that existed within a window, oldest grant first.
 * @param lines in any order; lines outside the window are ignored
 * @param open leases that are open at `to`; undefined: not known, and then a lease without an end counts until `to`
 */
export function leaseStories(
  lines: readonly HistoryLine[],
  window: Window,
  open: readonly OpenLease[] | undefined,
): readonly LeaseStory[] {
  const isOpen = open && new Set(open.map(({ job, number }) => keyOf(job, number)));
  const byLease = new Map<string, HistoryLine[]>();
  for (const line of lines.toSorted((a, b) => a.at - b.at)) {
    if (line.job === undefined || line.lease === undefined || !TOLD_OF_LEASES.has(line.kind)) continue;
    if (line.at < window.from || line.at > window.to) continue;
    const key = keyOf(line.job, line.lease);
    const own = byLease.get(key);
    if (own) own.push(line);
    else byLease.set(key, [line]);
  }
  const told = [...byLease].map(([key, own]) => storyOf(own, window, isOpen?.has(key) ?? true));
  const silent = (open ?? []).filter(({ job, number }) => !byLease.has(keyOf(job, number)));
  const all = [...told, ...silent.map((lease) => silentStory(lease, window))];
  return all.toSorted(
    (a, b) => (a.grantedAt ?? 0) - (b.grantedAt ?? 0) || (keyOf(a.job, a.lease) < keyOf(b.job, b.lease) ? -1 : 1),
  );
}

const TOLD_OF_LEASES: ReadonlySet<HistoryLine['kind']> = new Set([
  'granted',
  'chips',
  'lost-chips',
  'revoked',
  'freed',
]);
const keyOf = (job: string, lease: number): string => `${job}/${lease}`;

/** @param lines of one lease, one or more, oldest first */
function storyOf(lines: readonly HistoryLine[], { from, to }: Window, isOpen: boolean): LeaseStory {
  const find = (kind: HistoryLine['kind']): HistoryLine | undefined => lines.find((line) => line.kind === kind);
  const [granted, freed, revoked] = [find('granted'), find('freed'), find('revoked')];
  const first = lines[0] as HistoryLine;
  const isFromBefore = granted === undefined && first.kind !== 'chips';
  const isEndUnknown = freed === undefined && !isOpen;
  let heldMs = 0;
  let since = isFromBefore ? from : undefined;
  for (const { kind, at } of lines) {
    if (kind === 'chips') since ??= at;
    if (kind !== 'lost-chips' && kind !== 'freed') continue;
    heldMs += since === undefined ? 0 : at - since;
    since = undefined;
  }
  const last = isEndUnknown ? (lines.at(-1)?.at ?? to) : to;
  if (since !== undefined) heldMs += Math.max(0, last - since);
  return {
    ...whose(lines),
    heldMs,
    ...(granted ? { grantedAt: granted.at } : {}),
    ...(freed ? { freedAt: freed.at } : {}),
    ...(revoked ? { revokedAt: revoked.at } : {}),
    ...(isEndUnknown ? { isEndUnknown } : {}),
    ...(isFromBefore && first.kind !== 'lost-chips' ? { isStartAssumed: true } : {}),
  };
}

/** Takes each field from the first line that has it, since any line may lack some. */
function whose(lines: readonly HistoryLine[]): Omit<LeaseStory, 'heldMs'> {
  const first = <Key extends keyof HistoryLine>(key: Key): HistoryLine[Key] | undefined =>
    lines.find((line) => line[key] !== undefined)?.[key];
  return {
    job: first('job') ?? '-',
    lease: first('lease') ?? 0,
    project: first('project') ?? '-',
    user: first('user') ?? '-',
    tier: first('tier') ?? 0,
    units: first('units') ?? {},
  };
}

/** The story of an open lease that has no line in the window. */
function silentStory(lease: OpenLease, { from, to }: Window): LeaseStory {
  const { job, number, project, user, tier, units, startedAt } = lease;
  const heldMs = lease.state === 'asking' ? 0 : Math.min(lease.heldMs ?? to - startedAt, to - from);
  const grantedAt = startedAt >= from ? { grantedAt: startedAt } : {};
  return { job, lease: number, project, user, tier, units, heldMs: Math.max(0, heldMs), ...grantedAt };
}

/** Usage of one type by one user of one project. */
export interface UsageRow {
  readonly project: string;
  readonly user: string;
  readonly type: string;
  readonly leases: number;
  /** Leases that were preempted by quota. */
  readonly preempted: number;
  readonly unitHours: number;
  /** Absent if the type is not a Cloud TPU type. */
  readonly chipHours?: number;
}

const HOUR_MS = 3_600_000;

/** One row per project, user and type, most chip-hours first. */
export function usageOf(stories: readonly LeaseStory[]): readonly UsageRow[] {
  const rows = new Map<string, { -readonly [Key in keyof UsageRow]: UsageRow[Key] }>();
  for (const { project, user, units, heldMs, revokedAt } of stories) {
    for (const [type, amount] of Object.entries(units)) {
      const key = JSON.stringify([project.toLowerCase(), user, type]);
      const row = rows.get(key) ?? { project, user, type, leases: 0, preempted: 0, unitHours: 0 };
      row.leases++;
      if (revokedAt !== undefined) row.preempted++;
      row.unitHours += (amount * heldMs) / HOUR_MS;
      rows.set(key, row);
    }
  }
  return [...rows.values()]
    .map((row) => {
      const chipHours = chipsOfUnits(row.type, row.unitHours);
      return { ...row, ...(chipHours === undefined ? {} : { chipHours }) };
    })
    .toSorted((a, b) => (b.chipHours ?? 0) - (a.chipHours ?? 0) || compare(a, b));
}

const compare = (a: UsageRow, b: UsageRow): number =>
  `${a.project}/${a.user}/${a.type}` < `${b.project}/${b.user}/${b.type}` ? -1 : 1;

/** Returns whether a line or a story belongs to this project and user. A filter that is absent matches all. */
export function isOf(
  wanted: { readonly project?: string | undefined; readonly user?: string | undefined },
  of: { readonly project?: string; readonly user?: string },
): boolean {
  const isProject =
    wanted.project === undefined || (of.project !== undefined && isSameProject(wanted.project, of.project));
  return isProject && (wanted.user === undefined || of.user === wanted.user);
}
