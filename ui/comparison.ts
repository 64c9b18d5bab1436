import type { AnswerOf } from '../contract/operations.js';

/** Numbers behind a comparison of jobs of one group. Nothing here knows the browser. */

/** Metrics of a job, as the server answers them. */
export type Told = AnswerOf<'metrics'>;
export type Metric = Told['metrics'][number];
type Scalar = string | number | boolean;

/** Most jobs that are compared: each is asked for its metrics, and more lines than this are not told apart. */
export const MOST_COMPARED = 12;

/** Members that an address names, `0,3,17`. */
export function chosenOf(text: string | null): readonly number[] {
  const named = (text ?? '').split(',').filter((word) => /^\d{1,7}$/.test(word));
  return [...new Set(named.map(Number))].slice(0, MOST_COMPARED);
}

/** With the member, or without it if it was there. The most that can be compared stay. */
export function toggled(chosen: readonly number[], index: number): readonly number[] {
  if (chosen.includes(index)) return chosen.filter((each) => each !== index);
  return chosen.length < MOST_COMPARED ? [...chosen, index] : chosen;
}

/** Names of all metrics: those of most jobs first, of these a loss, then by name. */
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

/** The values of a metric that a job is known by. */
export const READS = ['last', 'least', 'most'] as const;
export type Read = (typeof READS)[number];
/** Undefined: it told none, or no finite one. */
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

/** Parameters that are numbers in each of these members, and not the same number in all. */
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

/** Numbers so far apart are shown on a logarithmic axis. A hundredfold counts, whatever its last digits are. */
const FAR = 99.99;

/** Whether an axis of these numbers is better logarithmic: all are above 0, and they span two powers of ten or more. */
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

/** Which of the values is the best one. Undefined: there is none. */
export function bestOf(values: readonly (number | undefined)[], isLow: boolean): number | undefined {
  let best: number | undefined;
  for (const [at, value] of values.entries()) {
    const before = best === undefined ? undefined : values[best];
    if (value === undefined) continue;
    if (before === undefined || (isLow ? value < before : value > before)) best = at;
  }
  return best;
}

/** Metrics of which a high value is the better one, by their usual names. */
const GOOD_IF_HIGH = /acc|auc|f1|bleu|rouge|reward|return|score|precision|recall|throughput|per_s|mfu/i;
export const isLowBetter = (name: string): boolean => !GOOD_IF_HIGH.test(name);

/** A value as people compare it: five digits. */
export const digits = (value: number | undefined): string =>
  value === undefined ? '' : String(Number(value.toPrecision(5)));
