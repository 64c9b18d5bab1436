import { ActivityFailure, CancellationScope, log, sleep } from '@temporalio/workflow';
import type { MemberNews } from '../../contract/group.js';
import type { RepeatedWorkFound } from '../../contract/job-activities.js';
import type { JobNotice, JobSettings } from '../../contract/job.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { JobMember } from '../../domain/array/group-state.js';
import { type Outcome, JobPhase } from '../../domain/job-state.js';
import type { WorkflowTarget } from '../../domain/notify.js';
import { type JobRecord, recordOf } from '../../domain/counted/record.js';
import type { ShownUsage } from '../../domain/counted/usage.js';
import type { EpochMs } from '../../domain/units.js';
import { type EndHook, type HookReport, hooksAfter } from '../../domain/hooks.js';
import { groupMail, lastRecord, summing, hooking } from '../activity-options.js';
import { type Attempt, attemptInput, type AttemptParts } from './attempt.js';
import { reasonOf } from './claimed-worker.js';
import type { JobFile } from './job-file.js';
import type { Notices } from './notices.js';
import type { Recovery } from './recovery.js';
import { SignalLines } from './signal-lines.js';
import type { JobStory } from './story.js';
import type { Slices } from './slices.js';
import type { JobUsage } from './usage.js';

/** The parts of a job that store and tell its end. */
interface EndParts {
  readonly job: JobRef;
  readonly story: JobStory;
  readonly notices: Notices;
  readonly file: JobFile;
  readonly settings: JobSettings;
  readonly usage: JobUsage;
}

/** Stores the outcome, then tells the job's targets, so that they find it. Call it in a nonCancellable scope. */
export async function tellEnd(parts: EndParts, outcome: Outcome): Promise<void> {
  const { story, notices } = parts;
  const isStored = await storeOutcome(parts, outcome);
  const told = await notices.tellEnd(outcome);
  for (const each of told) story.note(each);
  // Once more, with the lines about those who were told.
  if (told.length > 0 && isStored) await storeOutcome(parts, outcome);
}

/**
 * A store that does not take the outcome is asked again for some hours, and the job says so. The outcome is final all the same:
 * the workflow's result and memo hold it. False: it was not stored.
 */
export async function storeOutcome(parts: Omit<EndParts, 'notices'>, outcome: Outcome): Promise<boolean> {
  const { job, story } = parts;
  const giveUpAt = Date.now() + STORE_PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      const counted = countedRecord(parts, outcome);
      const call = lastRecord(`store the outcome: ${outcome.result}`);
      await call.recordOutcome({ job, outcome, events: story.events, counted });
      story.trouble({ kind: 'outcome-not-stored', facts: { isOver: true } });
      return true;
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      const reason = reasonOf(error);
      const hasGivenUp = Date.now() + pauseMs > giveUpAt;
      story.trouble({ kind: 'outcome-not-stored', facts: { reason, hasGivenUp } });
      if (hasGivenUp) {
        log.error(`the outcome could not be stored: ${reason}`);
        return false;
      }
      await sleep(pauseMs, { summary: 'before the outcome is stored' });
    }
  }
}

/** The account of the job, as the day files have it (docs/counted.md). */
function countedRecord(parts: Omit<EndParts, 'notices'>, outcome: Outcome): JobRecord {
  return recordWith(parts, parts.usage.shown, outcome);
}

/** The account of a job that was terminated, as far as its workflow knew: it says in which part each chip was last. */
export function accountAt(
  { recovery, ...parts }: Omit<EndParts, 'notices'> & { readonly recovery: Recovery },
  endedAt: EpochMs,
): JobRecord {
  return recordWith(parts, parts.usage.shownAt(endedAt), {
    ...recovery.outcome('cancelled'),
    ...{ result: 'terminated', endedAt },
  });
}

/** The facts of an end that the account needs. */
type Counted = Pick<
  JobRecord,
  'result' | 'attempts' | 'preemptions' | 'quotaPreemptions' | 'submittedAt' | 'startedAt' | 'endedAt'
>;

