import type { EpochMs } from '../units.js';
import { STEP_METRIC, type ToldMetrics } from './metric-lines.js';

/** A value that a program told. `value` is null if it was NaN or infinite. */
export interface MetricPoint {
  readonly step: number;
  readonly time: EpochMs;
  readonly value: number | null;
}

/** Points by column, as drawing programs take them. All three lists have one length. */
export interface MetricPoints {
  readonly step: readonly number[];
  readonly time: readonly EpochMs[];
  readonly value: readonly (number | null)[];
}

/** One metric of one host in one attempt. */
export interface MetricSeries {
  readonly name: string;
  /** Values that were told, including those that are not kept. */
  readonly count: number;
  /** Each how-manyth value is kept: 1, 2, 4, .. */
  readonly every: number;
  /** No step was ever told: the steps are the values' numbers, from 0. */
  readonly isCounted?: true;
  /** Values whose step was smaller than that of the value before. */
  readonly falls?: number;
  readonly last: MetricPoint;
  /** Over all values that were told and are finite. */
  readonly least?: MetricPoint;
  readonly most?: MetricPoint;
  readonly points: MetricPoints;
}

/**
 * Limit of metrics that are kept per host. A program that derives their names from its data could report any number of them.
 */
export const MOST_METRICS = 100;
/** Limit of points that are kept per metric. Beyond it every second point is dropped, which leaves them evenly spread. */
export const MOST_POINTS = 1_000;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
interface Growing extends Mutable<Omit<MetricSeries, 'points'>> {
  readonly points: { step: number[]; time: EpochMs[]; value: (number | null)[] };
}

/**
 * The metrics of one host in one attempt, as they are told. Memory is bounded whatever is told: `MOST_METRICS` names, `MOST_POINTS`
 * points of each. Last, least and most are exact.
 */
export class HostMetrics {
  readonly #series = new Map<string, Growing>();
  #step: number | undefined;
  #refused: number;
  #beyondNames: number;

  constructor(known: {
    readonly series: readonly MetricSeries[];
    readonly refused: number;
    readonly beyondNames: number;
  }) {
    this.#refused = known.refused;
    this.#beyondNames = known.beyondNames;
    for (const { points, ...series } of known.series) {
      const { step, time, value } = points;
      this.#series.set(series.name, { ...series, points: { step: [...step], time: [...time], value: [...value] } });
    }
    this.#step = this.#series.get(STEP_METRIC)?.last.step;
  }

  /** @param now the time for a line that contains none */
  take(told: ToldMetrics, now: EpochMs): void {
    const { step, at = now, values, refused } = told;
    this.#refused += refused;
    if (step !== undefined) {
      this.#step = step;
      this.#add(STEP_METRIC, step, at, step);
    }
    for (const [name, value] of values) this.#add(name, step, at, value);
  }

  refuse(): void {
    this.#refused += 1;
  }

  get series(): readonly MetricSeries[] {
    return [...this.#series.values()];
  }

  /** Values that had no usable name or number, and lines that were not read. */
  get refused(): number {
    return this.#refused;
  }

  /** Values of metrics beyond the first `MOST_METRICS`. */
  get beyondNames(): number {
    return this.#beyondNames;
  }

  #add(name: string, told: number | undefined, time: EpochMs, value: number): void {
    const known = this.#series.get(name);
    if (known === undefined && this.#series.size >= MOST_METRICS) {
      this.#beyondNames += 1;
      return;
    }
    // A value without a step lies at the last step that was told, but never at the place of the value before it.
    const step = told ?? Math.max(this.#step ?? 0, known === undefined ? 0 : known.last.step + 1);
    const point = { step, time, value: Number.isFinite(value) ? value : null };
    if (known === undefined) this.#series.set(name, begun(name, point, this.#step === undefined));
    else extend(known, point, told !== undefined);
  }
}

function begun(name: string, point: MetricPoint, isCounted: boolean): Growing {
  const { step, time, value } = point;
  const extremes = value === null ? {} : { least: point, most: point };
  const points = { step: [step], time: [time], value: [value] };
  return { name, count: 1, every: 1, ...(isCounted && { isCounted }), last: point, ...extremes, points };
}

function extend(series: Growing, point: MetricPoint, isTold: boolean): void {
  const { step, time, value } = point;
  if (isTold) delete series.isCounted;
  if (step < series.last.step) series.falls = (series.falls ?? 0) + 1;
  if (series.count % series.every === 0) {
    const { points } = series;
    points.step.push(step);
    points.time.push(time);
    points.value.push(value);
    if (points.step.length >= MOST_POINTS) halve(series);
  }
  series.count += 1;
  series.last = point;
  if (value === null) return;
  if (value < (series.least?.value ?? Infinity)) series.least = point;
  if (value > (series.most?.value ?? -Infinity)) series.most = point;
}

/** Kept are the values whose number is a multiple of `every`. */
function halve(series: Growing): void {
  const { points } = series;
  const isKept = (_: unknown, index: number): boolean => index % 2 === 0;
  series.every *= 2;
  points.step = points.step.filter(isKept);
  points.time = points.time.filter(isKept);
  points.value = points.value.filter(isKept);
}
