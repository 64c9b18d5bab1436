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
  const { name, output, wait } = flags;
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
  if (output === 'json') process.stdout.write(`${JSON.stringify({ id: submitted.id })}\n`);
  if (wait !== true) {
    announce(submitted, context, output === 'json');
    return ExitCode.Done;
  }
  const { openScreen } = await import('../watch/screen.js');
  const screen = openScreen(output === 'json');
  for (const line of header(submitted, context)) screen.line({ live: line, plain: line });
  return follow(client, context, submitted.id, screen, output === 'json');
}

async function follow(
  client: JobClient,
  context: CliContext,
  id: string,
  screen: Screen,
  isJson: boolean,
): Promise<number> {
  const [{ followToEnd }, { watchEnd }] = await Promise.all([
    import('../watch/follow-to-end.js'),
    import('../watch/interruptions.js'),
  ]);
  const { exitCode, row } = await followToEnd({
    client,
    context,
    id,
    screen,
    withLogs: true,
    signal: watchEnd(),
  });
  if (isJson && row)
    process.stdout.write(`${JSON.stringify({ id, phase: row.phase, exitCode, outcome: row.outcome })}\n`);
  return exitCode;
}

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
