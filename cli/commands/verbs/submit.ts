import { isValidJobId, JOB_ID_RULE } from '../../../domain/identity.js';
import { jobDocuments } from '../../../domain/job-file/documents.js';
import { showValue } from '../../../domain/problem.js';
import { eachOf } from '../../../domain/semaphore.js';
import { JobNotFound } from '../../../client/errors.js';
import type { Submitted } from '../../../client/submissions.js';
import type { JobClient } from '../../../client/job-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { withClient } from '../../place/connect.js';
import { localContext, resolveContext, shortPlace, type CliContext, type ContextFlags } from '../../place/context.js';
import { lineDefaults, type LaunchFlags, launchJob } from '../../job/launching/launch-job.js';
import { BY_FLAGS, jobFileText, readJobFlags, readJobSource, tellWarnings, type GoodJob } from '../../job/job-file.js';
import type { HostChoice } from '../../jobs/job-filter.js';
import { agreeToOutside } from '../../job/local-files.js';
import { removeScratchFolder } from '../../job/packing/pack-tree.js';
import { tellLine, printErr, printOut, asTyped } from '../../terminal/print.js';
import { announce, answer, both, follow, header, printJson, asSubmitted } from '../../jobs/submitting/after-submit.js';
import { type CheckedJob, configured, submissionOf, withCheckedJob } from '../../jobs/submitting/checked-job.js';
import { readJob, type ReadFlags, refuseNoJob, refuseQuotedWords } from '../../jobs/submitting/read-job.js';
import { hiddenText, shownLines } from '../../jobs/submitting/shown-lines.js';
import { submitSeveral } from './submit-several.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { count } from '../../../domain/units.js';

export interface SubmitFlags extends ReadFlags {
  readonly local?: true;
  readonly wait?: true;
  /** Hosts whose lines `--wait` shows. Absent: the first host that runs the command. */
  readonly host?: HostChoice;
  readonly name?: string;
  /** False: `--no-verdict`. */
  readonly verdict?: boolean;
}

/** @param file absent: `--tpu` and `command` define the job */
export async function submit(
  file: string | undefined,
  flags: SubmitFlags,
  command: readonly string[] | undefined,
): Promise<number> {
  checkFlags(flags);
  refuseNoJob('submit', file, flags, command);
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
      verdicts: (ids) => verdictsOf(ids, flags),
    });
  return submitRead(await readJob(file, source, flags, command), file, flags);
}

/** The first verdicts on jobs that were submitted together. @returns 4 if one of them was refused */
async function verdictsOf(ids: readonly string[], flags: SubmitFlags): Promise<number> {
  const context = flags.local === true ? await onLocalStack(flags) : configured(flags);
  const words = await import('../../jobs/submitting/first-verdict.js');
  return withClient(context, async (client) => {
    const signal = watchEnd();
    const verdicts = await Promise.all(ids.map((id) => words.firstVerdict({ client, context, id, signal })));
    for (const [at, id] of ids.entries()) {
      const verdict = verdicts[at];
      if (verdict === undefined) continue;
      const refused = verdict.kind === 'refused' ? words.refusalLines(id, verdict.message) : [];
      const [first = '', ...more] = words.verdictLines(id, verdict, Date.now());
      for (const line of refused.length > 0 ? refused : [`${id}: ${first}`, ...more]) tellLine(line);
    }
    return verdicts.some((verdict) => verdict?.kind === 'refused') ? ExitCode.Refused : ExitCode.Done;
  });
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
  // Images of a rehearsed cluster are only names: it would build nothing that can be pulled.
  const wish = flags.local === true && flags.build === undefined ? { ...flags, build: 'local' as const } : flags;
  return withCheckedJob(job, named, { context, flags: wish }, (client, submission) =>
    submitTo(client, context, submission, flags, onSubmitted),
  );
}

/** Refuses flags that are wrong for any job. @throws CliError */
export function checkFlags({ name, host, wait, adopt, deleteAfter }: SubmitFlags): void {
  if (deleteAfter === true && adopt === undefined)
    throw new CliError(
      ExitCode.Usage,
      '--delete-after: says what becomes of an adopted TPU VM, and --adopt names none',
      'slices that jobctl makes are always deleted at the end',
    );
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

async function onLocalStack(flags: ContextFlags): Promise<CliContext> {
  const { devUp } = await import('../../local/dev/up.js');
  const stack = await devUp({ onProgress: tellLine });
  return localContext(stack, flags);
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
    .submit({ ...submissionOf(job, context), ...(name === undefined ? {} : { name }) })
    .finally(() => job.uploading.end());
  onSubmitted(submission);
  // No archive is kept here while the job is waited for.
  removeScratchFolder();
  // A server and this computer's own login may say the same.
  tellWarnings(job.file, [...new Set([...(await job.farAway), ...(submission.warnings ?? [])])]);
  if (flags.adopt !== undefined) {
    const { sayWord } = await import('../../jobs/submitting/owners-word.js');
    await sayWord({ client, context, isDeleted: flags.deleteAfter === true }, submission);
  }
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
    return (await import('../../jobs/groups/wait.js')).waitForGroup(
      client,
      id,
      { ...(output && { output }) },
      watchEnd(),
    );
  if (isTerminal)
    printOut(
      asTyped(
        `  jobctl status ${id}   its members\n  jobctl wait ${id}     until all have ended\n  jobctl cancel ${id}   all of them\n`,
      ),
    );
  return ExitCode.Done;
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
