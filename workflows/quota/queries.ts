import { setHandler, workflowInfo } from '@temporalio/workflow';
import {
  type Holder,
  holdersQuery,
  type PoolLease,
  type PoolState,
  publishedQuery,
  quotaStateQuery,
} from '../../contract/quota.js';
import { type EpochMs, addUnits, count, formatUnits, type QuotaUnits, subtractUnits, utc } from '../../domain/units.js';
import { packState, type TextPage } from '../../quota/published-state.js';
import type { Admission } from '../../contract/quota-activities.js';
import { inLine } from '../../quota/explain.js';
import type { QuotaConfig, QuotaMemory } from '../../quota/quota-config.js';
import { codeTable, joinBlocks, plain } from '../markdown.js';
import type { LeaseBook, LeaseRow } from './lease-book.js';
import type { PoolRecords } from './pool-records.js';
import { shownRow, toLeases, toRequest, unitsInUse } from './lease-row.js';

/**
 * Registers the queries of a pool. While a pool is rebuilt, `published` says so and names the jobs that it waits for. Before the
 * rebuild has read the last published state, `published` is refused, so that an admin's freeze is not overwritten unread.
 * @param isReady whether all leases are known
 */
export function answerQueries(records: PoolRecords, isReady: () => boolean): void {
  const published = new TextPages(() => JSON.stringify(packState(records.snapshot())));
  const holders = new TextPages(() => JSON.stringify(holdersOf(records.book)));
  const versionIf = (isAllowed: boolean): string => {
    if (!isAllowed) throw new Error(`pool ${records.pool} is being rebuilt`);
    return `${workflowInfo().runId}/${records.changes}`;
  };
  setHandler(quotaStateQuery, (): PoolState => describePool(records, Date.now()));
  setHandler(publishedQuery, (page) => published.page(versionIf(isReady() || records.rebuilding !== undefined), page));
  setHandler(holdersQuery, (page) => holders.page(versionIf(isReady()), page));
}

const holdersOf = (book: LeaseBook): readonly Holder[] =>
  [...book.leased, ...book.waiting].map(({ lease, state, slices, stuck }) => ({
    lease,
    state,
    slices,
    ...(stuck && { stuck }),
  }));

/**
 * Limit of rows in an answer. It is one payload, of 2 MB at most, and a row has 250 bytes, so all of 10,000 would be refused.
 */
export const MOST_WAITING = 1_000;

type Described = Pick<PoolRecords, 'pool' | 'book' | 'facts' | 'rebuilding'>;

export function describePool({ pool, book, facts, rebuilding }: Described, now: EpochMs): PoolState {
  return {
    pool,
    epoch: book.epoch,
    at: now,
    ...(facts?.config ? { config: facts.config } : {}),
    ...(facts?.problem ? { problem: facts.problem } : {}),
    ...(rebuilding ? { rebuilding } : {}),
    leases: book.leased.map(toPoolLease),
    waiting: book.waiting.slice(0, MOST_WAITING).map(toPoolLease),
    waitingCount: book.waiting.length,
  };
}

function toPoolLease({ lease, demand, state, tier, startedAt, slices }: LeaseRow): PoolLease {
  return {
    lease,
    demand,
    state,
    tier,
    ...(startedAt === undefined ? {} : { startedAt }),
    slices: slices.map(({ name }) => name),
  };
}

/** Size of a page, in characters: an answer is one payload, of 2 MB at most. */
const PAGE = 1_000_000;

/**
 * A query's answer in pages. The text is made once for each version, when its first page is asked for. The other pages are of
 * that text even if another version has come since, so that a pool in motion can be read.
 */
export class TextPages {
  readonly #text: () => string;
  #version: string | undefined;
  #made = '';

  constructor(text: () => string) {
    this.#text = text;
  }

