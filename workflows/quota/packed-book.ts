import type { Demand } from '../../domain/lease.js';
import type { MachinePlace } from '../../domain/machines.js';
import { entry, Table } from '../../quota/packed-values.js';
import {
  distance,
  formOf,
  nameOf,
  type Packed,
  packColumns,
  packRun,
  packWords,
  timeAt,
  unpackColumns,
  unpackRun,
  unpackWords,
} from './columns.js';
import { type PackedFreed, packFreed, unpackFreed } from './freed-leases.js';
import type { LeaseBookCarry, LeaseRow, Pending } from './lease-book.js';
import type { Ask } from './lease-row.js';

/**
 * A lease book as it crosses a continue-as-new. It is in columns, since a row as an object takes 400 bytes, and in columns a
 * waiting request takes less than 80 and a lease with one slice less than 100 (docs/adr/0019). Times are distances: a row's from
 * `base`, those of its events from its own submit time.
 */
export interface PackedBook {
  readonly v: 1;
  readonly epoch: number;
  readonly base: number;
  readonly demands: readonly PackedDemand[];
  readonly pools: readonly string[];
  readonly places: readonly MachinePlace[];
  readonly zones: readonly string[];
  /** Names of slices with `*` for the job's name. */
  readonly forms: readonly string[];
  readonly rows: Packed<RowColumns> & RowWords;
  readonly leases: Packed<LeaseColumns>;
  readonly slices: Packed<SliceColumns>;
  readonly asks: Packed<AskColumns>;
  /** Values that many of `asks` have in common. */
  readonly asked: readonly Asked[];
  /** Values that few rows have, by the row's index. */
  readonly rare: Readonly<Record<string, Rare>>;
  readonly freed: PackedFreed;
  readonly pending?: Pending;
}

type PackedDemand = Omit<Demand, 'submittedAt'>;
type Distances = (number | null)[];

interface RowWords {
  readonly jobs: string;
  readonly runs: string;
  /** One letter per row: see `LETTERS`. */
  readonly states: string;
}

interface RowColumns {
  readonly numbers: number[];
  readonly demands: number[];
  readonly submitted: number[];
  readonly waiting: Distances;
  /** Sequence of the job's last message. */
  readonly sequences: Distances;
}

/** Columns of rows that are more than a waiting request, in the order of the rows. */
interface LeaseColumns {
  readonly tiers: number[];
  readonly started: Distances;
  /** `heldSince` of a held lease, `askingSince` of one that asks; as a distance from the lease's start. */
  readonly since: Distances;
  /** Index of `zones` plus one; 0: none. */
  readonly zones: number[];
  readonly sliceCounts: number[];
  readonly askCounts: number[];
}

interface AskColumns {
  /** Index of `asked`. */
  readonly asked: number[];
  /** Distance from the start of its lease. */
  readonly since: number[];
}

type Asked = Omit<Ask, 'since'>;

interface SliceColumns {
  readonly forms: number[];
  readonly places: number[];
  /** Sequence of the slice's last message, as a distance from the start of its lease. */
  readonly sequences: Distances;
}

type Rare = Pick<
  LeaseRow,
  | ('heldMs' | 'hasChips' | 'isFromReservation' | 'priority')
  | ('isUnconfirmed' | 'revoked' | 'stuck' | 'drainingSince' | 'unallowed')
> & {
  readonly pool?: number;
  readonly gone?: readonly string[];
  /** Sequences of senders that are neither the job nor a slice that is there. */
  readonly sequences?: Readonly<Record<string, number>>;
};

const JOB = 'job';
/** `w` is a waiting request and nothing else; `W` one that has slices, or had a lease. */
const LETTERS = { waiting: 'W', asking: 'a', held: 'h', draining: 'd', parked: 'p' } as const;
const PLAIN = 'w';
const STATES = new Map(
  Object.entries(LETTERS).map(([state, letter]) => [letter as string, state as LeaseRow['state']]),
);

// Packing ------------------------------------------------------------------------------------------------------------

export function packBook({ epoch, rows, freed, pending }: LeaseBookCarry): PackedBook {
  const base = rows[0]?.demand.submittedAt ?? freed[0]?.at ?? 0;
  const forms = new Table<string>();
  return {
    v: 1,
    epoch,
    base,
    ...new BookPacker(base, forms).pack(rows),
    freed: packFreed(freed, base, forms),
    forms: forms.values,
    ...(pending === undefined ? {} : { pending }),
  };
}

