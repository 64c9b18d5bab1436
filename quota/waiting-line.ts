import type { EpochMs } from '../domain/units.js';
import { entry } from './packed-values.js';

/**
 * Places of a pool's waiting jobs, for lists: the object `quota/<pool>/line.json`. A worker makes it when it publishes the pool,
 * so that a list of a hundred jobs neither reads ten thousand leases nor decides on them (docs/adr/0024).
 */
export interface WaitingLine {
  readonly v: 1;
  readonly pool: string;
  readonly at: EpochMs;
  readonly epoch: number;
  /** One entry for all jobs that wait for the same reasons. */
  readonly sentences: readonly Sentence[];
  /** Jobs that go on waiting, in the order of service. The first has position 1. */
  readonly rows: readonly (readonly [job: string, sentence: number])[];
}

/** The reason for a wait: text, and times, which each reader writes in its own time zone. */
export type Sentence = readonly (string | EpochMs)[];

/** A job's place in a line as it was published. */
export interface PlaceInLine {
  /** 1 = first in the order of service. */
  readonly position: number;
  /** Number of waiting jobs. */
  readonly of: number;
  /** The reason for its wait, in one sentence. */
  readonly why: string;
}

/**
 * Places of these jobs when the line was made, by job. A job that no longer waits has no entry.
 * @param timeOf writes a time
 * @throws RangeError if another version of jobctl wrote the object
 */
export function placesInLine(
  { v, pool, sentences, rows }: WaitingLine,
  jobs: Iterable<string>,
  timeOf: (at: EpochMs) => string,
): ReadonlyMap<string, PlaceInLine> {
  if (v !== 1) {
    throw new RangeError(`line of pool '${pool}': written in form ${String(v)}, this jobctl reads form 1: update it`);
  }
  const wanted = new Set(jobs);
  const places = rows.flatMap(([job, sentence], index): [string, PlaceInLine][] => {
    if (!wanted.has(job)) return [];
    const why = entry(sentences, sentence).map((part) => (typeof part === 'number' ? timeOf(part) : part));
    return [[job, { position: index + 1, of: rows.length, why: why.join('') }]];
  });
  return new Map(places);
}