  page(version: string, page: number): TextPage {
    if (this.#version === undefined || (page === 0 && version !== this.#version)) {
      this.#made = this.#text();
      this.#version = version;
    }
    return {
      version: this.#version,
      pages: Math.max(1, Math.ceil(this.#made.length / PAGE)),
      text: this.#made.slice(page * PAGE, (page + 1) * PAGE),
    };
  }
}

/** A pool after a decision. */
export interface PoolInView {
  readonly pool: string;
  /** Absent: no file could be read yet. */
  readonly config?: QuotaConfig;
  /** The problem with the file. */
  readonly problem?: string;
  readonly leased: readonly LeaseRow[];
  readonly waiting: readonly LeaseRow[];
  /** Absent: open. */
  readonly admission?: Admission;
  /** Absent: nothing is remembered. */
  readonly memory?: QuotaMemory;
  readonly at: EpochMs;
}

const MOST_SHOWN_WAITING = 20;
const MOST_LEASES = 10;

/**
 * A pool as the Temporal Web UI shows it under Current Details: units in use and free, the file in force, the first jobs in line,
 * the leases. It costs one sort of the waiting requests, like a decision. The quota workflow bounds how often.
 */
export function poolDetails(view: PoolInView): string {
  return joinBlocks(
    [headline(view), admission(view), file(view), waitingTable(view), leaseTable(view)],
    'There is more: the query `state` has all leases',
  );
}

function headline({ pool, config, leased, waiting, at }: PoolInView): string {
  const used = leased.reduce<QuotaUnits>((sum, row) => addUnits(sum, unitsInUse(shownRow(row))), {});
  const inUse = `${formatUnits(used)} in use`;
  const units =
    config?.kind === 'limited'
      ? `${inUse}, ${formatUnits(subtractUnits(total(config), used))} free of ${formatUnits(total(config))}`
      : inUse;
  return `**pool ${plain(pool, 60)}:** ${units}; ${count(leased.length, 'lease')}, ${waiting.length} waiting, at ${utc(at)}`;
}

function admission({ admission: { kind, reason } = { kind: 'open' }, memory }: PoolInView): string {
  const because = reason === undefined ? '' : `: ${plain(reason)}`;
  const said = {
    open: '',
    frozen: `**Frozen by an admin**${because}. Nothing new is granted; nothing that runs is touched.`,
    draining: `**Drained by an admin**${because}. Nothing new is granted; every lease is asked back.`,
  }[kind];
  const reserved = memory?.reservations.length ?? 0;
  const cooling = memory?.coolDowns.length ?? 0;
  const kept = [
    ...(reserved > 0 ? [`${count(reserved, 'reservation')} for jobs that waited long`] : []),
    ...(cooling > 0 ? [`${count(cooling, 'place')} that gave no chips`] : []),
  ];
  return [said, kept.length > 0 ? `The pool remembers ${kept.join(' and ')}.` : ''].filter(Boolean).join('\n\n');
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

function waitingTable({ config, leased, waiting, at }: PoolInView): string {
  if (waiting.length === 0) return '';
  const requests = waiting.map((row) => ({ ...toRequest(row), job: row.lease.job }));
  const leases = leased.flatMap((row) => toLeases(row, at));
  const line = inLine(config ?? { kind: 'unlimited' }, requests, leases);
  const rows = line
    .slice(0, MOST_SHOWN_WAITING)
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
    .map(({ lease, demand, state, startedAt, revoked }) => [
      lease.job,
      cell(demand.project),
      formatUnits(demand.units),
      revoked ? 'revoked' : state,
      startedAt === undefined ? '-' : shortUtc(startedAt),
    ]);
  return section(
    '**With a lease**; one that drains counts until its slices are seen gone',
    [['JOB', 'PROJECT', 'UNITS', 'STATE', 'GRANTED (UTC)'], ...rows],
    leased.length - rows.length,
  );
}

/** One block: a table is not shown without its title, nor the number of left-out rows without the table. */
function section(title: string, rows: readonly (readonly string[])[], leftOut: number): string {
  return [title, codeTable(rows), ...(leftOut > 0 ? [`.. and ${leftOut} more`] : [])].join('\n\n');
}

const shortUtc = (at: EpochMs): string => utc(at).slice(0, 16);

/** A name in a column. */
function cell(text: string): string {
  const characters = Array.from(text);
  return characters.length > 16 ? `${characters.slice(0, 14).join('')}..` : text;
}

/** Current Details of a pool, from its records as they are now. */
export function detailsOf({ pool, book, facts, admission, memory }: PoolRecords): string {
  const { config, problem } = facts ?? {};
  const file = { ...(config ? { config } : {}), ...(problem === undefined ? {} : { problem }) };
  const { waiting, leased } = book;
  return poolDetails({ pool, ...file, waiting, leased, admission, memory, at: Date.now() });
}
