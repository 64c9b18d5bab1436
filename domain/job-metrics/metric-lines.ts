import { visibleText } from '../outside-text.js';
import type { EpochMs } from '../units.js';

/** The values that a program told by one line (docs/job-metrics.md). */
export interface ToldMetrics {
  /** A whole number from 0 on. Absent: the line has none. */
  readonly step?: number;
  /** The program's own time. Absent: the time at which the line was read counts. */
  readonly at?: EpochMs;
  /** Infinite and NaN as they were told: a loss that is no number any more is news. */
  readonly values: readonly (readonly [name: string, value: number])[];
  /** Values without a usable name or number. */
  readonly refused: number;
}

/** Stands before the values, anywhere in a line of output. */
export const METRIC_WORD = 'JOBCTL_METRIC';
/** The metric under which the steps themselves are kept. */
export const STEP_METRIC = 'step';
/** Longest name, in UTF-16 units. */
export const MOST_NAME = 128;
/** Longest line of output, and longest line of the file, that is read: further bytes are ignored, or the line is. */
export const MOST_LINE_BYTES = 8_192;
export const MOST_JSON_BYTES = 65_536;
const MOST_VALUES = 1_000;

/** Names of the step: jobctl's, and those of Lightning and W&B. */
const STEP_NAMES: readonly string[] = [STEP_METRIC, 'global_step', 'trainer/global_step', '_step'];
/** The time of a line in seconds since 1970, as W&B names it. */
const TIME_NAME = '_timestamp';
/** Times outside of these are no times of a training: 2000 and 2100. */
const [EARLIEST_SECONDS, LATEST_SECONDS] = [946_684_800, 4_102_444_800];

/** Most names: looked for first, because the tests of any script cost ten times as much. */
const PLAIN_NAME = /^[\w./:@%+-]+$/;
/** Letters of any script, and what names of W&B and TensorBoard have: `train/loss`, `eval/acc@5`. */
const TEXT_NAME = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_./:@%+-]*$/u;
/** A number, and what a logger may put behind it: a quote, a bracket, a comma. */
const NUMBER = /^([-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?))["'\\,;)\]}]*$/i;

/**
 * Reads a line of output with `JOBCTL_METRIC loss=0.31 acc=0.8 step=120`. Words that are no `NAME=VALUE` are passed over, because
 * a logger may add some.
 * @param line without its end, and without a terminal's colours between the words
 * @returns undefined if the line tells no metric
 */
export function metricsInLine(line: string): ToldMetrics | undefined {
  const at = line.indexOf(METRIC_WORD);
  if (at < 0 || /[\w-]/.test(line.charAt(at - 1))) return undefined;
  const rest = line.slice(at + METRIC_WORD.length);
  if (!/^[:\s]/.test(rest)) return undefined;
  const told: [string, number | undefined][] = [];
  for (const word of rest.slice(1).split(/\s+/, MOST_VALUES)) {
    const equals = word.indexOf('=');
    if (equals <= 0) continue;
    const name = word.slice(0, equals);
    told.push([PLAIN_NAME.test(name) || TEXT_NAME.test(name) ? name : '', numberIn(word.slice(equals + 1))]);
  }
  return told.length === 0 ? undefined : sorted(told);
}

function numberIn(word: string): number | undefined {
  const text = NUMBER.exec(word)?.[1]?.toLowerCase();
  if (text === undefined) return undefined;
  if (!/[a-df-z]/.test(text)) return Number(text);
  return text.includes('nan') ? NaN : text.startsWith('-') ? -Infinity : Infinity;
}

/**
 * Reads a line of `$JOBCTL_METRICS_FILE`: a JSON object, in which Python may have written NaN and Infinity. Texts, lists and
 * objects in it are no values and are passed over.
 * @returns undefined if the line is no JSON object
 */
export function metricsInJson(line: string): ToldMetrics | undefined {
  const read = parsed(line) ?? parsed(line.replace(/([:,[]\s*)(?:NaN|-?Infinity)\b/g, '$1null'));
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined;
  const told: [string, number | undefined][] = [];
  for (const [name, value] of Object.entries(read)) {
    if (told.length >= MOST_VALUES) break;
    if (typeof value === 'number') told.push([name, value]);
    else if (value === null) told.push([name, NaN]);
  }
  return sorted(told);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Tells step and time from values. Of several steps in a line the first counts. */
function sorted(told: readonly (readonly [string, number | undefined])[]): ToldMetrics {
  const values: [string, number][] = [];
  let [refused, step, at]: [number, number | undefined, number | undefined] = [0, undefined, undefined];
  for (const [name, value] of told) {
    if (STEP_NAMES.includes(name)) {
      if (value === undefined || !Number.isSafeInteger(value) || value < 0) refused += 1;
      else step ??= value;
    } else if (name === TIME_NAME) {
      if (value !== undefined && value > EARLIEST_SECONDS && value < LATEST_SECONDS) at ??= Math.round(value * 1000);
    } else if (value === undefined || !isMetricName(name)) refused += 1;
    else if (!name.startsWith('_')) values.push([name, value]);
  }
  return { ...(step !== undefined && { step }), ...(at !== undefined && { at }), values, refused };
}

/** Whether a metric may have this name: it is shown in tables and drawings. */
export const isMetricName = (name: string): boolean =>
  name.length <= MOST_NAME &&
  (PLAIN_NAME.test(name) || (name !== '' && name.trim() === name && visibleText(name) === name));
