import type { AnswerOf } from '../contract/operations.js';

/** Numbers behind a comparison of jobs of one group. Nothing here knows the browser. */

/** Metrics of a job, as the server answers them. */
export type Told = AnswerOf<'metrics'>;
export type Metric = Told['metrics'][number];
type Scalar = string | number | boolean;

/** Limit of compared jobs: each costs a request for its metrics, and a reader cannot tell more lines apart. */
export const MOST_COMPARED = 12;

/** Members that an address names, `0,3,17`. */
export function chosenOf(text: string | null): readonly number[] {
  const named = (text ?? '').split(',').filter((word) => /^\d{1,7}$/.test(word));
  return [...new Set(named.map(Number))].slice(0, MOST_COMPARED);
}

/** Adds the member, or removes it if it is there. At the limit of compared members, no more are added. */
export function toggled(chosen: readonly number[], index: number): readonly number[] {
  if (chosen.includes(index)) return chosen.filter((each) => each !== index);
  return chosen.length < MOST_COMPARED ? [...chosen, index] : chosen;
}

/** Names of all metrics. First those that most jobs report; among equals, losses before others, then by name. */
export function metricNames(told: readonly (Told | undefined)[]): readonly string[] {
  const jobs = new Map<string, number>();
  for (const { name } of told.flatMap((each) => each?.metrics ?? [])) jobs.set(name, (jobs.get(name) ?? 0) + 1);
  const isLoss = (name: string): number => Number(/loss/i.test(name));
  return [...jobs]
    .toSorted(([a, of], [b, than]) => than - of || isLoss(b) - isLoss(a) || (a < b ? -1 : 1))
    .map(([name]) => name);
}

/** Null: the value was not finite, so its line has a gap. Undefined: the job told nothing at this step. */
type Aligned = readonly (number | null | undefined)[];

/** The metric of each job over the steps of all of them. */
export function overSteps(metrics: readonly (Metric | undefined)[]): readonly [steps: readonly number[], ...Aligned[]] {
  const all = new Set<number>();
  for (const metric of metrics) for (const step of metric?.points.step ?? []) all.add(step);
  const steps = [...all].toSorted((a, b) => a - b);
  const places = new Map(steps.map((step, at) => [step, at]));
  const lines = metrics.map((metric): Aligned => {
    const line: (number | null | undefined)[] = steps.map(() => undefined);
    for (const [at, step] of (metric?.points.step ?? []).entries())
      line[places.get(step) ?? 0] = metric?.points.value[at] ?? null;
    return line;
  });
  return [steps, ...lines];
}

/** The value of a metric by which jobs are compared. */
export const READS = ['last', 'least', 'most'] as const;
export type Read = (typeof READS)[number];
/** Undefined: the job reported no finite value. */
export const valueOf = (metric: Metric | undefined, read: Read): number | undefined =>
  metric?.[read]?.value ?? undefined;

/** A parameter as a number. Undefined for any other value. */
export function numberIn(value: Scalar | undefined): number | undefined {
  if (typeof value === 'string' && value.trim() === '') return undefined;
  const number = typeof value === 'boolean' ? NaN : Number(value ?? NaN);
  return Number.isFinite(number) ? number : undefined;
}

interface Placed {
  readonly values: Readonly<Record<string, Scalar>>;
}

/** Parameters that are numbers in all of these members, and differ between them. */
export const numericAxes = (axes: readonly string[], members: readonly Placed[]): readonly string[] =>
  axes.filter((axis) => {
    const values = members.map(({ values: of }) => numberIn(of[axis]));
    return values.every((value) => value !== undefined) && new Set(values).size > 1;
  });

/** One point for each member, in its own line, over the values of one parameter in order. */
export function overParameter(
  axis: string,
  members: readonly Placed[],
  values: readonly (number | undefined)[],
): readonly [places: readonly number[], ...Aligned[]] {
  const order = members
    .map(({ values: of }, member) => ({ member, at: numberIn(of[axis]) ?? 0 }))
    .toSorted((a, b) => a.at - b.at);
  const lines = members.map((_, member) =>
    order.map((place) => (place.member === member ? values[member] : undefined)),
  );
  return [order.map(({ at }) => at), ...lines];
}

/**
 * Ratio of the largest to the smallest number from which the axis is logarithmic. A little below 100, since a ratio of 100 may
 * be rounded down.
 */
const FAR = 99.99;

/** Whether these numbers need a logarithmic axis: all are above 0, and the largest is about 100 times the smallest or more. */
export function isFar(values: Iterable<number | null | undefined>): boolean {
  let [least, most] = [Infinity, 0];
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (value <= 0) return false;
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  return most / least >= FAR;
}

/** Index of the best value. Undefined: there are no values. */
export function bestOf(values: readonly (number | undefined)[], isLow: boolean): number | undefined {
  let best: number | undefined;
  for (const [at, value] of values.entries()) {
    const before = best === undefined ? undefined : values[best];
    if (value === undefined) continue;
    if (before === undefined || (isLow ? value < before : value > before)) best = at;
  }
  return best;
}

/** Matches usual names of metrics for which a higher value is better. */
const GOOD_IF_HIGH = /acc|auc|f1|bleu|rouge|reward|return|score|precision|recall|throughput|per_s|mfu/i;
export const isLowBetter = (name: string): boolean => !GOOD_IF_HIGH.test(name);

/** A value as people compare it: five digits. */
export const digits = (value: number | undefined): string =>
  value === undefined ? '' : String(Number(value.toPrecision(5)));
