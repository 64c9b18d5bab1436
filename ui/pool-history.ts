import type { AnswerOf } from '../contract/operations.js';

/** The use of a pool over the last day, made ready to be drawn. Nothing here knows the browser. */

type History = AnswerOf<'poolHistory'>;
type Project = AnswerOf<'poolUse'>['projects'][number];
type Values = readonly (number | null)[];

/** Most projects with a colour of their own. */
export const MOST_COLOURS = 7;

export const typesOf = ({ series }: History): readonly string[] => [...new Set(series.map(({ type }) => type))].sort();

/** One line of the chart. `top` is what is drawn, `value` what it stands for. */
export interface Drawn {
  readonly label: string;
  readonly kind: 'held' | 'waiting' | 'nominal';
  readonly top: Values;
  readonly value: Values;
}

export interface Picture {
  /** Beginnings of the stretches, and the end of the last one. */
  readonly at: readonly number[];
  /** Areas from the highest top down, so that each covers the ones above it; then what waited, and the nominal quota. */
  readonly lines: readonly Drawn[];
}

interface Wish {
  readonly type: string;
  /** Undefined: all of them, one upon the other. */
  readonly project: string | undefined;
  /** Nominal quota by the file in force. Undefined: there is none. */
  readonly nominal: number | undefined;
}

/** Undefined: nothing is known of the whole time. */
export function pictureOf(history: History, { type, project, nominal }: Wish): Picture | undefined {
  const all = history.series.filter((each) => each.type === type);
  const [own, waiting] = [all, all].map((each) =>
    each.filter((one) => project === undefined || one.project === project),
  );
  const first = firstKnown(own ?? []);
  if (first === undefined) return undefined;
  const { from, everyMs } = history;
  const length = own?.[0]?.held.length ?? 0;
  const at = Array.from({ length: length - first + 1 }, (_, index) => from + (first + index) * everyMs);
  const values = (each: Values): Values => closed(each.slice(first));
  const areas = grouped(own ?? []).map(({ label, held }) => ({ label, value: values(held) }));
  const since = history.calls.findLast(({ kind }) => kind === 'applied')?.at ?? 0;
  const limit = nominal === undefined ? [] : at.map((time) => (time + everyMs > since ? nominal : null));
  return {
    at,
    lines: [
      ...stacked(areas),
      ...waitingLine(sumOf((waiting ?? []).map((each) => values(each.waiting)))),
      ...(limit.length === 0
        ? []
        : [
            {
              label: project === undefined ? 'all there is' : 'nominal',
              kind: 'nominal' as const,
              top: limit,
              value: limit,
            },
          ]),
    ],
  };
}

function firstKnown(series: History['series']): number | undefined {
  const found = series.map(({ held }) => held.findIndex((value) => value !== null)).filter((at) => at >= 0);
  return found.length === 0 ? undefined : found.reduce((least, at) => Math.min(least, at));
}

/** A stepped line needs a last point, to which its last stretch lasts. */
const closed = (values: Values): Values => [...values, values.at(-1) ?? null];

const sumOf = (all: readonly Values[]): Values =>
  (all[0] ?? []).map((_, at) => {
    const known = all.map((values) => values[at]).filter((value) => typeof value === 'number');
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });

function grouped(series: History['series']): readonly { readonly label: string; readonly held: Values }[] {
  const own = series.slice(0, MOST_COLOURS).map(({ project, held }) => ({ label: project, held }));
  const rest = series.slice(MOST_COLOURS);
  return rest.length === 0
    ? own
    : [...own, { label: `${rest.length} others`, held: sumOf(rest.map(({ held }) => held)) }];
}

function stacked(areas: readonly { readonly label: string; readonly value: Values }[]): readonly Drawn[] {
  const lines = areas.map(({ label, value }, index): Drawn => {
    const top = sumOf(areas.slice(0, index + 1).map((each) => each.value));
    return { label, kind: 'held', top, value };
  });
  return lines.toReversed();
}

const waitingLine = (value: Values): readonly Drawn[] =>
  value.every((each) => each === null || each === 0) ? [] : [{ label: 'waiting', kind: 'waiting', top: value, value }];

/** The same in numbers, for those who do not see it. */
export interface DayRow {
  readonly project: string;
  readonly type: string;
  /** Undefined: the quota file gives it none, or there is no file. */
  readonly nominal: number | undefined;
  /** Mean over the known stretches. Undefined: none is known. */
  readonly mean: number | undefined;
  readonly most: number | undefined;
  readonly now: number | undefined;
  /** Unit-hours above its nominal quota as it is now. Undefined: it has none. */
  readonly borrowedHours: number | undefined;
  readonly waitingMean: number | undefined;
}

const HOUR_MS = 3_600_000;

export function dayRows({ series, everyMs }: History, projects: readonly Project[]): readonly DayRow[] {
  return series.map(({ project, type, held, waiting }) => {
    const known = held.filter((value) => value !== null);
    const nominal = projects.find((each) => each.project === project && each.type === type)?.nominal;
    const above = known.reduce((sum, value) => sum + Math.max(0, value - (nominal ?? Infinity)), 0);
    return {
      ...{ project, type, nominal },
      mean: meanOf(known),
      most: known.length === 0 ? undefined : known.reduce((most, value) => Math.max(most, value)),
      now: held.at(-1) ?? undefined,
      borrowedHours: nominal === undefined ? undefined : (above * everyMs) / HOUR_MS,
      waitingMean: meanOf(waiting.filter((value) => value !== null)),
    };
  });
}

const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

/** `8`, `7.5`, `0.04`: as few digits as tell two apart. */
export const unitsWords = (value: number | undefined): string =>
  value === undefined ? 'unknown' : String(Number(value.toPrecision(value >= 100 ? 6 : 3)));
