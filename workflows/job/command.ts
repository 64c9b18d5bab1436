import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact } from '../../domain/recovery/facts.js';
import { withReaction } from '../../domain/job-events/kinds.js';
import { outputsWaitMs } from '../../domain/outputs.js';
import { firstEnd, firstSave, type StopNotice } from '../../domain/early-end.js';
import { stopping } from '../activity-options.js';
import type { Attempt, GivenBackEnd, Interrupted, RunDurationOver } from './attempt.js';
import { hostsOf, idlenessOf, silenceOf, watchSummary } from './attempt-record.js';
import { type ClaimedWorker, reasonOf } from './claimed-worker.js';
import {
  byGivingBack,
  bySilence,
  type Interruption,
  type Interruptions,
  type Met,
  runClock,
  sliceClock,
  workspaceClock,
} from './interruption.js';
import type { Slices } from './slices.js';
import type { JobStory } from './story.js';

export interface CommandParts {
  readonly story: JobStory;
  readonly attempt: Attempt;
  readonly interruptions: Interruptions;
  readonly slices: Slices;
}

/** The end of a supervision. Undefined: its worker is gone. */
type Watched = AttemptEnd | undefined;
/** Ends that leave the command running: a silence or an idleness may have been found before it was stopped. */
type UnderWay = Extract<AttemptEnd, { kind: 'still-running' | 'handed-over' | 'no-output' | 'idle' }>;
type OwnEnd = Exclude<AttemptEnd, UnderWay>;

/**
 * The command of an attempt. One activity on the claimed worker starts and watches it. It is stopped by another activity, at
 * once, while the supervision goes on, ships the last lines and then ends by itself.
 */
export class Command {
  readonly #worker: ClaimedWorker;
  readonly #parts: CommandParts;

  constructor(worker: ClaimedWorker, parts: CommandParts) {
    this.#worker = worker;
    this.#parts = parts;
  }

  /** Starts the command, or attaches to it, and watches it. @throws a cancellation, after the command was stopped */
  async untilEnded(
    input: AttemptInput,
  ): Promise<Exclude<AttemptEnd, { kind: 'idle' }> | Interrupted | RunDurationOver | GivenBackEnd | undefined> {
    const { attempt, interruptions, slices } = this.#parts;
    const isFirst = !attempt.isRunning;
    attempt.runs();
    const watching = this.#watch(input, isFirst);
    const cancelled = CancellationScope.current().cancelRequested;
    const runs =
      input.spec.workspace === undefined
        ? runClock(input.spec.timeouts?.run, attempt.lastedMs)
        : workspaceClock(input.spec.timeouts?.run, attempt.sinceFirstStartMs);
    const lives = sliceClock(firstSave(slices.views, input.spec.graceSeconds), firstEnd(slices.views));
    let first: Watched | Met;
    try {
      first = await Promise.race([watching, cancelled, interruptions.met(), ...runs.late, ...lives.late]);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(() => this.#stop(input, watching, CANCELLED));
      throw error;
    } finally {
      runs.stop();
      lives.stop();
    }
    if (first?.kind !== 'interrupted' && first?.kind !== 'no-output' && first?.kind !== 'idle')
      return this.#noted(first);
    if (first.kind === 'no-output' && first.stacks !== undefined)
      this.#parts.story.note({ kind: 'stacks-stored', facts: { job: input.job.id, attempt: input.attempt } });
    const interruption = interruptionBy(first, input.spec);
    const end = await CancellationScope.nonCancellable(() => this.#interrupt(input, watching, interruption));
    if (end !== undefined) return end;
    if (interruption.why.kind === 'run-duration-over') return { kind: 'run-duration-over', ...interruption.why.facts };
    if (interruption.why.kind === 'given-back') return { kind: 'given-back', ...interruption.why.facts };
    return first.kind === 'no-output' ? first : interrupted(interruption);
  }

  /** Stops an unwatched command, with its grace, and ships its last lines. Call it in a nonCancellable scope. */
  async stopUnwatched(input: AttemptInput): Promise<void> {
    await this.#stop(input, this.#watch(input), CANCELLED);
  }

  /** @returns the command's own end, if it counts in place of the interruption */
  async #interrupt(
    input: AttemptInput,
    watching: Promise<Watched>,
    { by, phase, why, notice }: Interruption,
  ): Promise<OwnEnd | undefined> {
    const { attempt, story } = this.#parts;
    const { graceSeconds } = input.spec;
    const command = input.spec.command === undefined ? 'none' : 'given';
    story.move(phase, command === 'none' ? why : withReaction(why, attempt.saving(graceSeconds)));
    const isSaved = decide('command interrupted', { by, command, end: 'not awaited' }).do === 'save';
    const end = isSaved ? await this.#stop(input, watching, notice) : undefined;
    attempt.stopped();
    this.#worker.giveUp();
    const decision = decide('command interrupted', { by, command, end: endFact(end) });
    return decision.do === 'believe end' ? end : undefined;
  }

  #watch(input: AttemptInput, isFirst = false): Promise<Watched> {
    const { silence, startedAt } = this.#parts.attempt;
    const before = isFirst || startedAt === undefined ? {} : { runsSince: startedAt };
    return this.#worker.call(input.attempt, watchSummary(input), (worker) =>
      worker.superviseAttempt({ ...input, ...silence, ...before }),
    );
  }

  /**
   * Stops the command. The time is bounded by the grace, the time that dead hosts may cost, `LAST_LINES_MS` and `mostForOutputs`.
   * @returns the attempt's end, if it was seen in time
   */
  async #stop(input: AttemptInput, watching: Promise<Watched>, notice: StopNotice): Promise<OwnEnd | undefined> {
    await this.#stopOnHosts(input, notice);
    // Nothing runs that could print or store anything, and the supervision of nothing does not end.
    if (input.spec.command === undefined) {
      this.#parts.attempt.stopped();
      return undefined;
    }
    const late = async (): Promise<'late'> => {
      await sleep(LAST_LINES_MS, { summary: 'time for the last lines' });
      if (this.#parts.attempt.isStoringOutputs)
        await sleep(mostForOutputs(input, notice), { summary: 'time for its outputs' });
      return 'late';
    };
    const end = await Promise.race([this.#shipLastLines(input, watching), late()]);
    this.#parts.attempt.stopped();
    if (end !== 'late') return this.#noted(end);
    // Its supervision goes on while its worker and its hosts last.
    this.#parts.story.note({ kind: 'last-lines-late', facts: { attempt: input.attempt } });
    return undefined;
  }

  /** Keeps the reports on its stored files and on the processes that were ended with it, and notes both in the job's story. */
  #noted<End extends Watched>(end: End): End {
    if (end?.left !== undefined) {
      this.#parts.attempt.left = end.left;
      this.#parts.story.note({ kind: 'processes-left', facts: end.left });
    }
    if (end?.outputs === undefined) return end;
    this.#parts.attempt.stored(end.outputs);
    this.#parts.story.note({ kind: 'saved', facts: end.outputs });
    return end;
  }

  async #stopOnHosts(input: AttemptInput, notice: StopNotice): Promise<void> {
    const { graceSeconds } = input.spec;
    const summary = `stop the command of attempt ${input.attempt} on ${hostsOf(input)}, grace ${graceSeconds} s`;
    try {
      const stop = stopping(graceSeconds * 1000, input.settings.timings.heartbeatTimeoutMs);
      await stop(summary).stopAttempt({ ...input, notice });
    } catch (error) {
      // Hosts that cannot be reached lose their processes with their slice.
      this.#parts.story.note({ kind: 'stop-failed', facts: { reason: reasonOf(error) } });
    }
  }

  async #shipLastLines(input: AttemptInput, watching: Promise<Watched>): Promise<OwnEnd | undefined> {
    try {
      let end = await watching.catch(unlessCancelled);
      while (end === undefined || isUnderWay(end)) end = await this.#watch(withoutSilence(input));
      return end;
    } catch (error) {
      this.#parts.story.note({ kind: 'last-lines-lost', facts: { reason: reasonOf(error) } });
      return undefined;
    }
  }
}

