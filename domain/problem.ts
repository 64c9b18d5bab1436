import { visibleText } from './outside-text.js';

/** The place of a value in a job or quota file: keys and list indexes, from the top. */
export type Path = readonly (string | number)[];

/** One problem of a file: its kind, place, value and remedy. Plain JSON. */
export interface Problem {
  /** The file's name as the user gave it, or the flag that gave the value, such as `--set slices=0`. */
  readonly file?: string;
  /** 1-based line of the value, or of the key if the key is wrong or the value is missing. */
  readonly line?: number;
  /** 1-based column. */
  readonly column?: number;
  readonly path: Path;
  /** The offending value, if there is one. */
  readonly value?: unknown;
  readonly message: string;
  /** The allowed values and the nearest known word, in one line or more. */
  readonly hint?: string;
  /** Says whether the key or its value is wrong. Absent: the value. */
  readonly at?: 'key' | 'value';
}

/** `tpu.zones[1]`, or empty for the whole file. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, '');
}

/** The last key with the list indexes behind it, for a problem whose position already tells the rest. */
function lastKey(path: Path): string {
  const keyAt = path.findLastIndex((segment) => typeof segment === 'string');
  return formatPath(path.slice(Math.max(keyAt, 0)));
}

/**
 * `train.yaml:7:16: accelerator: 'v5litepod-17' is no Cloud TPU type`, with the hint's lines indented below. If the position is
 * not the problem's own (a flag's value, a missing key), the whole key is given: `tpu.accelerator`.
 */
export function formatProblem(problem: Problem): string {
  const { file, line, column, path, message, hint } = problem;
  const place = line === undefined ? file : `${file ?? 'job file'}:${line}:${column ?? 1}`;
  const isPlaceExact = line !== undefined && (problem.value !== undefined || problem.at === 'key');
  const key = isPlaceExact ? lastKey(path) : formatPath(path);
  const head = [place, key, message].filter((part) => part !== undefined && part !== '').join(': ');
  // Keys and values may be any text that a user wrote.
  return [visibleText(head), ...(hint?.split('\n') ?? []).map((text) => `  ${visibleText(text)}`)].join('\n');
}

/** Problems shown of one file. A user who fixes them is shown the next ones. */
const MOST_SHOWN = 50;

/** The first problems, each formatted by `formatProblem`, and the number of the others. */
export function formatProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, MOST_SHOWN).map(formatProblem);
  const more = problems.length - shown.length;
  return [...shown, ...(more === 0 ? [] : [`.. and ${more} more ${more === 1 ? 'problem' : 'problems'}`])].join('\n');
}

/** Most characters of a failure's message. It crosses Temporal twice, also in the stack, and a task may bring at most 4 MiB. */
const MOST_CHARACTERS = 32_768;

/** Cuts a message with parts from outside, such as a key of a megabyte, to the length that a failure may have. */
export const shortened = (message: string): string =>
  message.length <= MOST_CHARACTERS
    ? message
    : `${message.slice(0, MOST_CHARACTERS)}\n.. and ${message.length - MOST_CHARACTERS} characters more`;

/** Rough length of a value shown in a message. */
const SHOWN_CHARACTERS = 60;

/** The form of a value in messages: text in single quotes, the rest as JSON, long ones cut. */
export function showValue(value: unknown): string {
  const isJson = typeof value === 'object' && value !== null;
  const text = typeof value === 'string' ? `'${value}'` : isJson ? JSON.stringify(value) : String(value);
  const line = text.replaceAll('\n', '\\n');
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS - 3)}...`;
}
