import { resolve } from 'node:path';
import { isValidJobId, JOB_ID_RULE } from '../../../domain/identity.js';
import { jobDocuments } from '../../../domain/job-file/documents.js';
import { sweepOptions } from '../../../domain/job-file/set-option.js';
import { formatProblem, showValue } from '../../../domain/problem.js';
import { eachOf } from '../../../domain/semaphore.js';
import { JobNotFound } from '../../../client/errors.js';
import type { Submitted } from '../../../client/submissions.js';
import type { JobClient } from '../../../client/job-client.js';
import { farBuckets, zonesOfJob, makeRehearsedBuckets } from '../../place/buckets.js';
import { userOf } from '../../place/asker.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { storeForFiles, withClient } from '../../place/connect.js';
import { localContext, resolveContext, shortPlace, type CliContext, type ContextFlags } from '../../place/context.js';
import { builtJob, type BuildWish } from '../../job/building/built-job.js';
import { billedLine } from '../../place/stack/stack-record.js';
import { lineDefaults, type LaunchFlags, launchJob } from '../../job/launching/launch-job.js';
import { readDevContext } from '../../place/stack/context.js';
import { stackHome } from '../../terminal/home.js';
import {
  BY_FLAGS,
  jobFileText,
  readJobFlags,
  readJobSource,
  readJobText,
  tellWarnings,
  type GoodJob,
} from '../../job/job-file.js';
import { checkJobKeys, type JobKeys } from '../../job/job-keys.js';
import type { HostChoice } from '../../jobs/job-filter.js';
import type { OutputFlag } from '../../terminal/options.js';
import { agreeToOutside } from '../../job/local-files.js';
import { removeScratchFolder } from '../../job/packing/pack-tree.js';
import { tellLine, printErr, printOut, asTyped } from '../../terminal/print.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { announce, answer, both, follow, header, printJson, asSubmitted } from '../../jobs/submitting/after-submit.js';
import { hiddenText, shownLines } from '../../jobs/submitting/shown-lines.js';
import { submitSeveral } from './submit-several.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { shellQuote, shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { count } from '../../../domain/units.js';

export interface SubmitFlags extends ContextFlags, OutputFlag, BuildWish {
  readonly local?: true;
  readonly wait?: true;
  /** Hosts whose lines `--wait` shows. Absent: the first host that runs the command. */
  readonly host?: HostChoice;
  readonly name?: string;
  readonly set?: readonly string[];
  readonly sweep?: readonly string[];
  readonly project?: string;
  readonly user?: string;
  readonly priority?: number;
  readonly bundle?: string;
  /** False: `--no-verdict`. */
  readonly verdict?: boolean;
  readonly literalQuotes?: true;
  readonly tpu?: string;
  readonly zone?: string;
  readonly slices?: number;
  readonly pricing?: string;
  readonly spot?: true;
  readonly dryRun?: true;
  readonly allowOutside?: true;
}

/** @param file absent: `--tpu` and `command` define the job */
export async function submit(
  file: string | undefined,
  flags: SubmitFlags,
  command: readonly string[] | undefined,
): Promise<number> {
  checkFlags(flags);
  refuseNoJob(file, flags, command);
  if (flags.literalQuotes !== true) refuseQuotedWords(file, command ?? []);
  if (file === undefined) return submitRead(await readJob(file, '', flags, command), BY_FLAGS, flags);
  const source = readJobSource(file);
  const documents = jobDocuments(source, file);
  if (documents.length > 1)
    return submitSeveral(file, documents, flags, {
      command,
      read: (text) => readJob(file, text, flags, command),
      missingOf: (ids) => missingOf(ids, flags),
      submit: (job, onSubmitted) => submitRead(job, file, { ...flags, verdict: false }, onSubmitted),
    });
  return submitRead(await readJob(file, source, flags, command), file, flags);
}

async function missingOf(ids: readonly string[], flags: SubmitFlags): Promise<ReadonlySet<string>> {
  const context = flags.local === true ? await onLocalStack(flags) : configured(flags);
  const missing = new Set<string>();
  await withClient(context, (client) =>
    eachOf(ids, LOOKED_AT_ONCE, async (id) => {
      try {
        await client.row(id);
      } catch (error) {
        if (!(error instanceof JobNotFound)) throw error;
        if (!error.isGroup) missing.add(id);
      }
    }),
  );
  return missing;
}

const LOOKED_AT_ONCE = 10;

