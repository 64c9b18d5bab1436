import { randomInt } from 'node:crypto';
import { askedMachines, formatSlices, kindOfJob, machineKind } from '../../../domain/machines.js';
import { shellWords } from '../../../domain/shell-quote.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import { userOf } from '../../place/asker.js';
import { openReader, withClient } from '../../place/connect.js';
import { makeRehearsedBuckets } from '../../place/buckets.js';
import { bucketOf, type CliContext, resolveContext, storeOf } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { readJobFile, tellWarnings, type GoodJob } from '../../job/job-file.js';
import { checkJobKeys } from '../../job/job-keys.js';
import type { OutputFlag } from '../../terminal/options.js';
import type { ClockState } from '../../local/rehearsal/rehearsal-admin.js';
import { findingsOf, leaksLeft } from '../../local/rehearse/after-the-end.js';
import { type Certificate, exitCodeOfCertificate, renderCertificate } from '../../local/rehearse/certificate.js';
import {
  copySecrets,
  openPrivateStack,
  type PrivateStack,
  requireConfinement,
} from '../../local/rehearse/private-stack.js';
import { builtJob } from '../../job/building/built-job.js';
import type { GitLeave } from '../../job/building/sources.js';
import { preemptAsPlanned } from '../../local/rehearse/preempter.js';
import { DEFAULT_AFTER_MS, preemptionPlan, type NoticeWish } from '../../local/rehearse/preemption-plan.js';
import { DEFAULT_MEASURES, givenMeasure } from '../../../domain/progress-marks.js';
import { asSubmitted } from '../../jobs/submitting/after-submit.js';
import { prefixedSink, openScreen } from '../../jobs/watch/screen.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { LogFollower } from '../../../client/log-follower.js';
import { watchJob } from '../../jobs/watch/watch-job.js';
import { checkedScript, startScript } from './rehearsal-story.js';
import { ownVersions } from '../../terminal/version.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';

export interface RehearseFlags extends OutputFlag, GitLeave {
  readonly preempt?: number;
  readonly notice: NoticeWish;
  readonly script?: string;
  readonly seed?: number;
  readonly timeScale: number;
  readonly progress?: RegExp;
  /** Milliseconds. */
  readonly after: number;
  readonly set?: readonly string[];
  readonly keep?: true;
  readonly unconfined?: true;
  readonly requireResume?: true;
}

const MOST_SEED = 2 ** 32;
const ENDING = 'ending the stack of this rehearsal; a moment';
const toStderr = (line: string): void => printErr(`${line}\n`);

/** Runs the user's own job in a separate stack, preempts it, and prints the cost. Only the certificate goes to stdout. */
export async function rehearse(file: string, flags: RehearseFlags): Promise<number> {
  const read = await readJobFile(file, { set: flags.set ?? [] });
  if (preemptionsWanted(flags) > 0 && !machineKind(kindOfJob(read.spec)).areTakenBack)
    throw new CliError(
      ExitCode.Usage,
      `${file}: nobody takes machines of one's own back, so there is no preemption to rehearse`,
      'to try the job on this computer: jobctl submit --local',
    );
  const { adopts } = askedMachines(read.spec);
  if (adopts !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `${file}: the cloud of a rehearsal has no node ${adopts} to adopt`,
      'to rehearse the job on a slice of its own: --set tpu.adopt=null, and its zone: --set tpu.zone=ZONE',
    );
  tellWarnings(file, read.warnings);
  // The user's own context: secrets and keys of the job must exist there, and its stack gets copies.
  const own = resolveContext({});
  // The warnings do not apply: the worker of a rehearsal is on this computer.
  const { sshKey } = await checkJobKeys({ file, set: flags.set ?? [], source: read.source }, read.spec, own);
  if (flags.script !== undefined) await checkedScript(flags.script);
  // In a rehearsed cluster, images are only names.
  const job = await builtJob(read, file, { ...flags, build: 'local' });
  const seed = flags.seed ?? randomInt(MOST_SEED);
  // Installed before anything is started: a Ctrl-C during the start of the stack ends it too.
  const signal = watchEnd(undefined, Infinity);
  // A second signal does not end the process either: nothing may be left behind.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => toStderr(ENDING));
  toStderr(`REHEARSAL of ${file}, seed ${seed}: nothing of it runs on real Cloud TPUs`);
  const stack = await openPrivateStack({ env: process.env, timeScale: flags.timeScale, onProgress: toStderr });
  try {
    if (signal.aborted) return ExitCode.Interrupted;
    await copySecrets(job.spec, own, stack.context);
    const certificate = await certify(stack, { file, job, own, sshKey, flags, seed, signal });
    if (certificate === undefined) return ExitCode.Interrupted;
    print(certificate, flags.output);
    return exitCodeOfCertificate(certificate, { requiresResume: flags.requireResume === true });
  } finally {
    await leave(stack, flags.keep === true);
  }
}

