import { visibleText } from './visible-text.js';

/** Where a value stands in a job or quota file: keys and list indexes, from the top. */
export type Path = readonly (string | number)[];

/** One thing that is wrong with a file: what, where, which value, what to do. Plain JSON. */
export interface Problem {
  /** The file as the user named it, or the flag that gave the value, such as `--set slices=0`. */
  readonly file?: string;
  /** 1-based, of the value; of the key where the key is what is wrong or the value is missing. */
  readonly line?: number;
  /** 1-based. */
  readonly column?: number;
  readonly path: Path;
  /** The offending value, where there is one. */
  readonly value?: unknown;
  readonly message: string;
  /** What is allowed and the nearest known word; one line or more. */
  readonly hint?: string;
  /** Whether the key or its value is what is wrong. Absent: the value. */
  readonly at?: 'key' | 'value';
}

/** `tpu.zones[1]`; empty for the whole file. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, '');
}

/** The last key with the list indexes behind it: what a position already says the rest of. */
function lastKey(path: Path): string {
  const keyAt = path.findLastIndex((segment) => typeof segment === 'string');
  return formatPath(path.slice(Math.max(keyAt, 0)));
}

/**
 * `train.yaml:7:16: accelerator: 'v5litepod-17' is no Cloud TPU type`, with the hint's lines indented below. Where the
 * position is not its own (a flag's value, a key that is missing) the key is given whole: `tpu.accelerator`.
 */
export function formatProblem(problem: Problem): string {
  const { file, line, column, path, message, hint } = problem;
  const place = line === undefined ? file : `${file ?? 'job file'}:${line}:${column ?? 1}`;
  const isPlaceExact = line !== undefined && (problem.value !== undefined || problem.at === 'key');
  const key = isPlaceExact ? lastKey(path) : formatPath(path);
  const head = [place, key, message].filter((part) => part !== undefined && part !== '').join(': ');
  // Keys and values are whatever somebody wrote.
  return [visibleText(head), ...(hint?.split('\n') ?? []).map((text) => `  ${visibleText(text)}`)].join('\n');
}

/** Problems that are shown of one file: whoever mends them is shown the next ones. */
const MOST_SHOWN = 50;

/** The first problems, each as `formatProblem` shows it, and how many there are beside them. */
export function formatProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, MOST_SHOWN).map(formatProblem);
  const more = problems.length - shown.length;
  return [...shown, ...(more === 0 ? [] : [`.. and ${more} more ${more === 1 ? 'problem' : 'problems'}`])].join('\n');
}

/** Characters of a failure: it crosses Temporal twice over, in its stack too, and 4 MiB is the most that a task may bring. */
const MOST_CHARACTERS = 32_768;

/** A message whose parts somebody else wrote, such as a key of a megabyte, as long as a failure may be. */
export const shortened = (message: string): string =>
  message.length <= MOST_CHARACTERS
    ? message
    : `${message.slice(0, MOST_CHARACTERS)}\n.. and ${message.length - MOST_CHARACTERS} characters more`;

/** Rough length of a value shown in a message. */
const SHOWN_CHARACTERS = 60;

/** A value as messages show it: text in single quotes, the rest as JSON, long ones cut. */
export function showValue(value: unknown): string {
  const isJson = typeof value === 'object' && value !== null;
  const text = typeof value === 'string' ? `'${value}'` : isJson ? JSON.stringify(value) : String(value);
  const line = text.replaceAll('\n', '\\n');
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS - 3)}...`;
}
