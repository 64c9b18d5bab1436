import type { EpochMs } from '../domain/units.js';
import type { HistoryLine, LeaseStory, Window } from './pool-history.js';

/** The use of a pool over time, as its history tells it: who held what, who waited, and when nothing is known (docs/adr/0176). */

/** One object of a pool's history. Parts of one epoch are numbered from 0. */
export interface HistoryPart {
  readonly epoch: number;
  /** Absent: lines that are not in the store yet. */
  readonly number?: number;
  /** Times of its first and last line. */
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Some of its lines could not be read. */
  readonly isDamaged?: true;
}

/** A stretch of the window of which nothing is known. */
export interface Gap {
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly why: string;
}

const NOTHING_BEFORE = 'the pool has told nothing of before';

/**
 * The stretches in which lines of a history are missing.
 * @param parts in any order @param isFirst whether no part is older than these
 */
export function gapsBetween(parts: readonly HistoryPart[], { from, to }: Window, isFirst: boolean): readonly Gap[] {
  const sorted = parts.toSorted((a, b) => a.epoch - b.epoch || (a.number ?? Infinity) - (b.number ?? Infinity));
  const [first] = sorted;
  const gaps: Gap[] = [];
  if (first !== undefined && (isFirst || first.number === 0)) gaps.push({ from, to: first.from, why: NOTHING_BEFORE });
  for (const [at, part] of sorted.entries()) {
    const before = sorted[at - 1];
    const why = before && missingBetween(before, part);
    if (why !== undefined) gaps.push({ from: before?.to ?? from, to: part.from, why });
    if (part.isDamaged)
      gaps.push({
        from: before?.to ?? from,
        to: sorted[at + 1]?.from ?? to,
        why: 'lines could not be read: damaged, or written by another version of jobctl',
      });
  }
  return gaps
    .map((gap) => ({ ...gap, from: Math.max(from, gap.from), to: Math.min(to, gap.to) }))
    .filter((gap) => gap.from < gap.to);
}

function missingBetween(before: HistoryPart, { epoch, number }: HistoryPart): string | undefined {
  if (epoch !== before.epoch) return 'the pool lost its memory, and with it lines that were not stored yet';
  if (number === undefined || before.number === undefined || number === before.number + 1) return undefined;
  return 'lines of its history are missing in the store';
}

/** A request that waits now. */
export interface OpenRequest {
  readonly project: string;
  readonly units: Readonly<Record<string, number>>;
  readonly since: EpochMs;
}

export interface Told {
  readonly window: Window;
  /** Number of equal stretches into which the window is divided. */
  readonly stretches: number;
  readonly stories: readonly LeaseStory[];
  readonly lines: readonly HistoryLine[];
  readonly waiting: readonly OpenRequest[];
  readonly gaps: readonly Gap[];
}

/** Units of one project and type, as the mean of each stretch. Null: nothing is known of the stretch. */
export interface UseSeries {
  readonly project: string;
  readonly type: string;
  /** From the grant of a lease until its slices are seen gone. */
  readonly held: readonly (number | null)[];
  /** Asked for by jobs that wait. */
  readonly waiting: readonly (number | null)[];
}

/** Most projects with a series of their own for one type: the rest are one. */
const MOST_PROJECTS = 20;

/** The series of a pool, those with most use first. */
export function useOverTime({ window, stretches, stories, lines, waiting, gaps }: Told): readonly UseSeries[] {
  const held = new Sums(window, stretches, gaps);
  for (const story of stories) {
    const last = lastOf(story, lines, window);
    held.add(story, { from: story.grantedAt ?? window.from, to: story.freedAt ?? last });
  }
  const waited = new Sums(window, stretches, [...gaps, ...waitingGaps(lines, window)]);
  for (const { kind, since, at, project = '-', units = {} } of lines)
    if (ENDS_OF_WAITS.has(kind) && since !== undefined) waited.add({ project, units }, { from: since, to: at });
  for (const { since, ...request } of waiting) waited.add(request, { from: since, to: window.to });
  return seriesOf(held, waited);
}

const ENDS_OF_WAITS: ReadonlySet<HistoryLine['kind']> = new Set(['granted', 'withdrawn']);

/** A lease whose end no line tells counts until its last line. */
function lastOf(
  { isEndUnknown, job, lease }: LeaseStory,
  lines: readonly HistoryLine[],
  { from, to }: Window,
): EpochMs {
  if (isEndUnknown === undefined) return to;
  const own = lines.filter((line) => line.job === job && line.lease === lease && line.at <= to);
  return own.reduce((last, { at }) => Math.max(last, at), from);
}

