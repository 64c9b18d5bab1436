import type { Demand, LeaseId } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import { entry } from '../../quota/shared-values.js';
import type { FreedLease, LeaseBookCarry, LeaseRow, Pending } from './lease-book.js';

/**
 * A lease book as version 0.1.0 carried it: one short tuple a row, what rows share in tables beside them, times told from
 * `base` (docs/adr/0011). It is only read any more: by the first run of a pool after an update, and in recorded histories.
 */
export interface PackedBook2 {
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

export function unpackBook2(packed: PackedBook2): LeaseBookCarry {
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

function unpackRow({ base, pools, demands, places }: PackedBook2, row: PackedRow): LeaseRow {
  const [job, run, number, pool, demand, submittedAt, sequences, more] = row;
  const [project, user, priority, units] = entry(demands, demand);
  const lease: LeaseId = { pool: entry(pools, pool), job, run, number };
  const slices = (more?.slices ?? []).map(([name, place]): SliceRef => {
    const [googleProject, zone, mode] = entry(places, place);
    return { googleProject, zone, name, mode };
  });
  return {
    lease,
    demand: { project, user, priority, submittedAt: submittedAt + base, units },
    state: more?.state ?? 'waiting',
    tier: more?.tier ?? 0,
    ...startOf(more, base),
    slices,
    gone: [...(more?.gone ?? [])],
    sequences: unpackSequences(sequences, base),
  };
}

/** It did not tell when chips came: a lease was held from its grant on. */
function startOf(more: PackedRow[7], base: number): Pick<LeaseRow, 'startedAt' | 'heldSince'> {
  if (more?.startedAt === undefined) return {};
  const startedAt = more.startedAt + base;
  return { startedAt, ...(more.state === 'held' ? { heldSince: startedAt } : {}) };
}

function unpackSequences(packed: PackedSequences, base: number): Record<string, number> {
  const pairs = packed.flatMap((sender, index) =>
    index % 2 === 0 ? [[sender === '' ? USUAL_SENDER : sender, (packed[index + 1] as number) + base]] : [],
  );
  return Object.fromEntries(pairs) as Record<string, number>;
}