interface Wish {
  readonly file: string;
  readonly job: GoodJob;
  /** The user's own context, whose project and user name the job runs under. */
  readonly own: CliContext;
  readonly sshKey: string | undefined;
  readonly flags: RehearseFlags;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** Returns undefined if interrupted. */
async function certify(stack: PrivateStack, wish: Wish): Promise<Certificate | undefined> {
  const { file, job, flags, seed, signal } = wish;
  const { admin, context } = stack;
  const confinement = await requireConfinement(admin, flags.unconfined === true);
  await makeRehearsedBuckets(context, [job.raw, job.spec], job.files);
  if (flags.script !== undefined) await startScript(admin, flags.script);
  const { createStore } = await import('../../../cloud/store/gcs.js');
  const place = bucketOf(context, 'nothing can be rehearsed');
  return withClient(
    context,
    async (client) => {
      const row = await runToItsEnd(client, stack, wish);
      if (row === undefined) return undefined;
      const outcome = await client.wait(row.id);
      const store = await openReader(place);
      // The actual speed of the clock, not the requested one.
      const { scale: timeScale } = (await admin.get('clock')) as ClockState;
      const measures = measuresOf(flags);
      const findings = await findingsOf({ job: row.id, outcome, store, admin, measures, timeScale });
      const leaks = await leaksLeft(context, signal);
      if (signal.aborted) return undefined;
      return {
        ...{ v: 1, label: 'REHEARSAL', file, job: row.id, slice: formatSlices(job.spec), outcome, ...findings },
        ...{ wantedPreemptions: preemptionsWanted(flags), leaks, timeScale, confinement, seed },
        again: againOf(file, flags, seed),
        versions: ownVersions(),
      };
    },
    { store: createStore(place) },
  );
}

/** Submits the job, shows it and preempts it. Returns undefined if interrupted. */
async function runToItsEnd(
  client: JobClient,
  { context, admin }: PrivateStack,
  { job, own, sshKey, flags, seed, signal }: Wish,
): Promise<JobRow | undefined> {
  const { id } = await client.submit({
    ...{ job: asSubmitted(job.raw, own), source: job.source, user: userOf(own), files: job.files },
    ...(sshKey === undefined ? {} : { sshKey }),
    // The stack has no other job, so the file's own name is free.
    name: job.spec.name,
  });
  const store = await openReader(storeOf(context, 'nothing can be rehearsed'));
  const screen = openScreen(true);
  const logs = new LogFollower(store, { job: id, stream: 'command', firstAttempt: 1 }, prefixedSink(screen));
  const done = new AbortController();
  const end = (): void => done.abort();
  signal.addEventListener('abort', end, { once: true });
  const plan = preemptionPlan(seed, preemptionsWanted(flags), flags.notice);
  const { timeScale, after: patienceMs } = flags;
  const parts = { client, store, admin, job: id, measures: measuresOf(flags), timeScale, patienceMs };
  const tell = (line: string): void => toStderr(`${screen.look.symbols.note} ${line}`);
  const preempting = preemptAsPlanned({ ...parts, signal: done.signal, tell }, plan);
  // A failed preempter ends the watching: otherwise nothing would report the failure.
  preempting.catch(end);
  const row = await watchJob({ client, id, screen, logs, signal: done.signal });
  end();
  await preempting;
  return row;
}

const measuresOf = ({ progress }: RehearseFlags) =>
  progress === undefined ? DEFAULT_MEASURES : [givenMeasure(progress)];

/** One preemption by default, unless a script injects faults. */
const preemptionsWanted = ({ preempt, script }: RehearseFlags): number => preempt ?? (script === undefined ? 1 : 0);

function againOf(file: string, flags: RehearseFlags, seed: number): string {
  const { preempt, notice, script, timeScale, progress, after, set = [], unconfined } = flags;
  const noticeWord = typeof notice === 'string' ? notice : `${notice.ms}ms`;
  const words: readonly (readonly [string, string] | readonly [])[] = [
    preempt === undefined ? [] : ['--preempt', String(preempt)],
    notice === 'mixed' ? [] : ['--notice', noticeWord],
    script === undefined ? [] : ['--script', script],
    timeScale === 1 ? [] : ['--time-scale', String(timeScale)],
    progress === undefined ? [] : ['--progress', progress.source],
    after === DEFAULT_AFTER_MS ? [] : ['--after', `${after}ms`],
    ...set.map((each) => ['--set', each] as const),
  ];
  const last = unconfined === true ? ['--unconfined'] : [];
  return shellWords(['jobctl', 'rehearse', file, ...words.flat(), '--seed', String(seed), ...last]);
}

function print(certificate: Certificate, output: OutputFlag['output']): void {
  const width = terminalWidth(process.stdout);
  const text =
    output === 'json' ? JSON.stringify(certificate, null, 2) : renderCertificate(certificate, width).join('\n');
  printOut(`${text}\n`);
}

async function leave(stack: PrivateStack, isKept: boolean): Promise<void> {
  if (!isKept) return stack.remove();
  stack.keep();
  toStderr(`The stack is kept, and runs: export JOBCTL_HOME=${stack.home}`);
  toStderr(asTyped(`  jobctl logs, jobctl rehearsal journal .. look at it; jobctl dev down --purge --yes removes it`));
}