/** @param named the file, or `BY_FLAGS` @param onSubmitted hears of the job as soon as it is there */
export async function submitRead(
  job: GoodJob,
  named: string,
  flags: SubmitFlags,
  onSubmitted: (submitted: Submitted) => void = () => undefined,
): Promise<number> {
  const { set = [] } = flags;
  tellWarnings(named, job.warnings);
  if (flags.dryRun === true) {
    // The local stack, which need not be running here, has neither user nor project.
    const raw = flags.local === true ? job.raw : asSubmitted(job.raw, resolveContext(flags));
    // The output is a job file to keep, so it is printed unchanged.
    process.stdout.write(flags.output === 'json' ? `${JSON.stringify(raw, null, 2)}\n` : jobFileText(raw));
    return ExitCode.Done;
  }
  await agreeToOutside(job.outside, flags);
  const context = flags.local === true ? await onLocalStack(flags) : configured(flags);
  // Runs concurrently with the rest.
  const farAway = zonesOfJob(job.spec, context).then((zones) => farBuckets({ ...job.spec, ...zones }, context));
  const keys = await checkJobKeys({ file: named, set, source: job.source }, job.spec, context);
  tellWarnings(named, keys.warnings);
  // Images of a rehearsed cluster are only names: it would build nothing that can be pulled.
  const wish = flags.local === true && flags.build === undefined ? { ...flags, build: 'local' as const } : flags;
  const built = await builtJob(job, named, wish);
  await makeRehearsedBuckets(context, [job.raw, job.spec], job.files);
  const store = await storeForFiles(job.files, context);
  const uploading = new TransferLine('uploading');
  const submission = { ...built, ...keys, file: named, farAway, uploading };
  const means = { ...(store && { store }), onUpload: uploading.show };
  return withClient(context, (client) => submitTo(client, context, submission, flags, onSubmitted), means);
}

/** Refuses flags that are wrong for any job. @throws CliError */
export function checkFlags({ name, host, wait }: SubmitFlags): void {
  if (name !== undefined && !isValidJobId(name)) {
    throw new CliError(ExitCode.Usage, `--name: ${showValue(name)} is not ${JOB_ID_RULE}`);
  }
  if (host !== undefined && wait !== true)
    throw new CliError(
      ExitCode.Usage,
      'jobctl submit: --host says whose lines --wait shows, and --wait is not given',
      '`jobctl logs JOB --host 0,2` shows the lines of a job that was submitted',
    );
}

