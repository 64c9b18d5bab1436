import { askedMachines } from '../../../domain/machines.js';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { isValidJobId, JOB_ID_RULE } from '../../../domain/identity.js';
import { showValue } from '../../../domain/problem.js';
import type { JobClient } from '../../job-client.js';
import type { Submitted } from '../../submissions.js';
import { farBuckets } from '../bucket-regions.js';
import { CliError } from '../cli-error.js';
import { storeForFiles, withClient } from '../connect.js';
import { localContext, resolveContext } from '../context.js';
import type { CliContext, ContextFlags } from '../context.js';
import { billedLine } from '../dev/billed-line.js';
import { readDevContext } from '../dev/context.js';
import { stackHome } from '../dev/home.js';
import { ExitCode } from '../exit-codes.js';
import { readJobFile, tellWarnings } from '../job-file.js';
import { checkJobKeys, type JobKeys } from '../job-keys.js';
import type { GoodJob } from '../job-file.js';
import type { OutputFlag } from '../options.js';
import { removeScratchFolder } from '../packing/scratch-folder.js';
import { jobHeader, nextCommands } from '../render/job-header.js';
import { TransferLine } from '../render/transfer-line.js';
import type { ProgressLine } from '../render/progress.js';
import type { VerdictQuestion } from '../submitting/first-verdict.js';
import { refuseQuotedWords } from '../submitting/quoted-words.js';
import { watchEnd } from '../watch/interruptions.js';
import type { Screen } from '../watch/screen.js';

export interface SubmitFlags extends ContextFlags, OutputFlag {
  readonly local?: true;
  readonly wait?: true;
  readonly name?: string;
  readonly set?: readonly string[];
  readonly project?: string;
  readonly user?: string;
  readonly priority?: number;
  readonly bundle?: string;
  /** False: `--no-verdict`. */
  readonly verdict?: boolean;
  readonly literalQuotes?: true;
}

export async function submit(
  file: string,
  flags: SubmitFlags,
  command: readonly string[] | undefined,
): Promise<number> {
  const { name, set = [], project, user, priority } = flags;
  const bundle = flags.bundle === undefined ? undefined : resolve(flags.bundle);
  if (name !== undefined && !isValidJobId(name)) {
    throw new CliError(ExitCode.Usage, `--name: ${showValue(name)} is not ${JOB_ID_RULE}`);
  }
  if (flags.literalQuotes !== true) refuseQuotedWords(file, command ?? []);
  const job = await readJobFile(file, { set, overrides: { project, user, priority, bundle, command } });
  tellWarnings(file, job.warnings);
  const context = flags.local === true ? await onLocalStack(flags) : configured(flags);
  // Beside all that follows.
  const farAway = farBuckets({ ...job.spec, zones: askedMachines(job.spec).zones }, context);
  const keys = await checkJobKeys({ file, set, source: job.source }, job.spec, context);
  tellWarnings(file, keys.warnings);
  const store = await storeForFiles(job.files, context);
  const uploading = new TransferLine('uploading');
  const wish = { ...job, ...keys, file, farAway, uploading };
  const means = { ...(store && { store }), onUpload: uploading.show };
  return withClient(context, (client) => submitTo(client, context, wish, flags), means);
}

/** A local stack on real Cloud TPU says so, as `dev up` does: somebody may take it for the rehearsal. */
function configured(flags: ContextFlags): CliContext {
  const context = resolveContext(flags);
  const stack = readDevContext(stackHome());
  const isStack = stack !== undefined && stack.temporal.address === context.temporal.address;
  if (isStack && stack.rehearsal === undefined) process.stderr.write(`${billedLine(stack)}\n`);
  return context;
}

async function onLocalStack(flags: ContextFlags): Promise<CliContext> {
  const { devUp } = await import('../dev/up.js');
  const stack = await devUp({ onProgress: (line) => void process.stderr.write(`${line}\n`) });
  return localContext(stack, flags);
}

interface CheckedJob extends GoodJob, Pick<JobKeys, 'sshKey' | 'identityKeys'> {
  readonly file: string;
  /** Warnings; it never rejects. */
  readonly farAway: Promise<readonly string[]>;
  readonly uploading: TransferLine;
}