/** Ignores a cancel by the user that came while the call had no worker. The call is repeated, as for a worker that is gone. */
function unlessCancelled(error: unknown): undefined {
  if (!isCancellation(error)) throw error;
}

function interruptionBy(
  first: Met | Extract<AttemptEnd, { kind: 'no-output' | 'idle' }>,
  spec: AttemptInput['spec'],
): Interruption {
  switch (first.kind) {
    case 'interrupted':
      return first.interruption;
    case 'no-output':
      return bySilence(silenceOf(first, spec));
    case 'idle':
      return byGivingBack(idlenessOf(first, spec));
  }
}

function interrupted({ end }: Interruption): Interrupted {
  if (end === 'no-output' || end === 'run-duration-over' || end === 'given-back')
    throw new TypeError(`${end} has an end of its own`);
  return { kind: end };
}

/** Lost slices and lost runs say nothing about a command that was told to end: their hosts are given up anyway. */
function endFact(end: Watched): Fact<'command interrupted', 'end'> {
  switch (end?.kind) {
    case 'exited':
      return end.isStopped ? 'answer to the stop' : 'own exit';
    case 'fenced':
      return 'later attempt';
    case 'ended-before':
      return 'ended before';
    case 'slices-lost':
    case 'run-lost':
      return 'lost';
    default:
      return 'no news';
  }
}

/** Whether the supervision ended while the command still runs. */
const isUnderWay = (end: AttemptEnd): end is UnderWay =>
  end.kind === 'still-running' || end.kind === 'handed-over' || end.kind === 'no-output' || end.kind === 'idle';

/** Removes the limits of silence and idleness, because a command that is being stopped may be silent, and is not used. */
function withoutSilence(input: AttemptInput): AttemptInput {
  const { noOutput, ...timeouts } = input.spec.timeouts ?? {};
  if (input.spec.workspace !== undefined) return { ...input, spec: { ...input.spec, workspace: {} } };
  return noOutput === undefined ? input : { ...input, spec: { ...input.spec, timeouts } };
}

/**
 * Time for the supervision to ship the output from before the stop. After a silence it is a new supervision, which connects to
 * every host: 20 s were seen not to be enough on a computer with other work (test/end-to-end/no-output.live.test.ts).
 */
const LAST_LINES_MS = 60_000;
/**
 * Longest wait for the outputs of a preempted job. Others wait for its chips, so its own file does not decide the time
 * (docs/adr/0059).
 */
const MOST_FOR_OTHERS_MS = 120_000;
const mostForOutputs = ({ spec }: AttemptInput, { cause }: StopNotice): number =>
  cause === 'quota' ? Math.min(MOST_FOR_OTHERS_MS, outputsWaitMs(spec)) : outputsWaitMs(spec);
const CANCELLED: StopNotice = { cause: 'cancel', reason: 'the job was cancelled' };
