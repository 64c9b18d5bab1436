import { ActivityFailure, ApplicationFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import { attemptTroubleForm, unreachableHostsForm } from '../../contract/job-forms.js';
import type { AttemptInput, ReadySlice } from '../../contract/job-activities.js';
import { attemptTroubleSignal, unreachableHostsSignal } from '../../contract/job.js';
import { FailureType } from '../../domain/errors.js';
import { JobPhase } from '../../domain/job-state.js';
import type { Facts } from '../../domain/recovery/facts.js';
import { endingWith, firstSave } from '../../domain/early-end.js';
import type { Inbox } from '../inbox.js';
import { meter } from '../meter.js';
import { attemptInput, type AttemptParts, type AttemptResult } from './attempt.js';
import { type AttemptFacts, hostCount, recordAttempt, unreachableFacts } from './attempt-record.js';
import { ClaimedWorker, reasonOf } from './claimed-worker.js';
import { Command } from './command.js';
import type { Slices } from './slices.js';
import type { JobUsage } from './usage.js';
import { AttemptSetUp, type SetUpParts } from './set-up.js';

/** Troubles of hosts that a worker of the attempt reports. */
const TROUBLES = { accelerator: 'accelerator-awaited', silence: 'hosts-silent', use: 'workspace-use' } as const;

type AttemptsParts = AttemptParts & SetUpParts & { readonly slices: Slices; readonly usage: JobUsage };
type FactsOf = (result: AttemptResult) => Facts<'attempt ended'>;

/**
 * Runs the attempts of a job, one at a time: set-up, start and supervision on one claimed worker, handed to another when that
 * worker is gone. The command itself lives under its on-host runner and does not notice.
 */
export class Attempts {
  readonly #parts: AttemptsParts;
  readonly #setUp: AttemptSetUp;
  readonly #command: Command;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
    const worker = new ClaimedWorker(parts.settings.timings, parts.story);
    this.#setUp = new AttemptSetUp(worker, parts);
    this.#command = new Command(worker, parts);
  }

  listen(inbox: Inbox): void {
    this.#setUp.listen(inbox);
    inbox.on(
      attemptTroubleSignal,
      attemptTroubleForm,
      ({ attempt, of = 'store', what, hasEnded, isStoringOutputs }) => {
        if (attempt !== this.#parts.attempt.number || !this.#parts.attempt.isOpen) return;
        const facts = what === undefined ? ({ isOver: true } as const) : { what };
        const { story } = this.#parts;
        if (of === 'accelerator' || of === 'silence' || of === 'use')
          return story.trouble({ kind: TROUBLES[of], facts });
        this.#parts.attempt.isStoringOutputs = isStoringOutputs ?? false;
        this.#parts.attempt.hasEnded ||= hasEnded ?? false;
        story.trouble({ kind: 'store-trouble', facts });
      },
    );
    inbox.on(unreachableHostsSignal, unreachableHostsForm, ({ attempt, hosts }) => {
      if (attempt !== this.#parts.attempt.number || !this.#parts.attempt.isOpen) return;
      this.#parts.attempt.cannotReach(hosts);
      this.#sayUnreachable();
    });
  }

  #sayUnreachable(): void {
    const { attempt, file, story } = this.#parts;
    story.trouble({ kind: 'hosts-unreachable', facts: unreachableFacts(attempt.unreachable, file.spec) });
  }

  /**
   * Continues the open attempt, or begins a new one. On a cancel the command is stopped before it throws.
   * @param factsOf gives the facts by which the job decides after such an end, for the record
   */
  async run(slices: readonly ReadySlice[], factsOf: FactsOf): Promise<AttemptResult> {
    const { attempt } = this.#parts;
    attempt.open();
    const input = attemptInput(this.#parts, slices);
    try {
      const result = await this.#setUpAndWatch(input);
      // An attempt that ended before has its records.
      if (result.kind === 'ended-before') attempt.close();
      else if (result.kind !== 'unwatched') await this.#close(input, result.kind, result, factsOf);
      return result;
    } catch (error) {
      if (isCancellation(error)) {
        // A command that still runs is ended by `stopUnwatched`.
        if (!attempt.isRunning) await CancellationScope.nonCancellable(() => this.#close(input, 'cancelled'));
        throw error;
      }
      // An error that does not come from an activity is a bug of ours: it fails the workflow task, which retries and stays
      // visible.
      if (!(error instanceof ActivityFailure)) throw error;
      const isPermanent = error.cause instanceof ApplicationFailure && error.cause.type === FailureType.InvalidInput;
      const result = {
        kind: 'worker-failed',
        message: reasonOf(error),
        ...(isPermanent && { isPermanent: true as const }),
      } as const;
      await this.#close(input, result.kind, result, factsOf);
      return result;
    }
  }

  /**
   * Stops a command that may run unwatched, after a cancel between two supervisions. Call it in a nonCancellable scope. It does
   * nothing if nothing runs.
   */
  async stopUnwatched(slices: readonly ReadySlice[]): Promise<void> {
    if (!this.#parts.attempt.isRunning || slices.length === 0) return;
    const input = attemptInput(this.#parts, slices);
    await this.#command.stopUnwatched(input);
    await this.#close(input, 'cancelled');
  }

  async #setUpAndWatch(input: AttemptInput): Promise<AttemptResult> {
    const { attempt, slices, story } = this.#parts;
    if (attempt.state.kind === 'setting-up') {
      const end = await this.#setUp.untilReady(input);
      if (end?.kind === 'renumbered') {
        slices.renumber(end.slices);
        story.note({ kind: 'hosts-renumbered', facts: {} });
        return { kind: 'unwatched' };
      }
      if (end !== undefined) return end;
      const early = this.#endsBefore(input);
      if (early !== undefined) return early;
      attempt.setUp();
    }
    const where = { hosts: hostCount(input), zone: input.slices[0]?.ref.zone ?? '' };
    const isWorkspace = input.spec.workspace !== undefined && { isWorkspace: true as const };
    const running = { kind: 'running', facts: { attempt: attempt.number, ...where, ...isWorkspace } } as const;
    story.move(JobPhase.Running, running, { attempts: attempt.number });
    this.#sayUnreachable();
    await this.#record(input);
    const ran = await this.#command.untilEnded(input);
    if (ran === undefined || ran.kind === 'handed-over' || ran.kind === 'still-running') return { kind: 'unwatched' };
    if (ran.kind !== 'fenced') return ran;
    // The job was reset to a time before that attempt; the command goes on under its own number.
    story.note({ kind: 'attempt-found', facts: { attempt: ran.epoch } });
    attempt.runs(ran.epoch);
    return { kind: 'unwatched' };
  }

  /**
   * Does not start a command that would be told to save at once. The end counts as a loss, which costs a retry. Without that, a
   * job whose set-up takes longer than its slices live would buy slices for ever.
   */
  #endsBefore({ spec }: AttemptInput): AttemptResult | undefined {
    const { slices } = this.#parts;
    const at = firstSave(slices.views, spec.graceSeconds);
    if (at === undefined || at > Date.now()) return undefined;
    const ending = endingWith(slices.views, spec.graceSeconds);
    const message = 'its run duration (tpu.run_duration) is over before its command could begin';
    return { kind: 'slices-lost', slices: ending.map(({ index }) => ({ index, cause: 'preempted', message })) };
  }

  async #close(input: AttemptInput, end: string, result?: AttemptResult, factsOf?: FactsOf): Promise<void> {
    this.#parts.attempt.close(end);
    this.#parts.story.changed();
    meter.attemptEnded(end);
    const evidence = result && 'evidence' in result ? result.evidence : undefined;
    const exitCode = result && 'code' in result ? { exitCode: result.code } : {};
    const { ran: ranChipMs } = this.#parts.usage;
    await this.#record(input, { end, evidence, ended: result && factsOf?.(result), ...exitCode, ranChipMs });
  }

  #record(
    input: AttemptInput,
    ending?: Pick<AttemptFacts, 'end' | 'exitCode' | 'evidence' | 'ended' | 'ranChipMs'>,
  ): Promise<void> {
    const { attempt, file, story } = this.#parts;
    const source = file.sourceOf(attempt.number);
    const facts = {
      input,
      startedAt: attempt.startedAt ?? Date.now(),
      ...(source === undefined ? {} : { source }),
      ...ending,
    };
    return recordAttempt(facts, story);
  }
}