async function submitTo(client: JobClient, context: CliContext, job: CheckedJob, flags: SubmitFlags): Promise<number> {
  const { name, output, wait, verdict = true } = flags;
  const submission = await client
    .submit({
      job: job.raw,
      source: job.source,
      user: userInfo().username,
      files: job.files,
      ...(job.sshKey === undefined ? {} : { sshKey: job.sshKey }),
      ...(job.identityKeys === undefined ? {} : { identityKeys: job.identityKeys }),
      ...(name === undefined ? {} : { name }),
    })
    .finally(() => job.uploading.end());
  // Of an archive nothing is left here while the job is waited for.
  removeScratchFolder();
  tellWarnings(job.file, await job.farAway);
  const submitted = { ...submission, isPricingSaid: !job.leftToPool.includes('pricing') };
  const isJson = output === 'json';
  if (wait !== true && !verdict) {
    if (isJson) printJson({ id: submitted.id });
    announce(submitted, context, isJson);
    return ExitCode.Done;
  }
  const { openScreen } = await import('../watch/screen.js');
  const screen = openScreen(isJson);
  const question = { client, context, id: submitted.id, screen, signal: watchEnd() };
  if (wait === true) {
    if (isJson) printJson({ id: submitted.id });
    for (const line of header(submitted, context)) screen.line(both(line));
    return follow(question, isJson, verdict);
  }
  return answer(question, submitted, flags);
}

type Watched = VerdictQuestion & { readonly client: JobClient; readonly screen: Screen };

/** The first verdict on a job that nobody follows. @throws CliError if it was refused */
async function answer(question: Watched, submitted: Announced, { output, name }: SubmitFlags): Promise<number> {
  const { id, context, screen } = question;
  const isJson = output === 'json';
  const isPiped = !process.stdout.isTTY;
  // The id is out before anything is waited for: a script that is interrupted then has it.
  if (isPiped && !isJson) process.stdout.write(`${id}\n`);
  for (const line of header(submitted, context)) screen.line(both(line));
  const [{ firstVerdict }, words] = await Promise.all([
    import('../submitting/first-verdict.js'),
    import('../render/first-verdict.js'),
  ]);
  screen.line({ plain: words.VERDICT_IS_WAITED_FOR });
  screen.current(words.VERDICT_IS_WAITED_FOR);
  const verdict = await firstVerdict(question).finally(() => screen.current(undefined));
  if (verdict === undefined) return (await import('../watch/follow-to-end.js')).interrupted(id, screen);
  if (isJson) printJson({ id, verdict });
  if (verdict.kind === 'refused')
    throw new CliError(ExitCode.Refused, ...words.refusalLines(id, verdict.message, name !== undefined));
  for (const line of words.verdictLines(id, verdict, Date.now())) screen.line(both(line));
  if (!isPiped && !isJson) process.stdout.write(`${nextCommands(id).join('\n')}\n`);
  return ExitCode.Done;
}

async function follow(question: Watched, isJson: boolean, withVerdict: boolean): Promise<number> {
  const { followToEnd } = await import('../watch/follow-to-end.js');
  const over = new AbortController();
  question.signal.addEventListener('abort', () => over.abort());
  if (withVerdict) void tellVerdict({ ...question, signal: over.signal });
  const { exitCode, row } = await followToEnd({ ...question, withLogs: true }).finally(() => over.abort());
  if (isJson && row) printJson({ id: question.id, phase: row.phase, exitCode, outcome: row.outcome });
  return exitCode;
}

/** What phases alone do not tell of a job that is followed: its place in line, and that nobody works. */
async function tellVerdict(question: Watched): Promise<void> {
  const { firstVerdict } = await import('../submitting/first-verdict.js');
  // Whatever goes wrong, the following meets it too.
  const verdict = await firstVerdict(question).catch(() => undefined);
  if (verdict === undefined || verdict.kind === 'granted' || verdict.kind === 'ended' || question.signal.aborted)
    return;
  const { verdictLines } = await import('../render/first-verdict.js');
  for (const line of verdictLines(question.id, verdict, Date.now())) question.screen.line(both(line));
}

const both = (line: string): ProgressLine => ({ live: line, plain: line });
const printJson = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

interface Announced extends Submitted {
  /** False: the file leaves its pricing to the pool. */
  readonly isPricingSaid: boolean;
}

/** On a terminal the header and what comes next; in a pipe the id alone on stdout, the rest on stderr. */
function announce(submitted: Announced, context: CliContext, isJson: boolean): void {
  const lines = header(submitted, context);
  if (process.stdout.isTTY && !isJson) {
    process.stdout.write(`${[...lines, ...nextCommands(submitted.id)].join('\n')}\n`);
    return;
  }
  process.stderr.write(`${lines.join('\n')}\n`);
  if (!isJson) process.stdout.write(`${submitted.id}\n`);
}

function header({ id, spec, isNew, isPricingSaid }: Announced, { label }: CliContext): readonly string[] {
  const again = isNew ? [] : [`${id} was submitted before with the same content: it is that job`];
  return [jobHeader(id, spec, label, isPricingSaid), ...again];
}
