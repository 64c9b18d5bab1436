import { shellWords } from '../../../domain/shell-quote.js';
import { typedCommand } from '../../terminal/print.js';

/** The answer to a command line of another tool. */
export interface Answer {
  /** Owner of the line, as the beginning of a sentence: `JobMan's`. */
  readonly whose: string;
  /** Words of a jobctl command that does exactly the same. It is run. */
  readonly runs?: readonly string[];
  /** Otherwise command lines that do the same, ready to paste. */
  readonly lines?: readonly string[];
  /** Differences between the tools, and losses. */
  readonly notes?: readonly string[];
}

// Owners of a line, as a sentence begins.
export const JOBMANS = "JobMan's";
export const AXLEARNS = "AXLearn's";
export const ASTERAS = "Astera launch's";
export const SKYPILOTS = "SkyPilot's";
export const SLURMS = "Slurm's";
export const ANOTHERS = "another tool's";

export const behind = (command: readonly string[] | undefined): readonly string[] =>
  command === undefined ? [] : ['--', ...command];
export const line = (...words: readonly string[]): string => `${typedCommand()} ${shellWords(words)}`;
export const plain = (args: readonly string[]): readonly string[] => args.filter((word) => !word.startsWith('-'));
export const jobsOf = (args: readonly string[]): readonly string[] =>
  plain(args).length === 0 ? ['JOB'] : plain(args);
export const firstOf = (args: readonly string[]): string => plain(args)[0] ?? 'JOB';

/** The value of `--name VALUE` or `--name=VALUE`. */
export function valueOf(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((word) => word === name || word.startsWith(`${name}=`));
  const word = args[at];
  if (word === undefined) return undefined;
  return word === name ? args[at + 1] : word.slice(name.length + 1);
}
