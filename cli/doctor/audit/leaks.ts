import type { AuditedResource } from '../../../cloud/machines/audited-resource.js';
import { OWN_LABEL_PREFIX, ownershipFrom } from '../../../domain/identity.js';
import type { LeaseId } from '../../../domain/lease.js';
import { type EpochMs, count } from '../../../domain/units.js';
import { innermost } from '../../../client/temporal-calls.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { releaseRemedy } from '../../../quota/explanation/explain-words.js';
import { asTyped } from '../../terminal/print.js';
import { renderTable } from '../../terminal/render/columns.js';

/** Temporal's answer about a job, by id and first run. `unknown`: there is no such job (any more). `unanswered`: it gave none. */
export type JobFate =
  | { readonly kind: 'open' }
  | { readonly kind: 'closed'; readonly at: EpochMs }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unanswered' };

export interface HeldLease {
  readonly lease: LeaseId;
  /** `held` or `draining`. */
  readonly state: string;
  readonly slices: readonly string[];
  /** The last answer about each slice whose deletion does not end. Absent: every deletion ends. */
  readonly stuck?: readonly string[];
}

interface LeakedResource {
  readonly kind: AuditedResource['kind'];
  readonly name: string;
  /** Account at the provider; on Cloud TPU the Google project. */
  readonly account: string;
  readonly zone: string;
  readonly accelerator: string;
  readonly state: string;
  /** Milliseconds since its creation; absent if the cloud does not say. */
  readonly ageMs?: number;
  /** Absent if the labels do not say. */
  readonly job?: string;
  readonly why: string;
}

interface LeakedLease extends HeldLease {
  readonly why: string;
}

/** Key of a job's chain of runs. */
export const jobKey = (job: { readonly job: string; readonly run: string }): string => `${job.job}/${job.run}`;

/** Resources under this installation's owner label, whatever other labels they carry. */
export function ownResources(all: readonly AuditedResource[], owner: string): readonly AuditedResource[] {
  return all.filter(({ labels }) => labels[`${OWN_LABEL_PREFIX}owner`] === owner);
}

/** Resources of this installation without an open job. A job that closed less than `graceMs` ago may still be cleaning up. */
export function leakedResources(
  own: readonly AuditedResource[],
  fates: ReadonlyMap<string, JobFate>,
  now: EpochMs,
  graceMs: number,
): readonly LeakedResource[] {
  return own.flatMap(({ kind, name, account, zone, accelerator, state, labels, createTime }) => {
    const ownership = ownershipFrom(labels);
    const why = ownership
      ? leakReason(fates.get(jobKey(ownership)) ?? { kind: 'unknown' }, now, graceMs)
      : 'its labels name no job';
    if (why === undefined) return [];
    const ageMs = createTime === undefined ? Number.NaN : now - Date.parse(createTime);
    return [
      {
        ...{ kind, name, account, zone, accelerator, state, why },
        ...(Number.isNaN(ageMs) ? {} : { ageMs }),
        ...(ownership ? { job: ownership.job } : {}),
      },
    ];
  });
}

/** Leases that are counted for a job that has ended. */
export function leakedLeases(
  leases: readonly HeldLease[],
  fates: ReadonlyMap<string, JobFate>,
  now: EpochMs,
  graceMs: number,
): readonly LeakedLease[] {
  return leases.flatMap((held) => {
    const why = leakReason(fates.get(jobKey(held.lease)) ?? { kind: 'unknown' }, now, graceMs);
    return why === undefined ? [] : [{ ...held, why }];
  });
}

function leakReason(fate: JobFate, now: EpochMs, graceMs: number): string | undefined {
  if (fate.kind === 'open' || fate.kind === 'unanswered') return undefined;
  if (fate.kind === 'unknown') return 'Temporal knows no such job';
  const closedFor = now - fate.at;
  return closedFor <= graceMs ? undefined : `its job closed ${Math.floor(closedFor / 1000)} s ago`;
}

/** A part that an audit could not read, with the error and the remedy. */
export interface UnreadPart {
  readonly part: string;
  readonly answer: string;
  /** Absent if `answer` contains it. */
  readonly remedy?: string;
}