/** Reads the job from a file with the flags applied, or from the flags alone. */
function readJob(
  file: string | undefined,
  source: string,
  flags: SubmitFlags,
  command: readonly string[] | undefined,
): Promise<GoodJob> {
  const { project, user, priority, slices, tpu, zone, spot, dryRun: isDry } = flags;
  const set = [...(flags.set ?? []), ...sweptSet(flags)];
  const pricing = spot === true ? 'spot' : flags.pricing;
  const known = { project, user, priority, slices, tpu, zone, pricing, isSpot: spot, command };
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
function sweptSet({ sweep = [] }: SubmitFlags): readonly string[] {
  const options = sweepOptions(sweep);
  if ('message' in options) throw new CliError(ExitCode.Usage, formatProblem(options));
  return options;
}

/** @throws CliError if the command or the machines are not given */
function refuseNoJob(file: string | undefined, { tpu }: SubmitFlags, command: readonly string[] | undefined): void {
  const help = '`jobctl submit --help` shows what there is';
  const example = 'jobctl submit --tpu v5litepod-16 -- python3 train.py';
  if (file === undefined && tpu === undefined)
    throw new CliError(
      ExitCode.Usage,
      'jobctl submit: neither a job file nor --tpu is given',
      `jobctl submit train.yaml, or ${example}`,
      help,
    );
  if (file === undefined && command === undefined)
    throw new CliError(
      ExitCode.Usage,
      'jobctl submit: --tpu without a job file needs a command after --',
      `such as ${example}`,
      help,
    );
}

/** Resolves the context. A local stack on real Cloud TPU is announced, as by `dev up`: a user may take it for the rehearsal. */
function configured(flags: ContextFlags): CliContext {
  const context = resolveContext(flags);
  const stack = readDevContext(stackHome());
  const isStack = stack !== undefined && stack.temporal.address === context.temporal.address;
  if (isStack && stack.rehearsal === undefined) printErr(`${billedLine(stack)}\n`);
  return context;
}

async function onLocalStack(flags: ContextFlags): Promise<CliContext> {
  const { devUp } = await import('../../local/dev/up.js');
  const stack = await devUp({ onProgress: tellLine });
  return localContext(stack, flags);
}

interface CheckedJob extends GoodJob, Pick<JobKeys, 'sshKey' | 'identityKeys'> {
  readonly file: string;
  /** Warnings; the promise never rejects. */
  readonly farAway: Promise<readonly string[]>;
  readonly uploading: TransferLine;
}

async function submitTo(
  client: JobClient,
  context: CliContext,
  job: CheckedJob,
  flags: SubmitFlags,
  onSubmitted: (submitted: Submitted) => void,
): Promise<number> {
  const { name, output, wait, verdict = true } = flags;
  const submission = await client
    .submit({
      job: asSubmitted(job.raw, context),
      source: job.source,
      ...(context.server === undefined && { user: userOf(context) }),
      files: job.files,
      ...(job.sshKey === undefined ? {} : { sshKey: job.sshKey }),
      ...(job.identityKeys === undefined ? {} : { identityKeys: job.identityKeys }),
      ...(name === undefined ? {} : { name }),
    })
    .finally(() => job.uploading.end());
  onSubmitted(submission);
  // No archive is kept here while the job is waited for.
  removeScratchFolder();
  // A server and this computer's own login may say the same.
  tellWarnings(job.file, [...new Set([...(await job.farAway), ...(submission.warnings ?? [])])]);
  if (submission.members !== undefined)
    return afterGroup(client, context, { ...submission, members: submission.members }, flags);
  const submitted = { ...submission, isPricingSaid: !job.leftToPool.includes('pricing') };
  const isJson = output === 'json';
  if (wait !== true && !verdict) {
    if (isJson) printJson({ id: submitted.id });
    announce(submitted, context, isJson);
    return ExitCode.Done;
  }
  const { openScreen } = await import('../../jobs/watch/screen.js');
  const screen = openScreen(isJson);
  const question = { client, context, id: submitted.id, screen, signal: watchEnd() };
  if (wait === true) {
    if (isJson) printJson({ id: submitted.id });
    for (const line of header(submitted, context)) screen.line(both(line));
    const lines = shownLines(submitted.spec, flags.host);
    const text = hiddenText(submitted.id, submitted.spec, lines);
    if (text !== undefined) screen.line(both(text));
    return follow(question, lines, isJson, verdict);
  }
  return answer(question, submitted, isJson);
}

/** A group is there, and its members begin. */
async function afterGroup(
  client: JobClient,
  context: CliContext,
  { id, members, isNew }: Submitted & { readonly members: number },
  { output, wait }: SubmitFlags,
): Promise<number> {
  const isJson = output === 'json';
  const again = isNew ? [] : [`${id} was submitted before with the same content: it is that group`];
  const place = shortPlace(context);
  const lines = [`${id}   group of ${count(members, 'member')}${place === undefined ? '' : `   ${place}`}`, ...again];
  const isTerminal = process.stdout.isTTY && !isJson;
  if (isTerminal) printOut(`${lines.join('\n')}\n`);
  else {
    printErr(`${lines.join('\n')}\n`);
    if (isJson) printJson({ id, members });
    else if (wait !== true) printOut(`${id}\n`);
  }
  if (wait === true)
    return (await import('../../jobs/group.js')).waitForGroup(client, id, { ...(output && { output }) }, watchEnd());
  if (isTerminal)
    printOut(
      asTyped(
        `  jobctl status ${id}   its members\n  jobctl wait ${id}     until all have ended\n  jobctl cancel ${id}   all of them\n`,
      ),
    );
  return ExitCode.Done;
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

/** Flags of `SubmitFlags` that `jobctl launch` has too. */
type Common = Omit<SubmitFlags, 'tpu' | 'zone' | 'slices' | 'pricing' | 'spot' | 'bundle' | 'wait'> & {
  readonly wait?: boolean;
};

/** Builds and submits in one command line, like Astera's launch: the line stands for a job file that is not written. */
export async function launch(line: LaunchFlags & Common, command: readonly string[] | undefined): Promise<number> {
  const { wait: asked, ...own } = line;
  // Like its predecessor, it follows the job: a user who types a command line wants to see the result.
  const isFollowed = asked ?? (own.output !== 'json' && own.verdict !== false && own.dryRun !== true);
  const flags = { ...own, ...(isFollowed && { wait: true as const }) };
  checkFlags(flags);
  if (flags.literalQuotes !== true) refuseQuotedWords(undefined, command ?? []);
  const given = { defaults: lineDefaults(flags, flags.instanceType), folder: process.cwd() };
  const tree = launchJob(flags, (command?.length ?? 0) > 0, given);
  const { set = [], project, user, priority, dryRun: isDry } = flags;
  const overrides = { project, user, priority, command, isLiteral: true };
  const job = await readJobFlags({ tree, set, overrides, ...(isDry === undefined ? {} : { isDry }) });
  return submitRead(job, BY_FLAGS, flags);
}