class BookPacker {
  readonly #base: number;
  readonly #forms: Table<string>;
  readonly #demands = new Table<PackedDemand>();
  readonly #pools = new Table<string>();
  readonly #places = new Table<PackedBook['places'][number]>();
  readonly #zones = new Table<string>();
  readonly #asked = new Table<Asked>();
  readonly #leases: LeaseColumns = { tiers: [], started: [], since: [], zones: [], sliceCounts: [], askCounts: [] };
  readonly #asks: AskColumns = { asked: [], since: [] };
  readonly #slices: SliceColumns = { forms: [], places: [], sequences: [] };
  readonly #rare: Record<string, Rare> = {};

  constructor(base: number, forms: Table<string>) {
    this.#base = base;
    this.#forms = forms;
  }

  pack(rows: readonly LeaseRow[]): Omit<PackedBook, 'v' | 'epoch' | 'base' | 'freed' | 'forms' | 'pending'> {
    const columns = { numbers: [], demands: [], submitted: [], waiting: [], sequences: [] } as RowColumns;
    const states = rows.map((row, index) => this.#row(row, index, columns)).join('');
    return {
      rows: {
        jobs: packWords(rows.map(({ lease }) => lease.job)),
        runs: packWords(rows.map(({ lease }) => packRun(lease.run))),
        states,
        ...packColumns(columns),
      },
      leases: packColumns(this.#leases),
      slices: packColumns(this.#slices),
      asks: packColumns(this.#asks),
      asked: this.#asked.values,
      rare: this.#rare,
      demands: this.#demands.values,
      pools: this.#pools.values,
      places: this.#places.values,
      zones: this.#zones.values,
    };
  }

  /** @returns the row's letter */
  #row(row: LeaseRow, index: number, columns: RowColumns): string {
    const { lease, demand, state, waitingSince, sequences } = row;
    const { submittedAt, ...shared } = demand;
    columns.numbers.push(lease.number);
    columns.demands.push(this.#demands.indexOf(shared));
    columns.submitted.push(submittedAt - this.#base);
    columns.waiting.push(distance(waitingSince, submittedAt));
    columns.sequences.push(distance(sequences[JOB], submittedAt));
    const rare = this.#rareOf(row);
    if (Object.keys(rare).length > 0) this.#rare[index] = rare;
    if (state === 'waiting' && isPlain(row)) return PLAIN;
    this.#lease(row);
    return LETTERS[state];
  }

  #lease(row: LeaseRow): void {
    const { lease, demand, state, tier, startedAt, heldSince, askingSince, zone, slices, sequences, asks = [] } = row;
    const start = startedAt ?? demand.submittedAt;
    const columns = this.#leases;
    columns.tiers.push(tier);
    columns.started.push(distance(startedAt, demand.submittedAt));
    columns.since.push(distance(state === 'held' ? heldSince : askingSince, start));
    columns.zones.push(zone === undefined ? 0 : this.#zones.indexOf(zone) + 1);
    columns.sliceCounts.push(slices.length);
    columns.askCounts.push(asks.length);
    for (const { since, ...asked } of asks) {
      this.#asks.asked.push(this.#asked.indexOf(asked));
      this.#asks.since.push(since - start);
    }
    for (const { name, ...place } of slices) {
      this.#slices.forms.push(this.#forms.indexOf(formOf(name, lease.job)));
      this.#slices.places.push(this.#places.indexOf(place));
      this.#slices.sequences.push(distance(sequences[name], start));
    }
  }

  #rareOf(row: LeaseRow): Rare {
    const { lease, heldMs, askedIn, hasChips, isFromReservation, priority, isUnconfirmed, revoked } = row;
    const { stuck, drainingSince, unallowed, gone, slices, sequences } = row;
    const pool = this.#pools.indexOf(lease.pool);
    const isThere = new Set(slices.map(({ name }) => name));
    const others = Object.entries(sequences).filter(([sender]) => sender !== JOB && !isThere.has(sender));
    return {
      ...(pool === 0 ? {} : { pool }),
      ...(heldMs === undefined ? {} : { heldMs }),
      ...(askedIn === undefined ? {} : { askedIn }),
      ...(hasChips === undefined ? {} : { hasChips }),
      ...(isFromReservation === undefined ? {} : { isFromReservation }),
      ...(priority === undefined ? {} : { priority }),
      ...(isUnconfirmed === undefined ? {} : { isUnconfirmed }),
      ...(revoked === undefined ? {} : { revoked }),
      ...(stuck === undefined ? {} : { stuck }),
      ...(drainingSince === undefined ? {} : { drainingSince }),
      ...(unallowed === undefined ? {} : { unallowed }),
      ...(gone.length === 0 ? {} : { gone }),
      ...(others.length === 0 ? {} : { sequences: Object.fromEntries(others) }),
    };
  }
}

const isPlain = ({ tier, startedAt, zone, slices, asks }: LeaseRow): boolean =>
  tier === 0 && startedAt === undefined && zone === undefined && slices.length === 0 && asks === undefined;

// Unpacking ----------------------------------------------------------------------------------------------------------

/** @throws RangeError if it is not a packed book of this form */
export function unpackBook(packed: PackedBook): LeaseBookCarry {
  if (packed.v !== 1) throw new RangeError(`packed lease book: form ${String(packed.v)}, this code reads form 1`);
  const { epoch, base, freed, forms, pending } = packed;
  return {
    epoch,
    rows: new BookUnpacker(packed).rows(),
    freed: unpackFreed(freed, base, forms),
    ...(pending === undefined ? {} : { pending }),
  };
}

class BookUnpacker {
  readonly #packed: PackedBook;
  readonly #rows: RowColumns;
  readonly #leases: LeaseColumns;
  readonly #slices: SliceColumns;
  readonly #asks: AskColumns;
  #lease = 0;
  #slice = 0;
  #ask = 0;

  constructor(packed: PackedBook) {
    const { jobs: _, runs: _runs, states: _states, ...rows } = packed.rows;
    this.#packed = packed;
    this.#rows = unpackColumns<RowColumns>(rows);
    this.#leases = unpackColumns<LeaseColumns>(packed.leases);
    this.#slices = unpackColumns<SliceColumns>(packed.slices);
    this.#asks = unpackColumns<AskColumns>(packed.asks);
  }

  rows(): LeaseRow[] {
    const { jobs, runs, states } = this.#packed.rows;
    const jobNames = unpackWords(jobs, states.length);
    const runIds = unpackWords(runs, states.length);
    return states
      .split('')
      .map((letter, index) => this.#row(index, letter, entry(jobNames, index), entry(runIds, index)));
  }

  #row(index: number, letter: string, job: string, run: string): LeaseRow {
    const { rare, demands, pools, base } = this.#packed;
    const rows = this.#rows;
    const submittedAt = base + entry(rows.submitted, index);
    const { pool = 0, gone = [], sequences = {}, ...seldom } = rare[index] ?? {};
    const waitingSince = timeAt(rows.waiting[index], submittedAt);
    const sequence = timeAt(rows.sequences[index], submittedAt);
    const row: LeaseRow = {
      lease: { pool: entry(pools, pool), job, run: unpackRun(run), number: entry(rows.numbers, index) },
      demand: { ...entry(demands, rows.demands[index]), submittedAt },
      state: letter === PLAIN ? 'waiting' : stateOf(letter),
      tier: 0,
      ...(waitingSince === undefined ? {} : { waitingSince }),
      ...seldom,
      slices: [],
      gone: [...gone],
      sequences: { ...(sequence === undefined ? {} : { [JOB]: sequence }), ...sequences },
    };
    if (letter !== PLAIN) this.#readLease(row);
    return row;
  }

  #readLease(row: LeaseRow): void {
    const { zones } = this.#packed;
    const leases = this.#leases;
    const index = this.#lease++;
    const startedAt = timeAt(leases.started[index], row.demand.submittedAt);
    const start = startedAt ?? row.demand.submittedAt;
    const since = timeAt(leases.since[index], start);
    const zone = entry(leases.zones, index);
    row.tier = entry(leases.tiers, index);
    if (startedAt !== undefined) row.startedAt = startedAt;
    if (since !== undefined) row[row.state === 'held' ? 'heldSince' : 'askingSince'] = since;
    if (zone > 0) row.zone = entry(zones, zone - 1);
    for (let count = entry(leases.sliceCounts, index); count > 0; count--) this.#readSlice(row, start);
    const asks = Array.from({ length: entry(leases.askCounts, index) }, () => this.#readAsk(start));
    if (asks.length > 0) row.asks = asks;
  }

  #readAsk(start: number): Ask {
    const index = this.#ask++;
    const asked = entry(this.#packed.asked, this.#asks.asked[index]);
    return { ...asked, since: start + entry(this.#asks.since, index) };
  }

  #readSlice(row: LeaseRow, start: number): void {
    const { places, forms } = this.#packed;
    const slices = this.#slices;
    const index = this.#slice++;
    const name = nameOf(entry(forms, slices.forms[index]), row.lease.job);
    row.slices.push({ ...entry(places, slices.places[index]), name });
    const sequence = timeAt(slices.sequences[index], start);
    if (sequence !== undefined) row.sequences[name] = sequence;
  }
}

function stateOf(letter: string): LeaseRow['state'] {
  const state = STATES.get(letter);
  if (state === undefined) throw new RangeError(`packed lease book: no state has the letter '${letter}'`);
  return state;
}