export function unreadPart(part: string, error: Error, remedy: string): UnreadPart {
  const cause = innermost(error).message;
  const message = error.message.replace(/^audit: /, '');
  const answer = error.message.includes(cause) ? message : `${message}: ${cause}`;
  // A refusal by Google that a person can end names the command itself (cloud/google-refusal.ts).
  return answer.includes('gcloud ') ? { part, answer } : { part, answer, remedy };
}

export interface AuditReport {
  readonly leaks: readonly LeakedResource[];
  readonly leases: readonly LeakedLease[];
  /** Parts that could not be read. Absent: the audit is complete. */
  readonly unread?: readonly UnreadPart[];
  /** Number of resources under this installation's owner label. `all` counts every listed resource. */
  readonly ours: number;
  readonly all: number;
}

const TITLES = ['KIND', 'NAME', 'ACCOUNT', 'ZONE', 'ACCELERATOR', 'STATE', 'AGE', 'JOB', 'WHY'];

export function renderAudit(report: AuditReport, accounts: readonly string[], width?: number): readonly string[] {
  const { leaks, leases, unread = [], ours, all } = report;
  const rows = leaks.map(({ kind, name, account, zone, accelerator, state, ageMs, job, why }) => [
    kind,
    name,
    account,
    zone,
    accelerator,
    state,
    ageMs === undefined ? '-' : formatDuration(ageMs),
    job ?? '-',
    why,
  ]);
  const leaseRows = leases.map(({ lease, state, slices, why }) => [
    `${lease.job} (lease ${lease.number}, pool ${lease.pool})`,
    state,
    slices.length === 0 ? '-' : slices.join(' '),
    why,
  ]);
  return [
    ...(rows.length > 0 ? renderTable([TITLES, ...rows], width) : []),
    ...(leaseRows.length > 0 ? renderTable([['LEASE', 'STATE', 'SLICES', 'WHY'], ...leaseRows], width) : []),
    ...remediesOf(report),
    ...unreadLines(unread),
    `${unread.length === 0 ? '' : 'NOT COMPLETE; so far '}${count(leaks.length, 'leak')}, ` +
      `${count(leases.length, 'lease')} without a job: ` +
      `${ours} of ${count(all, 'resource')} in ${accounts.join(', ')} are ours`,
  ];
}

/** Groups parts that have the same answer: a Temporal that does not answer would be reported for each job. */
function unreadLines(unread: readonly UnreadPart[]): readonly string[] {
  const byAnswer = new Map<string, string[]>();
  for (const { part, answer, remedy } of unread) {
    const said = [answer, remedy ?? []].flat().join('; ');
    byAnswer.set(said, [...(byAnswer.get(said) ?? []), part]);
  }
  return [...byAnswer].map(([said, parts]) => {
    const more = parts.length > MOST_NAMED ? `, and ${parts.length - MOST_NAMED} more` : '';
    return `not looked at: ${parts.slice(0, MOST_NAMED).join(', ')}${more}: ${asTyped(said)}`;
  });
}

const MOST_NAMED = 5;

/** The remedy for each kind of row. A lease whose slices are still being deleted is no leak yet: its line says why. */
function remediesOf({ leaks, leases }: AuditReport): readonly string[] {
  const draining = leases.filter(({ state }) => state === 'draining');
  const held = leases.length - draining.length;
  return [
    ...(leaks.length > 0
      ? [
          'the janitor deletes these at its next sweep, each 5 minutes; what is there after two of them, delete in the console',
        ]
      : []),
    ...draining.map(({ lease, stuck = [] }) => drainingRemedy(lease, stuck)),
    ...(held > 0 ? ['a lease that is held by a job that has ended: its pool takes it back within a minute'] : []),
  ];
}

function drainingRemedy({ job, pool }: LeakedLease['lease'], stuck: readonly string[]): string {
  const said =
    stuck.length > 0
      ? stuck.join('; ')
      : asTyped('its slices are still being deleted; `jobctl quota show` says when that does not end');
  return `lease of ${job}: ${said}. ${asTyped(releaseRemedy(job, pool))}`;
}
