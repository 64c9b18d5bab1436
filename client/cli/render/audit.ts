import { count } from '../../../domain/units.js';
import type { LeakedLease, LeakedResource } from '../audit/leaks.js';
import { formatDuration } from './quantities.js';
import { renderTable } from './columns.js';

export interface AuditReport {
  readonly leaks: readonly LeakedResource[];
  readonly leases: readonly LeakedLease[];
  /** Why the leases could not be read. */
  readonly leasesUnknown?: string;
  /** Resources that carry our owner label; all that there are. */
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
    ...(leasesUnknown === undefined ? [] : [`the leases could not be checked: ${leasesUnknown}`]),
    `${count(leaks.length, 'leak')}, ${count(leases.length, 'lease')} without a job: ` +
      `${ours} of ${count(all, 'resource')} in ${accounts.join(', ')} are ours`,
  ];
}
