import { leaseKey } from '../../domain/lease.js';
import { addUnits, type EpochMs, type QuotaUnits } from '../../domain/units.js';
import { inLine } from '../../quota/explain.js';
import type { QuotaConfig, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import { formatUnits, subtractUnits } from '../../quota/quota-units.js';
import { codeTable, count, joinBlocks, plain, utc } from '../markdown.js';
import type { LeaseRow } from './lease-book.js';

/** A pool after a decision. */
export interface PoolInView {
  readonly pool: string;
  /** Absent: no file could be read yet. */
  readonly config?: QuotaConfig;
  /** What is wrong with the file. */
  readonly problem?: string;
  readonly leased: readonly LeaseRow[];
  readonly waiting: readonly LeaseRow[];
  readonly at: EpochMs;
}

const MOST_WAITING = 20;
const MOST_LEASES = 10;

/**
 * A pool as the Temporal Web UI shows it under Current Details: units in use and free, the file in force, who is first in
 * line, who holds what. Its cost is one sort of those who wait, as a decision's is; the quota workflow bounds how often.
 */
export function poolDetails(view: PoolInView): string {
  return joinBlocks(
    [headline(view), file(view), waitingTable(view), leaseTable(view)],
    'There is more: the query `state` has all leases',
  );
}

function headline({ pool, config, leased, waiting, at }: PoolInView): string {
  const used = leased.reduce<QuotaUnits>((sum, { demand }) => addUnits(sum, demand.units), {});
  const inUse = `${formatUnits(used)} in use`;
  const units =
    config?.kind === 'limited'
      ? `${inUse}, ${formatUnits(subtractUnits(total(config), used))} free of ${formatUnits(total(config))}`
      : inUse;
  return `**pool ${plain(pool, 60)}:** ${units}; ${count(leased.length, 'lease')}, ${waiting.length} waiting, at ${utc(at)}`;
}

const total = (config: Extract<QuotaConfig, { kind: 'limited' }>): QuotaUnits => config.tiers.reduce(addUnits, {});

function file({ config, problem }: PoolInView): string {
  const inForce =
    config === undefined
      ? 'No quota file could be read: nothing is granted'
      : config.kind === 'unlimited'
        ? 'There is no quota file: whoever asks is granted'
        : `The quota file has ${count(config.projects.length, 'project')} and ${count(config.tiers.length, 'tier')}`;
  if (problem === undefined) return `${inForce}.`;
  return `**The quota file has a problem:** ${plain(problem)}\n\n${inForce}${config === undefined ? '' : ' (the last good one, in force until the file is mended)'}.`;
}

function waitingTable({ config, leased, waiting }: PoolInView): string {
  if (waiting.length === 0) return '';
  const line = inLine(config ?? { kind: 'unlimited' }, waiting.map(toRequest), leased.map(toLease));
  const rows = line
    .slice(0, MOST_WAITING)
    .map(({ job, project, user, priority, units, submittedAt }, index) => [
      String(index + 1),
      job,
      cell(project),
      cell(user),
      String(priority),
      formatUnits(units),
      shortUtc(submittedAt),
    ]);
  return section(
    '**Waiting**, first in line first; one that fits starts before one that does not',
    [['', 'JOB', 'PROJECT', 'USER', 'PRIO', 'ASKS FOR', 'SUBMITTED (UTC)'], ...rows],
    waiting.length - rows.length,
  );
}

function leaseTable({ leased }: PoolInView): string {
  if (leased.length === 0) return '';
  const rows = leased
    .slice(0, MOST_LEASES)
    .map(({ lease, demand, state, startedAt }) => [
      lease.job,
      cell(demand.project),
      formatUnits(demand.units),
      state === 'draining' ? 'draining' : 'held',
      startedAt === undefined ? '-' : shortUtc(startedAt),
    ]);
  return section(
    '**With a lease**; one that drains counts until its slices are seen gone',
    [['JOB', 'PROJECT', 'UNITS', 'STATE', 'GRANTED (UTC)'], ...rows],
    leased.length - rows.length,
  );
}

/** One block: a table is not shown without its title, nor what is left out of a table that is not shown. */
function section(title: string, rows: readonly (readonly string[])[], leftOut: number): string {
  return [title, codeTable(rows), ...(leftOut > 0 ? [`.. and ${leftOut} more`] : [])].join('\n\n');
}

const shortUtc = (at: EpochMs): string => utc(at).slice(0, 16);

/** A name in a column. */
const cell = (text: string): string => (text.length > 16 ? `${text.slice(0, 14)}..` : text);

export function toRequest({ lease, demand }: LeaseRow): QuotaRequest & { readonly job: string } {
  return { id: leaseKey(lease), job: lease.job, ...demand };
}

export function toLease({ lease, demand, tier, startedAt }: LeaseRow): QuotaLease & { readonly job: string } {
  return { id: leaseKey(lease), job: lease.job, ...demand, tier, startedAt: startedAt ?? 0 };
}
