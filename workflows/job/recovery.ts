import { condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { type Cause, toldText, withReaction } from '../../domain/job-events/kinds.js';
import { JobPhase, type Outcome, type OutcomeCause } from '../../domain/job-state.js';
import {
  type Budget,
  budgetLeft,
  charge,
  type Retries,
  afterEnd,
  gaveUpText,
  type QuickEnds,
} from '../../domain/recovery/budgets.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact, Facts } from '../../domain/recovery/facts.js';
import { endingWith } from '../../domain/early-end.js';
import type { EpochMs } from '../../domain/units.js';
import { kindOfJob, providerOf } from '../../domain/machines.js';
import { aside } from '../activity-options.js';
import { meter } from '../meter.js';
import type { Attempt, AttemptResult } from './attempt.js';
import { type EndCause, endCause, endFact, lossCause, lossFact } from './attempt-record.js';
import type { Gang } from './gang.js';
import type { Interruptions } from './interruption.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import { cancelText, type Requests } from './requests.js';
import type { SliceLoss } from './slice-members.js';
import type { Slices } from './slices.js';
import type { JobCarry } from './state.js';
import type { JobStory } from './story.js';
import { SuspectMachine } from './suspect-machine.js';
import type { Wait } from './wait.js';
import type { ZoneMoves } from './zone-moves.js';

type EndPlace = Pick<EndCause, 'at' | 'exitCode'>;
type RecoveryKey = 'spent' | 'quotaPreemptions' | 'quickEnds' | 'suspect';

export interface RecoveryParts {
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly lease: LeaseHold;
  readonly gang: Gang;
  readonly moves: ZoneMoves;
  readonly attempt: Attempt;
  readonly interruptions: Interruptions;
  readonly wait: Wait;
}

/**
 * Asks `domain/recovery` what the end of an attempt, or the loss of a slice, means for the job, and carries it out: a new
 * attempt while the budgets last, or the outcome.
 */
export class Recovery {
  #spent: Retries;
  #quotaPreemptions: number;
  #quickEnds: QuickEnds;
  readonly #suspect: SuspectMachine;
  readonly #submittedAt: EpochMs;
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts, carry: Pick<JobCarry, RecoveryKey | 'submittedAt'>) {
    this.#parts = parts;
    this.#spent = carry.spent;
    this.#quotaPreemptions = carry.quotaPreemptions ?? 0;
    this.#quickEnds = carry.quickEnds ?? 0;
    this.#suspect = new SuspectMachine(parts.slices, carry.suspect);
    this.#submittedAt = carry.submittedAt;
  }

  get spent(): Retries {
    return this.#spent;
  }

  get quotaPreemptions(): number {
    return this.#quotaPreemptions;
  }

  notePreemptionByQuota(): void {
    this.#quotaPreemptions += 1;
  }

  /** Reacts to a loss while the gang was brought up, or waited for. Undefined: the job goes on. */
  async afterLoss(loss: SliceLoss): Promise<Outcome | undefined> {
    const { gang, lease, slices, moves } = this.#parts;
    if (loss.cause === 'refused') moves.noteRefusal(loss);
    const decision = this.#whileNotReady(lossFact(loss, moves.zones.length, slices.ready.length));
    const what = lossCause(loss, {
      requested: slices.requestedWith(loss.index),
      zone: gang.zone,
      provider: providerOf(this.#parts.file.spec),
    });
    // It beats every answer after which the job would ask again.
    if (this.#parts.wait.isOver && decision.do !== 'fail') return this.waitedInVain('its zones gave no chips');
    switch (decision.do) {
      case 'retry':
        await this.#retry(decision.budget, what, [loss.index]);
        if (decision.budget === 'infrastructure') await this.#parts.moves.afterFailure(what);
        return undefined;
      case 'next zone':
        // A job that waited for `timeouts.provision` needs no further pause.
        await moves.next(what, loss.cause === 'refused');
        return undefined;
      case 'ask again':
        await moves.askAgain(what);
        return undefined;
      case 'ask for lease':
        this.#parts.story.move(JobPhase.Evicting, what);
        await gang.evict(toldText(what), undefined, this.#parts.wait.until);
        lease.lost();
        return undefined;
      case 'fail':
        if (decision.spent) return this.#outOf(decision.by, what);
        return this.#failed(decision.by, toldText(what), { at: { slice: loss.index } });
    }
  }

  /** The outcome of a job whose `timeouts.queue` is over. @param what the reason of the wait */
  waitedInVain(what: string): Outcome {
    const decision = this.#whileNotReady('queue time over');
    if (decision.do !== 'fail') throw new TypeError(`recovery: '${decision.do}' without a lease`);
    return this.#failed(decision.by, this.#parts.wait.inVain(what));
  }

  /** The outcome of a job that never began, because another job that it was to follow did not end as its file requires. */
  neverBegins(why: string): Outcome {
    return this.outcome('cancelled', { by: 'user', message: `it did not begin: ${why}` });
  }

  /**
   * The outcome of a job whose image was not built, so nothing of it has run. No budget covers it: the user fixes and resubmits
   * it.
   */
  notBuilt(by: 'task' | 'infrastructure', message: string, lines: readonly string[]): Outcome {
    return this.#failed(by, [`its image was not built: ${message}`, ...lines].join('\n'));
  }

  /** The outcome of a job whose inputs are not stored (any more), so nothing of it has run, or runs again. */
  withoutInputs(why: string): Outcome {
    return this.#failed('task', `it cannot begin: ${why}`);
  }

  /** Facts by which the job decides what follows if an attempt ends now. */
  facts(result: AttemptResult): Facts<'attempt ended'> {
    const { file, lease, requests, attempt } = this.#parts;
    const { pauseMs } = afterEnd(this.#quickEnds, attempt.lastedMs);
    return {
      end: endFact(result, file.spec, file.spec.loop !== true && this.#suspect.isAtFault(result)),
      lease: lease.revocation === undefined ? 'stands' : 'revoked',
      restart: requests.current?.kind === 'restart' ? 'asked for' : 'not asked for',
      loop: file.spec.loop !== true ? 'none' : pauseMs === undefined ? 'gives up' : 'again',
      ...this.#budgets,
    };
  }

  /** Undefined: the job goes on. */
  async afterAttempt(result: AttemptResult): Promise<Outcome | undefined> {
    const { file, story, gang, attempt } = this.#parts;
    if (result.kind === 'slices-lost') gang.markLost(result.slices);
    const { quickEnds, pauseMs } = afterEnd(this.#quickEnds, attempt.lastedMs);
    const facts = this.facts(result);
    const decision = decide('attempt ended', facts);
    const end = endCause(result, file.spec);
    const isReplaced =
      facts.end === 'machine at fault' && decision.do === 'retry' && decision.budget === 'infrastructure';
    const { cause: known } = end;
    const cause: Cause =
      isReplaced && known.kind === 'exited'
        ? { ...known, facts: { ...known.facts, machine: this.#suspect.facts(result) } }
        : known;
    this.#suspect.remember(result, isReplaced);
    if (isReplaced) await this.#putAside(result);
    switch (decision.do) {
      case 'keep':
        return undefined;
      case 'succeed':
        if (result.kind === 'given-back') return this.outcome('succeeded', { by: 'user', message: toldText(cause) });
        return { ...this.outcome('succeeded'), exitCode: 0 };
      case 'stored outcome':
        if (result.kind !== 'ended-before')
          throw new TypeError(`recovery: no outcome is stored after '${result.kind}'`);
        story.note(cause);
        return result.outcome;
      case 'loop':
        this.#quickEnds = quickEnds;
        return this.#startAgain(cause, pauseMs ?? 0);
      case 'replace':
        return this.#replaceEnding(cause);
      case 'retry':
        return this.#retry(decision.budget, cause, this.#replaced(decision.replace, result));
      case 'fail':
        if (decision.spent) return this.#outOf(decision.by, cause, end);
        return this.#failed(decision.by, decision.loop ? gaveUpText(toldText(cause)) : toldText(cause), end);
    }
  }

  outcome(result: Outcome['result'], cause?: OutcomeCause): Outcome {
    const { number, firstStartedAt, outputs, left } = this.#parts.attempt;
    return {
      result,
      ...(cause ? { cause } : {}),
      attempts: number,
      preemptions: this.#spent.preemption,
      ...this.takenByQuota,
      ...this.askedForByCommand,
      ...(outputs && { outputs }),
      ...(left && { left }),
      submittedAt: this.#submittedAt,
      ...(firstStartedAt === undefined ? {} : { startedAt: firstStartedAt }),
      endedAt: Date.now(),
    };
  }

  cancelledOutcome(): Outcome {
    const { story, requests } = this.#parts;
    const asker = requests.canceller(Date.now());
    const message = cancelText(story.phase, asker);
    return this.outcome('cancelled', { by: 'user', message, ...(asker === undefined ? {} : { asker }) });
  }

  /** Empty for a job that quota never preempted. */
  get takenByQuota(): { readonly quotaPreemptions?: number } {
    return this.#quotaPreemptions === 0 ? {} : { quotaPreemptions: this.#quotaPreemptions };
  }

  /** Empty for a job whose command never asked for another start. */
  get askedForByCommand(): { readonly requestedRestarts?: number } {
    const { requested } = this.#spent;
    return requested === 0 ? {} : { requestedRestarts: requested };
  }

  carry(): Pick<JobCarry, RecoveryKey> {
    const suspect = this.#suspect.carry();
    return {
      spent: this.#spent,
      ...this.takenByQuota,
      ...(this.#quickEnds === 0 ? {} : { quickEnds: this.#quickEnds }),
      ...(suspect === undefined ? {} : { suspect }),
    };
  }

  // ----------------------------------------------------------------------------------------------------------------

  get #budgets() {
    return budgetLeft(this.#spent, this.#parts.file.spec.retries);
  }

  #whileNotReady(because: Fact<'not ready', 'because'>) {
    return decide('not ready', {
      because,
      ...this.#parts.moves.facts(because),
      command: this.#parts.attempt.firstStartedAt === undefined ? 'never ran' : 'ran before',
      ...this.#budgets,
    });
  }

  /** Puts a machine of the pool's own aside, since the next job would get it. A provider's machine is never met again. */
  async #putAside(result: AttemptResult): Promise<void> {
    const { file, story } = this.#parts;
    meter.machineReplaced(file.spec.pool, kindOfJob(file.spec));
    const own = this.#suspect.ownMachine(result, workflowInfo().workflowId);
    if (own === undefined) return;
    const { name, ...machine } = own;
    try {
      await aside(`put machine ${name} aside`).putAside(machine);
    } catch (error) {
      if (isCancellation(error)) throw error;
      story.note({ kind: 'put-aside-failed', facts: { machine: name, reason: (error as Error).message } });
    }
  }

  #replaced(
    replace: Extract<ReturnType<typeof decide<'attempt ended'>>, { do: 'retry' }>['replace'],
    result: AttemptResult,
  ): readonly number[] {
    switch (replace) {
      case 'nothing':
        return [];
      case 'lost slices':
        return result.kind === 'slices-lost' ? result.slices.map(({ index }) => index) : [];
      case 'its slice':
        return 'at' in result ? [result.at.slice] : [];
    }
  }

  /** Takes one retry from a budget and gives these slices up. */
  async #retry(budget: Budget, what: Cause, slices: readonly number[]): Promise<undefined> {
    const { file, story, gang, wait, moves } = this.#parts;
    this.#spent = charge(this.#spent, budget);
    const then = { budget, used: this.#spent[budget], of: file.spec.retries[budget] };
    const note = withReaction(what, { do: 'retry', ...then });
    story.setBack(note);
    if (slices.length === 0) {
      story.note(note);
      return undefined;
    }
    wait.until();
    story.move(JobPhase.Evicting, note);
    await gang.evict(toldText(what), slices, wait.until);
    if (budget === 'preemption') await moves.afterPreemption(what);
    return undefined;
  }

  /** Replaces the slices whose bought time is about to end. */
  async #replaceEnding(what: Cause): Promise<undefined> {
    const { file, story, gang, slices, wait } = this.#parts;
    const ending = endingWith(slices.views, file.spec.graceSeconds).map(({ index }) => index);
    story.setBack(what);
    wait.until();
    story.move(JobPhase.Evicting, what);
    await gang.evict(toldText(what), ending, wait.until);
    return undefined;
  }

  /** Waits until a command that loops may start again, or its work is unwanted. */
  async #startAgain(what: Cause, pauseMs: number): Promise<undefined> {
    const { story, interruptions } = this.#parts;
    story.move(JobPhase.Running, withReaction(what, { do: 'loop', at: Date.now() + pauseMs }));
    await condition(interruptions.isUnwanted, pauseMs, { summary: 'before the command starts again' });
    return undefined;
  }

  #outOf(budget: Budget, what: Cause, end: EndPlace = {}): Outcome {
    const allowed = this.#parts.file.spec.retries[budget];
    return this.#failed(budget, `${toldText(what)}; its budget of ${allowed} ${budget} retries is spent`, end);
  }

  #failed(budget: Budget, message: string, { at, exitCode }: EndPlace = {}): Outcome {
    // Restarts that the command asked for too often are its own fault.
    const by = budget === 'requested' ? 'task' : budget;
    const outcome = this.outcome('failed', { by, message, ...at });
    return exitCode === undefined ? outcome : { ...outcome, exitCode };
  }
}
