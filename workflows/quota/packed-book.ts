import type { Demand, LeaseId } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import type { FreedLease, LeaseBookCarry, LeaseRow, Pending } from './lease-book.js';

/**
 * A lease book as it crosses a continue-as-new: one short tuple a row, what rows share in tables beside them. As objects
 * 10,000 waiting requests were 3.7 MB, and a payload may have 2 MB (docs/adr/0011); packed, one costs less than 100 bytes.
 * Times are told from `base`.
 */
export interface PackedBook {
  readonly v: 2;
  readonly epoch: number;
  readonly base: number;
  readonly pools: readonly string[];
  readonly demands: readonly (readonly [project: string, user: string, priority: number, units: Demand['units']])[];
  readonly places: readonly (readonly [googleProject: string, zone: string, mode: SliceRef['mode']])[];
  readonly rows: readonly PackedRow[];
  readonly freed: readonly PackedFreed[];
  readonly pending?: Pending;
}

type PackedLease = readonly [job: string, run: string, number: number, pool: number];
type PackedSequences = readonly (string | number)[];
type PackedRow = readonly [
  ...PackedLease,
  demand: number,
  submittedAt: number,
  sequences: PackedSequences,
  /** Only of a row that is more than a waiting request. */
  more?: {
    readonly state: LeaseRow['state'];
    readonly tier: number;
    readonly startedAt?: number;
    readonly slices: readonly (readonly [name: string, place: number])[];
    readonly gone: readonly string[];
  },
];
type PackedFreed = readonly [key: string, at: number, sequences: PackedSequences];

/** `job` is the sender of most messages: an empty name stands for it. */
const USUAL_SENDER = 'job';

export function packBook({ epoch, rows, freed, pending }: LeaseBookCarry): PackedBook {
  const base = rows[0]?.demand.submittedAt ?? freed[0]?.at ?? 0;
  const pools = new Table<string>();
  const demands = new Table<PackedBook['demands'][number]>();
  const places = new Table<PackedBook['places'][number]>();
  const packRow = (row: LeaseRow): PackedRow => {
    const { lease, demand, state, tier, startedAt, slices, gone, sequences } = row;
    const head = [
      lease.job,
      lease.run,
      lease.number,
      pools.indexOf(lease.pool),
      demands.indexOf([demand.project, demand.user, demand.priority, demand.units]),
      demand.submittedAt - base,
      packSequences(sequences, base),
    ] as const;
    const isPlain = state === 'waiting' && tier === 0 && startedAt === undefined && slices.length + gone.length === 0;
    if (isPlain) return head;
    const refs = slices.map(
      ({ name, googleProject, zone, mode }) => [name, places.indexOf([googleProject, zone, mode])] as const,
    );
    const started = startedAt === undefined ? {} : { startedAt: startedAt - base };
    return [...head, { state, tier, ...started, slices: refs, gone }];
  };
  const packedRows = rows.map(packRow);
  return {
    v: 2,
    epoch,
    base,
    pools: pools.values,
    demands: demands.values,
    places: places.values,
    rows: packedRows,
    freed: freed.map(({ key, at, sequences }) => [key, at - base, packSequences(sequences, base)] as const),
    ...(pending === undefined ? {} : { pending }),
  };
}

export function unpackBook(packed: PackedBook): LeaseBookCarry {
  const { epoch, base, freed, pending } = packed;
  return {
    epoch,
    rows: packed.rows.map((row) => unpackRow(packed, row)),
    freed: freed.map(([key, at, sequences]): FreedLease => ({
      key,
      at: at + base,
      sequences: unpackSequences(sequences, base),
    })),
    ...(pending === undefined ? {} : { pending }),
  };
}

function unpackRow({ base, pools, demands, places }: PackedBook, row: PackedRow): LeaseRow {
  const [job, run, number, pool, demand, submittedAt, sequences, more] = row;
  const [project, user, priority, units] = at(demands, demand);
  const lease: LeaseId = { pool: at(pools, pool), job, run, number };
  const slices = (more?.slices ?? []).map(([name, place]): SliceRef => {
    const [googleProject, zone, mode] = at(places, place);
    return { googleProject, zone, name, mode };
  });
  return {
    lease,
    demand: { project, user, priority, submittedAt: submittedAt + base, units },
    state: more?.state ?? 'waiting',
    tier: more?.tier ?? 0,
    ...(more?.startedAt === undefined ? {} : { startedAt: more.startedAt + base }),
    slices,
    gone: [...(more?.gone ?? [])],
    sequences: unpackSequences(sequences, base),
  };
}

/** Sequences are workflow times, so they are short from `base` too. */
function packSequences(sequences: Readonly<Record<string, number>>, base: number): PackedSequences {
  return Object.entries(sequences).flatMap(([sender, sequence]) => [
    sender === USUAL_SENDER ? '' : sender,
    sequence - base,
  ]);
}

function unpackSequences(packed: PackedSequences, base: number): Record<string, number> {
  const pairs = packed.flatMap((sender, index) =>
    index % 2 === 0 ? [[sender === '' ? USUAL_SENDER : sender, (packed[index + 1] as number) + base]] : [],
  );
  return Object.fromEntries(pairs) as Record<string, number>;
}

function at<T>(table: readonly T[], index: number): T {
  const value = table[index];
  if (value === undefined) throw new RangeError(`packed lease book: its table has no entry ${index}`);
  return value;
}

/** Values that many rows share, each once. */
class Table<T> {
  readonly #values: T[] = [];
  readonly #indexes = new Map<string, number>();

  get values(): readonly T[] {
    return this.#values;
  }

  indexOf(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.#values.length);
    return this.#values.push(value) - 1;
  }
}
