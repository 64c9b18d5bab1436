import { smallest } from '../extremes.js';
import type { MetricPoint, MetricPoints, MetricSeries } from './metric-series.js';

/** A metric of one host over all attempts of its job. */
export interface MergedMetric {
  readonly name: string;
  /** Values that were told, in all attempts. */
  readonly count: number;
  /** Ordered by the axis. */
  readonly points: MetricPoints;
  /** The points are a part of the values, evenly chosen. */
  readonly isThinned: boolean;
  /** Values whose step was smaller than that of the value before, within an attempt. */
  readonly falls: number;
  readonly last: MetricPoint;
  /** Over all finite values whose steps no later attempt repeated. */
  readonly least?: MetricPoint;
  readonly most?: MetricPoint;
}

export type MetricAxis = 'step' | 'time';

export interface MergeOptions {
  /** Absent: all. */
  readonly names?: readonly string[] | undefined;
  readonly axis: MetricAxis;
  /** Most points of a metric. */
  readonly points: number;
}

/**
 * Joins the attempts of a job. A later attempt continues where the last checkpoint was, and tells steps again: its first step of a
 * metric takes back all values of earlier attempts from that step on, as TensorBoard does for a restarted run. Values that never
 * had a step are counted on.
 * @param attempts in order
 */
export function mergedMetrics(
  attempts: readonly (readonly MetricSeries[])[],
  { names, axis, points }: MergeOptions,
): readonly MergedMetric[] {
  const byName = new Map<string, MetricSeries[]>();
  for (const series of attempts.flat()) {
    if (names !== undefined && !names.includes(series.name)) continue;
    const before = byName.get(series.name);
    if (before === undefined) byName.set(series.name, [series]);
    else before.push(series.isCounted === true ? countedOn(series, before) : series);
  }
  return [...byName.values()].map((all) => merged(all, axis, points));
}

/** Its steps follow those of the attempts before. */
function countedOn(series: MetricSeries, before: readonly MetricSeries[]): MetricSeries {
  const from = (before.at(-1)?.last.step ?? -1) + 1;
  const moved = (point: MetricPoint): MetricPoint => ({ ...point, step: point.step + from });
  const { last, least, most, points } = series;
  return {
    ...series,
    last: moved(last),
    ...(least && { least: moved(least) }),
    ...(most && { most: moved(most) }),
    points: { ...points, step: points.step.map((step) => step + from) },
  };
}

function merged(attempts: readonly MetricSeries[], axis: MetricAxis, most: number): MergedMetric {
  const valid = validParts(attempts);
  const all = valid.flatMap(({ points }) => points);
  const ordered = axis === 'time' ? all.toSorted((a, b) => a.time - b.time) : byStep(all);
  const kept = thinned(ordered, most);
  const count = attempts.reduce((sum, series) => sum + series.count, 0);
  const least = extreme(
    valid.map((part) => part.least),
    (a, b) => a < b,
  );
  const greatest = extreme(
    valid.map((part) => part.most),
    (a, b) => a > b,
  );
  return {
    name: attempts[0]?.name ?? '',
    count,
    points: columns(kept),
    isThinned: kept.length < ordered.length || attempts.some(({ every }) => every > 1),
    falls: attempts.reduce((sum, { falls = 0 }) => sum + falls, 0),
    last: (attempts.at(-1) as MetricSeries).last,
    ...(least && { least }),
    ...(greatest && { most: greatest }),
  };
}

interface ValidPart {
  readonly points: readonly MetricPoint[];
  readonly least: MetricPoint | undefined;
  readonly most: MetricPoint | undefined;
}

/** The part of each attempt that later ones did not take back. In order. */
function validParts(attempts: readonly MetricSeries[]): readonly ValidPart[] {
  const parts: ValidPart[] = [];
  let end = Infinity;
  for (const series of attempts.toReversed()) {
    parts.push(validPart(series, end));
    end = Math.min(end, smallest(series.points.step));
  }
  return parts.toReversed();
}

/** An extreme that was taken back is that of the remaining points. @param end first step that was taken back */
function validPart(series: MetricSeries, end: number): ValidPart {
  const points = withLast(series).filter(({ step }) => step < end);
  const isValid = (point: MetricPoint | undefined): boolean => point !== undefined && point.step < end;
  return {
    points,
    least: isValid(series.least) ? series.least : extreme(points, (a, b) => a < b),
    most: isValid(series.most) ? series.most : extreme(points, (a, b) => a > b),
  };
}

/** The last value is always shown, also where it is none of those that are kept. */
function withLast({ points, last }: MetricSeries): readonly MetricPoint[] {
  const { step, time, value } = points;
  const kept = step.map((at, index) => ({ step: at, time: time[index] ?? 0, value: value[index] ?? null }));
  const end = kept.at(-1);
  return end?.step === last.step && end.time === last.time && end.value === last.value ? kept : [...kept, last];
}

function extreme(
  points: readonly (MetricPoint | undefined)[],
  isBetter: (a: number, b: number) => boolean,
): MetricPoint | undefined {
  let best: MetricPoint | undefined;
  for (const point of points) {
    if (point === undefined || point.value === null) continue;
    if (best === undefined || isBetter(point.value, best.value as number)) best = point;
  }
  return best;
}

/** Each step once, with the value that was told last. */
function byStep(points: readonly MetricPoint[]): readonly MetricPoint[] {
  const ordered = points.toSorted((a, b) => a.step - b.step);
  return ordered.filter(({ step }, index) => ordered[index + 1]?.step !== step);
}

/** At most `most` of all, evenly chosen, the first and the last among them. */
function thinned(points: readonly MetricPoint[], most: number): readonly MetricPoint[] {
  if (points.length <= most) return points;
  if (most < 2) return points.slice(points.length - most);
  const chosen = Array.from({ length: most }, (_, at) => Math.round((at * (points.length - 1)) / (most - 1)));
  return chosen.map((index) => points[index] as MetricPoint);
}

const columns = (points: readonly MetricPoint[]): MetricPoints => ({
  step: points.map(({ step }) => step),
  time: points.map(({ time }) => time),
  value: points.map(({ value }) => value),
});
