import { resolve } from 'node:path';
import { jobDocuments } from '../../../domain/job-file/documents.js';
import { type JobOverrides, sweepOptions } from '../../../domain/job-file/set-option.js';
import { formatProblem, showValue } from '../../../domain/problem.js';
import { shellQuote, shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { type GoodJob, readJobFlags, readJobSource, readJobText } from '../../job/job-file.js';
import type { BuildWish } from '../../job/building/built-job.js';
import { lineDefaults } from '../../job/launching/launch-job.js';
import type { ContextFlags } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';

/** Flags that say what the job is. */
export interface JobFlags extends ContextFlags, OutputFlag, BuildWish {
  readonly set?: readonly string[];
  readonly project?: string;
  readonly user?: string;
  readonly priority?: number;
  readonly bundle?: string;
  readonly literalQuotes?: true;
  readonly tpu?: string;
  readonly zone?: string;
  readonly slices?: number;
  readonly pricing?: string;
  readonly adopt?: string;
  readonly deleteAfter?: true;
  readonly spot?: true;
  readonly allowOutside?: true;
}

/** The same, for verbs that start one job or an array. */
export interface ReadFlags extends JobFlags {
  readonly workspace?: JobOverrides['workspace'];
  readonly sweep?: readonly string[];
  readonly dryRun?: true;
}

/** Reads the one job of a verb that takes a file or flags, as `submit` does. @throws CliError */
export async function readOneJob(
  verb: string,
  file: string | undefined,
  flags: JobFlags,
  command: readonly string[] | undefined,
): Promise<GoodJob> {
  refuseNoJob(verb, file, flags, command);
  if (flags.literalQuotes !== true) refuseQuotedWords(file, command ?? []);
  if (file === undefined) return readJob(file, '', flags, command);
  const source = readJobSource(file);
  const { length } = jobDocuments(source, file);
  if (length > 1) throw new CliError(ExitCode.Usage, `jobctl ${verb}: ${file} is ${length} jobs, and one is wanted`);
  return readJob(file, source, flags, command);
}

/** Reads the job from a file with the flags applied, or from the flags alone. */
export function readJob(
  file: string | undefined,
  source: string,
  flags: ReadFlags,
  command: readonly string[] | undefined,
): Promise<GoodJob> {
  const { project, user, priority, slices, tpu, zone, adopt, spot, workspace, dryRun: isDry } = flags;
  const swept = sweptSet(flags);
  const set = [...(flags.set ?? []), ...swept.keys()];
  const pricing = spot === true ? 'spot' : flags.pricing;
  const known = {
    project,
    user,
    priority,
    slices,
    tpu,
    zone,
    adopt,
    pricing,
    isSpot: spot,
    command,
    workspace,
    saidAs: swept,
  };
  const dry = { mayBeArray: true as const, ...(isDry === undefined ? {} : { isDry }) };
  if (flags.bundle === '')
    throw new CliError(ExitCode.Usage, "--bundle: '' names no folder", '. is the current one: --bundle .');
  if (file === undefined)
    return readJobFlags({
      set,
      overrides: {
        ...known,
        zone: zone ?? lineDefaults(flags, tpu).zone,
        bundle: flags.bundle,
        isLiteral: true,
      },
      ...dry,
    });
  const bundle = flags.bundle === undefined ? undefined : resolve(flags.bundle);
  return readJobText(file, source, { set, overrides: { ...known, bundle }, ...dry });
}

/** @throws CliError for a sweep that is wrong */
function sweptSet({ sweep = [] }: Pick<ReadFlags, 'sweep'>): ReadonlyMap<string, string> {
  const options = sweepOptions(sweep);
  if ('message' in options) throw new CliError(ExitCode.Usage, formatProblem(options));
  return options;
}

/** @throws CliError if the command or the machines are not given */
export function refuseNoJob(
  verb: string,
  file: string | undefined,
  { tpu }: JobFlags,
  command: readonly string[] | undefined,
): void {
  const help = `\`jobctl ${verb} --help\` shows what there is`;
  const example = `jobctl ${verb} --tpu v5litepod-16 -- python3 train.py`;
  if (file === undefined && tpu === undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: neither a job file nor --tpu is given`,
      `jobctl ${verb} train.yaml, or ${example}`,
      help,
    );
  if (file === undefined && command === undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: --tpu without a job file needs a command after --`,
      `such as ${example}`,
      help,
    );
}

/**
 * Refuses words after `--` that are one string in single quotes, as AXLearn's Bastion requires (`-- python3 -c "'..'"`), because
 * it joins words by blanks. Here each word is quoted, so Python would get a string and do nothing, successfully.
 * @throws CliError with the form that was meant
 */
export function refuseQuotedWords(file: string | undefined, words: readonly string[]): void {
  const quoted = words.find(isQuoted);
  if (quoted === undefined) return;
  const meant = words.map((word) => (isQuoted(word) ? (splitShellWords(word)?.[0] ?? word) : word));
  throw new CliError(
    ExitCode.Usage,
    `--: the word ${shown(quoted)} still has its single quotes after your shell has read it`,
    words.length === 1
      ? 'the hosts would look for a command of that name, blanks included'
      : 'jobctl quotes each word itself, so the program would get the quotes too: Python takes that for a string and does nothing',
    `without them: jobctl submit ${file === undefined ? '..' : shellQuote(file)} -- ${meant.length === 1 ? shellQuote(meant[0] ?? '') : shellWords(meant)}`,
    '--literal-quotes passes the quotes on, if that is what you want',
  );
}

const shown = (word: string): string => showValue(word.slice(1, -1));

/** Returns whether a word is `'..'` with nothing outside of its quotes. */
function isQuoted(word: string): boolean {
  return word.length > 2 && /^'(?:[^']|'\\'')*'$/.test(word);
}