function recordWith(
  { job, file, settings, usage }: Omit<EndParts, 'notices'>,
  shown: ShownUsage,
  end: Counted,
): JobRecord {
  const { leaving, lostMarks } = usage;
  const { result, attempts, preemptions, quotaPreemptions, submittedAt, startedAt, endedAt } = end;
  return recordOf(file.spec, shown, {
    job: job.id,
    run: job.run,
    user: settings.user,
    project: settings.project,
    ...{ result, attempts, preemptions },
    ...(quotaPreemptions !== undefined && { quotaPreemptions }),
    ...(lostMarks !== undefined && { lostMarks }),
    ...(settings.label !== undefined && { label: settings.label }),
    submittedAt,
    ...(startedAt !== undefined && { startedAt }),
    endedAt,
    ...(leaving.length > 0 && { leaving }),
  });
}

const STORE_PATIENCE_MS = 6 * 3_600_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/**
 * Tells a member's group that its outcome is known. Never throws: a group that hears nothing finds the end itself, later
 * (docs/adr/0157). Call it in a nonCancellable scope.
 */
export async function tellGroup(
  member: JobMember | undefined,
  result: MemberNews['result'],
  lends?: JobRef,
): Promise<void> {
  if (member === undefined) return;
  const { group, index, round = 0 } = member;
  try {
    await groupMail(`tell ${group}: ${result}`).tellGroup({
      group,
      news: { v: 1, index, round, result, ...(lends && { lends }) },
    });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn(`group ${group} was not told of the end: ${reasonOf(error)}`);
  }
}

/** Tells workflows the end of a job that no worker accepted. Never throws. Call it in a nonCancellable scope. */
export async function tellWorkflows(targets: readonly WorkflowTarget[], notice: JobNotice): Promise<void> {
  const lines = new SignalLines();
  for (const target of targets) lines.tell(target, notice);
  await lines.settled();
}

/**
 * Adds the work that attempts did twice to the outcome (docs/adr/0135). Nothing is read for a job of one attempt, or for a
 * cancelled one, whose user does not wait for it. Never throws: without an answer the summary does not mention it.
 */
export async function withDoneTwice(
  { job, attempt, usage }: { readonly job: JobRef; readonly attempt: Attempt; readonly usage: JobUsage },
  outcome: Outcome,
): Promise<Outcome> {
  if (attempt.number < 2 || outcome.result === 'cancelled' || outcome.doneTwice !== undefined) return outcome;
  const find = () => summing('read what was done twice').findDoneTwice({ job, attempts: attempt.number });
  try {
    // A worker of an earlier build answers with nothing.
    const { doneTwice, lost } = ((await CancellationScope.nonCancellable(find)) as RepeatedWorkFound | undefined) ?? {};
    usage.lost(lost);
    return doneTwice ? { ...outcome, doneTwice } : outcome;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn(`nobody read what was done twice: ${reasonOf(error)}`);
    return outcome;
  }
}

interface HookParts extends AttemptParts {
  readonly story: JobStory;
  readonly slices: Slices;
}

/**
 * Runs the job's end hooks, before its slices are deleted (docs/adr/0048). A cancel does not end them; their timeouts do.
 * @returns the outcome, which no hook changes, with a report on each hook
 */
export async function afterHooks(parts: HookParts, outcome: Outcome): Promise<Outcome> {
  // In a job that was reset, the stored outcome has their reports.
  const names = outcome.hooks === undefined ? hooksAfter(outcome.result, parts.file.spec.hooks) : [];
  if (names.length === 0) return outcome;
  const hooks: HookReport[] = [];
  await CancellationScope.nonCancellable(async () => {
    for (const name of names) {
      const report = await runHook(parts, name, outcome);
      parts.story.note({ kind: 'hook-ended', facts: report });
      hooks.push(report);
    }
  });
  return { ...outcome, hooks };
}

async function runHook(parts: HookParts, hook: EndHook, outcome: Outcome): Promise<HookReport> {
  const { attempt, slices, story, file, settings } = parts;
  const seconds = file.spec.hooks?.[hook]?.seconds ?? 0;
  if (attempt.firstStartedAt === undefined) return { hook, status: 'not-run', message: 'the command never began' };
  if (slices.ready.length === 0) return { hook, status: 'not-run', message: 'the job has no slice any more' };
  story.move(JobPhase.Finishing, { kind: 'hook-started', facts: { result: outcome.result, hook, seconds } });
  const call = hooking(seconds * 1000, settings.timings.heartbeatTimeoutMs)(`run the hook ${hook}`);
  try {
    return await call.runHook({ ...attemptInput(parts, slices.ready), hook, outcome });
  } catch (error) {
    return { hook, status: 'unknown', message: `no worker saw its end: ${reasonOf(error)}` };
  }
}
