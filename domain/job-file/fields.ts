import { inLargestUnit } from '../units.js';
import { z } from 'zod';

/**
 * The kinds of value in a job file. Each `error` completes the sentence "X is not ..", which report.ts builds.
 * `null` counts as absent for every key (`ssh: null`), so optional means nullish. All are functions, because no module that
 * workflows share may export a schema (docs/adr/0012).
 */
export const text = (): z.ZodString => z.string({ error: 'text' }).min(1, { error: 'text of one character or more' });
export const flag = (): z.ZodBoolean => z.boolean({ error: 'true or false' });

/** Text that people write without quotes: `RUN: 7`, `EXACT: true`. */
export const scalarText = (): z.ZodUnion<readonly [z.ZodString, z.ZodNumber, z.ZodBoolean]> =>
  z.union([z.string(), z.number(), z.boolean()], { error: "text, a number, true or false ('' for an empty text)" });

export const wholeNumber = (min: number, max: number): z.ZodNumber => {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

export const texts = (): z.ZodArray<z.ZodString> => z.array(text(), { error: 'a list of texts' });

export const textMap = (): z.ZodRecord<z.ZodString, ReturnType<typeof scalarText>> =>
  z.record(z.string(), scalarText(), { error: 'a section of NAME: value' });

export const oneOf = <const Words extends readonly [string, ...string[]]>(
  words: Words,
): z.ZodEnum<{ [Word in Words[number]]: Word }> => z.enum(words, { error: 'one of the allowed words' });

const DURATION_ERROR = 'a number of seconds or a duration such as 90s, 5m or 1h';

const HOURS_PER: Readonly<Record<string, number>> = { d: 24, w: 168 };

/** @param written a text that is not a duration; if it counts days or weeks, the message gives their hours */
function durationError(written: unknown, bound: string | undefined): string {
  const [, count, unit] = /^\s*(\d+(?:\.\d+)?)\s*([dw])(?:ays?|eeks?)?\s*$/i.exec(String(written)) ?? [];
  const hours = Number(count) * (HOURS_PER[unit?.toLowerCase() ?? ''] ?? NaN);
  const inHours = Number.isNaN(hours) ? '' : `; days are no unit here: ${String(written).trim()} is ${hours}h`;
  return `${DURATION_ERROR}${inHours}${bound === undefined ? '' : `; ${bound}`}`;
}

/**
 * A duration: a number of seconds, or `90s`, `5m`, `1h`.
 * @param bound a clause about the longest duration, for messages about a text that is not one
 */
export const duration = (bound?: string): z.ZodUnion<readonly [z.ZodNumber, z.ZodString]> =>
  z.union(
    [
      z.number({ error: DURATION_ERROR }).nonnegative({ error: DURATION_ERROR }),
      z.string().regex(/^\d+(\.\d+)?[smh]$/, { error: ({ input }) => durationError(input, bound) }),
    ],
    {
      error: DURATION_ERROR,
    },
  );

const SECONDS_PER: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** Seconds of a value that `duration` accepts. */
export function secondsOf(value: number | string): number {
  if (typeof value === 'number') return value;
  return Number(value.slice(0, -1)) * (SECONDS_PER[value.slice(-1)] ?? NaN);
}

/** `2h`, `90m` or `45s`, as in a job file. @param seconds a whole number */
export function durationValue(seconds: number): string {
  const { count, unit } = inLargestUnit(seconds);
  return `${count}${unit}`;
}

/** A section with these keys; any other key is a problem. */
export const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> =>
  z.strictObject(shape, { error: 'a section (lines of key: value below it)' });

// Values -------------------------------------------------------------------------------------------------------------

/** The value of a key, or undefined for `null`, by which a job file may say "absent". */
export function given<Value>(value: Value | null | undefined): Value | undefined {
  return value ?? undefined;
}

/** Returns the map with all values as text: people write some without quotes. */
export function textValues(
  map: Readonly<Record<string, string | number | boolean>> | null | undefined,
): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, String(value)]));
}

const hostIndex = () => z.int({ error: 'the index of a host' });

/** Hosts of each slice, by index. */
export const hostIndexes = () =>
  z.union([hostIndex(), z.array(hostIndex()), z.literal('all')], {
    error: 'the index of one host, a list of indexes, or all',
  });
