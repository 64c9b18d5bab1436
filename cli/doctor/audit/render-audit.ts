import { count } from '../../../domain/units.js';
import type { LeakedLease, LeakedResource } from './leaks.js';
import type { UnreadPart } from './unread.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { releaseRemedy } from '../../../quota/explanation/stuck-slices.js';
import { asTyped } from '../../terminal/print.js';
import { renderTable } from '../../terminal/render/columns.js';

export interface AuditReport {
  readonly leaks: readonly LeakedResource[];
  readonly leases: readonly LeakedLease[];
  /** Parts that were not looked at, and why. Absent: all parts were. */
  readonly unread?: readonly UnreadPart[];
  /** Resources that carry our owner label; all that there are. */
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

/** Parts with one answer stand together: a Temporal that does not answer says so of each job. */
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

/** The remedy for each kind of row. Slices that are deleted still are no leak yet: the lease says why it waits. */
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