/** Lines of an earlier build do not say since when a request waited, so until the last of them it is not known who waited. */
function waitingGaps(lines: readonly HistoryLine[], { from }: Window): readonly Gap[] {
  const silent = lines.filter(({ kind, since }) => kind === 'granted' && since === undefined);
  const to = silent.reduce((last, { at }) => Math.max(last, at), from);
  return to === from ? [] : [{ from, to, why: '' }];
}

function seriesOf(held: Sums, waited: Sums): readonly UseSeries[] {
  const keys = new Map([...held.total, ...waited.total].map(([key]) => [key, 0]));
  for (const sums of [held, waited]) for (const [key, sum] of sums.total) keys.set(key, (keys.get(key) ?? 0) + sum);
  const byType = new Map<string, { readonly name: string; readonly keys: readonly string[] }[]>();
  for (const [key] of [...keys].toSorted(([a, sumA], [b, sumB]) => sumB - sumA || (a < b ? -1 : 1))) {
    const [name, type] = JSON.parse(key) as Key;
    byType.set(type, [...(byType.get(type) ?? []), { name, keys: [key] }]);
  }
  return [...byType].flatMap(([type, all]) => {
    const own = all.slice(0, MOST_PROJECTS);
    const rest = all.slice(MOST_PROJECTS).flatMap(({ keys: each }) => each);
    const groups = rest.length === 0 ? own : [...own, { name: `${rest.length} others`, keys: rest }];
    return groups.map(({ name, keys: of }) => ({
      ...{ project: name, type, held: held.means(of), waiting: waited.means(of) },
    }));
  });
}

type Key = readonly [project: string, type: string];

/** Sums of units times milliseconds, by project, type and stretch. */
class Sums {
  /** Over the whole window, by `Key` as JSON. */
  readonly total = new Map<string, number>();
  readonly #byKey = new Map<string, number[]>();
  readonly #window: Window;
  readonly #stretches: number;
  readonly #known: readonly Window[];
  /** Known milliseconds of each stretch. */
  readonly #knownMs: readonly number[];

  constructor(window: Window, stretches: number, gaps: readonly Gap[]) {
    this.#window = window;
    this.#stretches = stretches;
    this.#known = without(window, gaps);
    this.#knownMs = this.#spread(this.#known);
  }

  add({ project, units }: Pick<OpenRequest, 'project' | 'units'>, { from, to }: Window): void {
    const pieces = this.#known.flatMap((known) => {
      const piece = { from: Math.max(from, known.from), to: Math.min(to, known.to) };
      return piece.from < piece.to ? [piece] : [];
    });
    if (pieces.length === 0) return;
    const ms = this.#spread(pieces);
    for (const [type, amount] of Object.entries(units)) {
      const key = JSON.stringify([project, type] satisfies Key);
      const sums = this.#byKey.get(key) ?? Array.from({ length: this.#stretches }, () => 0);
      this.#byKey.set(key, sums);
      for (const [at, each] of ms.entries()) sums[at] = (sums[at] ?? 0) + amount * each;
      const whole = pieces.reduce((sum, piece) => sum + piece.to - piece.from, 0);
      this.total.set(key, (this.total.get(key) ?? 0) + amount * whole);
    }
  }

  /** The mean of each stretch over the part of it that is known, of all these keys together. */
  means(keys: readonly string[]): readonly (number | null)[] {
    return this.#knownMs.map((known, at) => {
      if (known === 0) return null;
      const sum = keys.reduce((all, key) => all + (this.#byKey.get(key)?.[at] ?? 0), 0);
      return Math.round((1_000 * sum) / known) / 1_000;
    });
  }

  /** Milliseconds of these pieces in each stretch. */
  #spread(pieces: readonly Window[]): number[] {
    const { from, to } = this.#window;
    const length = (to - from) / this.#stretches;
    const ms = Array.from({ length: this.#stretches }, () => 0);
    for (const piece of pieces) {
      const [first, last] = [piece.from, piece.to - 1].map((at) =>
        Math.min(this.#stretches - 1, Math.max(0, Math.floor((at - from) / length))),
      ) as [number, number];
      for (let at = first; at <= last; at++) {
        const begin = from + at * length;
        ms[at] = (ms[at] ?? 0) + Math.max(0, Math.min(piece.to, begin + length) - Math.max(piece.from, begin));
      }
    }
    return ms;
  }
}

/** The parts of a window that are in no gap, in order. */
function without({ from, to }: Window, gaps: readonly Gap[]): readonly Window[] {
  const known: Window[] = [];
  let next = from;
  for (const gap of gaps.toSorted((a, b) => a.from - b.from)) {
    if (gap.from > next) known.push({ from: next, to: Math.min(gap.from, to) });
    next = Math.max(next, gap.to);
  }
  return next < to ? [...known, { from: next, to }] : known;
}
