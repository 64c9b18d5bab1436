import { count } from '../../../domain/units.js';
import type { LeakedLease, LeakedResource } from '../audit/leaks.js';
import { formatDuration } from './quantities.js';
import { releaseRemedy } from '../../../quota/explanation/stuck-slices.js';
import { asTyped } from '../typed-command.js';
import { renderTable } from './columns.js';

export interface AuditReport {
  readonly leaks: readonly LeakedResource[];
  readonly leases: readonly LeakedLease[];
  /** The reason why the leases could not be read. */
  readonly leasesUnknown?: string;
  /** Accounts that could not be listed, with the reason. Absent: all were listed. */
  readonly unlisted?: readonly string[];
  /** Number of resources that carry our owner label, and of all resources. */
  readonly ours: number;
  readonly all: number;
}

const TITLES = ['KIND', 'NAME', 'ACCOUNT', 'ZONE', 'ACCELERATOR', 'STATE', 'AGE', 'JOB', 'WHY'];

export function renderAudit(report: AuditReport, accounts: readonly string[], width?: number): readonly string[] {
  const { leaks, leases, leasesUnknown, ours, all } = report;
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
    ...(report.unlisted ?? []).map((text) => `not listed, so what is there is not known: ${text}`),
    ...(leasesUnknown === undefined ? [] : [`the leases could not be checked: ${leasesUnknown}`]),
    `${count(leaks.length, 'leak')}, ${count(leases.length, 'lease')} without a job: ` +
      `${ours} of ${count(all, 'resource')} in ${accounts.join(', ')} are ours`,
  ];
}

/** Remedies for each kind of row. Slices still in deletion are no leak yet: the lease says why it waits. */
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
