import type { EpochMs } from '../domain/units.js';
import { type Demand, jobOfLeaseKey } from '../domain/lease.js';
import { entry, Table } from './packed-values.js';
import type { Verdict } from './decision/verdict.js';
import { Explainer } from './explain.js';
import type { PoolSnapshot } from './published-state.js';
import { plainWording, rebuildingText, sentenceText, type Wording } from './explanation/explain-words.js';

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

/** The reason for a wait: text with times in it. Each reader writes the times in its own time zone. */
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

/**
 * Whether another job has as good a claim to the slices of a job that lends them (docs/adr/0163): one that waits for units of
 * the same type with the same or a higher priority, or with a reservation. Also if the pool grants nothing at present.
 */
export function isWaitedFor(
  { admission, rebuilding, view }: Pick<PoolSnapshot, 'admission' | 'rebuilding' | 'view'>,
  { job, demand }: { readonly job: string; readonly demand: Pick<Demand, 'priority' | 'units'> },
): boolean {
  if (admission !== 'open' || rebuilding !== undefined) return true;
  const types = Object.keys(demand.units);
  const reserved = new Set(view.memory?.reservations.map(({ id }) => id));
  return view.requests.some(
    ({ id, priority, units }) =>
      jobOfLeaseKey(id) !== job &&
      types.some((type) => (units[type] ?? 0) > 0) &&
      (priority <= demand.priority || reserved.has(id)),
  );
}

/**
 * Makes the line with one pass, and one explanation for all jobs that wait for the same reasons. It yields after the pass and
 * after each job, so that the caller can do other work: a large pool takes half a second.
 */
export function* explainedLine({
  view,
  pool,
  at,
  epoch,
  admission,
  rebuilding,
}: PoolSnapshot): Generator<undefined, WaitingLine> {
  const sentences = new Table<Sentence>();
  const line = { v: 1, pool, at, epoch } as const;
  if (view.requests.length === 0) return { ...line, sentences: [], rows: [] };
  if (rebuilding !== undefined) {
    const why = markedSentence(rebuildingText(pool, rebuilding, markedTime));
    return { ...line, sentences: [why], rows: view.requests.map(({ id }) => [jobOfLeaseKey(id), 0]) };
  }
  const explainer = new Explainer(view, at);
  const { pass } = explainer;
  const isDraining = admission === 'draining';
  const words = { ...plainWording(view.config), nameOf: jobOfLeaseKey, timeOf: markedTime, isDraining };
  const indexOf = (id: string): number => sentences.indexOf(sentenceOf(explainer, id, words));
  const reserved = new Set(pass.decision.memory.reservations.map(({ id }) => id));
  const known = new Map<string, number>();
  const rows: (readonly [job: string, sentence: number])[] = [];
  for (const { id } of pass.line) {
    yield;
    const key = reserved.has(id) ? id : sameReasons(pass.verdictOf(id), view.isFrozen);
    const index = known.get(key) ?? indexOf(id);
    known.set(key, index);
    rows.push([jobOfLeaseKey(id), index]);
  }
  return { ...line, sentences: sentences.values, rows };
}

/**
 * Key of an explanation, without the job's name. Jobs with the same key share one explanation, so a line of 10,000 needs few. A
 * job with a reservation never has another job's key. In a frozen pool all jobs have the same key.
 */
function sameReasons(verdict: Verdict | undefined, isFrozen = false): string {
  if (verdict === undefined || isFrozen) return '';
  const { request, isInQuota, outcome, problems } = verdict;
  const { project, priority, units, pricing, zones } = request;
  return JSON.stringify([project, priority, units, pricing, zones, isInQuota, outcome, problems]);
}

const MARK = '\u0000';
const markedTime = (at: EpochMs): string => `${MARK}${at}${MARK}`;

function sentenceOf(explainer: Explainer, id: string, words: Wording): Sentence {
  const why = explainer.of(id);
  if (why === undefined) throw new RangeError(`'${id}' is in the line and does not wait`);
  return markedSentence(sentenceText(why, words));
}

function markedSentence(text: string): Sentence {
  // Every other part is a time.
  return text
    .split(MARK)
    .map((part, index) => (index % 2 === 1 ? Number(part) : part))
    .filter((part) => part !== '');
}
