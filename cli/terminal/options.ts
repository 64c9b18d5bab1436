import { InvalidArgumentError, Option } from 'commander';
import { SETTINGS } from './settings.js';

/** State of one run of the program: the words after `--` that a verb reads, and the exit code that it sets. */
export interface Invocation {
  /** Undefined if the command line has no `--`. */
  readonly commandWords: readonly string[] | undefined;
  exitCode: number;
}

/** Reads the text of a flag or argument. @throws InvalidArgumentError */
export type Parser = (text: string, before: never) => unknown;

/** One flag of a verb. A bare text is a title in help, for the flags after it. */
export type Flag =
  | Option
  | string
  | readonly [flags: string, what: string, parser?: Parser | undefined, value?: unknown, shownValue?: string];

export interface OutputFlag {
  readonly output: 'text' | 'json';
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text');
}

/** Flags of `ContextFlags`. Help shows only `--context`: the others are the same everywhere and listed by `jobctl help where`. */
export const connectionFlags = (): readonly Flag[] => [
  new Option('--context <name>', 'use this context; `jobctl help where` has other ways'),
  ...serverOptions().map((option) => option.hideHelp()),
];

/** The flags for a worker, which has a configuration file and no contexts. */
export const serverFlags = (): readonly Flag[] => [
  'Where (else the environment, else its configuration):',
  ...serverOptions().filter((option) => option.attributeName() !== 'server'),
];

const serverOptions = (): readonly Option[] =>
  SETTINGS.filter(({ isFlag }) => isFlag).map(
    ({ flag, value, variable, what }) => new Option(`--${flag} ${value}`, `${variable}: ${what}`),
  );

/** The option for the build place of a job file's `build`; the choices are `BUILD_PLACES`. */
export const buildPlaceOption = (): Option =>
  new Option(
    '--build <where>',
    'build the image on this computer (local), or in the cluster, from the commit on the remote (remote; the default for pods and Ray)',
  ).choices(['local', 'remote']);

/** The flags of `GitLeave`: commits that `build` of a job file may use anyway. */
export const BUILD_FLAGS: readonly Flag[] = [
  ['--allow-dirty', 'build the image of a working tree with changes (build)'],
  ['--allow-unpushed', 'build the image of a commit that no remote has (build)'],
];

/** Parser of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Parser of a whole number from `least` to `most`, both included. It throws InvalidArgumentError. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most}.`);
  };
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `90s`, `10m`, `2h`, `1h30m`, `500ms` or seconds without a unit. @returns milliseconds @throws InvalidArgumentError */
export function durationOption(text: string): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^(\d+(ms|s|m|h|d))+$/.test(text)) throw new InvalidArgumentError('A duration such as 90s, 10m or 1h30m.');
  const parts = text.matchAll(/(?<!\d)(\d+)(ms|s|m|h|d)/g);
  return [...parts].reduce((sum, [, count, unit = 's']) => sum + Number(count) * (UNITS_MS[unit] ?? 0), 0);
}
