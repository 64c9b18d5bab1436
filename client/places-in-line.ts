import { jobOfLeaseKey } from '../domain/lease.js';
import type { EpochMs } from '../domain/units.js';
import { Explainer } from '../quota/explain.js';
import { plainWording, sentenceText } from '../quota/explanation/explain-words.js';
import type { PoolSnapshot } from '../quota/published-state.js';

/** Where a waiting job stands. */
export interface PlaceInLine {
  /** 1 = first in the order of service. */
  readonly position: number;
  /** How many wait. */
  readonly of: number;
  /** What it waits for, in one sentence. */
  readonly why: string;
}

/**
 * Where these jobs stood when the pool was published, by job; who waits no more has no entry. One pass for all of them.
 * @param timeOf how times are written
 */
export function placesInLine(
  { view, at }: PoolSnapshot,
  jobs: Iterable<string>,
  timeOf: (at: EpochMs) => string,
): ReadonlyMap<string, PlaceInLine> {
  const wanted = new Set(jobs);
  const waiting = view.requests.filter(({ id }) => wanted.has(jobOfLeaseKey(id)));
  if (waiting.length === 0) return new Map();
  const explainer = new Explainer(view, at);
  const words = { ...plainWording(view.config), nameOf: jobOfLeaseKey, timeOf };
  const places = waiting.flatMap(({ id }): [string, PlaceInLine][] => {
    const found = explainer.of(id);
    if (found === undefined || found.position === 0) return [];
    return [[jobOfLeaseKey(id), { position: found.position, of: found.of, why: sentenceText(found, words) }]];
  });
  return new Map(places);
}
