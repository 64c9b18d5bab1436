import { condition } from '@temporalio/workflow';
import type { Outcome, OutcomeCause } from '../../domain/job-state.js';
import { JobPhase } from '../../domain/job-state.js';
import { type UnreadyHosts, unreadyText } from '../../domain/unready-hosts.js';
import { placeName, silenceText } from './attempt-words.js';
import type { AttemptResult } from './attempt-result.js';
import type { Attempts } from './attempts.js';
import type { JobCarry, Spent } from './carry.js';
import type { Gang, GangLoss } from './gang.js';
import { hoursText } from './keeping.js';
import type { LeaseHold } from './lease-hold.js';
import { afterEnd, gaveUpText, type QuickEnds } from './looping.js';
import type { JobStory } from './story.js';
import type { JobTerms } from './terms.js';

/** The parts of a job that an end of one of them touches. */
export interface JobParts {
  readonly terms: JobTerms;
  readonly story: JobStory;
  readonly lease: LeaseHold;
  readonly gang: Gang;
  readonly attempts: Attempts;
  /** The pool or a person wants what is under way to end. */
  readonly isInterrupted: () => boolean;
  /** A person wants the command to begin again, whatever it came to. */
  readonly isToRestart: () => boolean;
}

/**
 * What the end of an attempt, or of a slice, means for the job: a new attempt while its budgets last, or its outcome. Each
 * budget counts apart (DESIGN.md 2, "Separate budgets").
 */
export class JobEnds {
  #spent: Spent;
  #quotaPreemptions: number;
  #quickEnds: QuickEnds;
  readonly #submittedAt: number;
  readonly #parts: JobParts;

  constructor(parts: JobParts, carry: Pick<JobCarry, 'spent' | 'quotaPreemptions' | 'quickEnds' | 'submittedAt'>) {
    this.#parts = parts;
    this.#spent = carry.spent;
    this.#quotaPreemptions = carry.quotaPreemptions ?? 0;
    this.#quickEnds = carry.quickEnds ?? 0;
    this.#submittedAt = carry.submittedAt;
  }

  get spent(): Spent {
    return this.#spent;
  }

  get quotaPreemptions(): number {
    return this.#quotaPreemptions;
  }

  notePreemptionByQuota(): void {
    this.#quotaPreemptions += 1;
  }

  async afterLoss(loss: GangLoss): Promise<Outcome | undefined> {
    const { story, gang, lease, isInterrupted } = this.#parts;
    switch (loss.cause) {
      case 'preempted':
        return this.#spend('preemption', `slice ${loss.index} was preempted by the provider: ${loss.message}`, [
          loss.index,
        ]);
      case 'failed':
        return this.#spend('infrastructure', `slice ${loss.index} failed: ${loss.message}`, [loss.index]);
      case 'late': {
        // A stall of one zone says nothing of another. The whole gang leaves it.
        const { zone } = gang;
        const leaving = gang.views.map(({ index }) => index);
        gang.leaveZone();
        return this.#spend('infrastructure', `slice ${loss.index} is not ready in ${zone}: ${loss.message}`, leaving);
      }
      case 'no-capacity':
        story.setBack(`no capacity in ${gang.zone}: ${loss.message}`);
        story.move(JobPhase.Evicting, `no capacity in ${gang.zone}: ${loss.message}`);
        // A gang lies in one zone: what it has here already goes too.
        await gang.evict('no capacity for the whole gang in this zone');
        await gang.nextZone(isInterrupted);
        return undefined;
      case 'lease':
        story.move(JobPhase.Evicting, loss.message);
        await gang.evict(loss.message);
        lease.lost();
        return undefined;
      case 'quota':
      case 'refused':
        return this.outcome('failed', {
          by: 'infrastructure',
          message: `Cloud TPU refused slice ${loss.index}: ${loss.message}`,
          slice: loss.index,
        });
    }
  }

  async afterAttempt(result: AttemptResult): Promise<Outcome | undefined> {
    const { terms, story, lease, gang, isToRestart } = this.#parts;
    const { slices } = terms.spec;
    switch (result.kind) {
      case 'pause':
      case 'revoked':
      case 'stopped':
      case 'requeued':
      case 'restarted':
        return undefined;
      case 'slices-lost': {
        gang.markLost(result.slices);
        // Whoever took them, they were to go: no budget is charged.
        if (lease.revocation !== undefined) return undefined;
        const [first] = result.slices;
        const what = `slice ${first?.index ?? 0} was ${first?.cause === 'preempted' ? 'preempted by the provider' : 'lost'}: ${first?.message ?? ''}`;
        return this.#spend(
          first?.cause === 'preempted' ? 'preemption' : 'infrastructure',
          what,
          result.slices.map(({ index }) => index),
        );
      }
      case 'ended-before':
        story.note('it has ended before, says the store; Temporal was set back to an earlier time');
        return result.outcome;
      case 'exited':
      case 'run-lost':
      case 'module-failed':
      case 'host-bad':
      case 'timed-out':
      case 'no-output':
      case 'set-up-timed-out':
      case 'worker-failed':
        // A restart was promised, whatever the command came to meanwhile.
        if (isToRestart()) return undefined;
    }
    switch (result.kind) {
      case 'exited':
        return this.#afterExit(result);
      case 'timed-out': {
        const allowed = hoursText(terms.spec.timeouts?.run ?? 0);
        return this.#afterStop(`the command ran for ${allowed}, as long as timeouts.run allows`);
      }
      case 'no-output':
        return this.#afterStop(silenceText(result, terms.spec));
      case 'set-up-timed-out':
        return this.#setUpInVain(result.unready);
      case 'run-lost':
        return this.#spend('infrastructure', `${placeName(result.at, slices)}: ${result.message}`, []);
      case 'module-failed': {
        const message = `setup of ${result.module} failed on ${placeName(result.at, slices)}: ${result.message}`;
        return this.outcome('failed', { by: 'task', message, slice: result.at.slice, host: result.at.host });
      }
      case 'host-bad': {
        const { at, module, message } = result;
        const what = `setup of ${module} did not work on ${placeName(at, slices)}: ${message}`;
        return this.#spend('infrastructure', what, [at.slice]);
      }
      case 'worker-failed':
        return this.outcome('failed', { by: 'infrastructure', message: result.message });
    }
  }

  async #afterExit(end: Extract<AttemptResult, { kind: 'exited' }>): Promise<Outcome | undefined> {
    const { code, signal, at } = end;
    const { loop, slices, retries } = this.#parts.terms.spec;
    const by = signal === undefined ? '' : ` (${signal})`;
    const message = `the command exited with code ${code}${by} on ${placeName(at, slices)}`;
    if (loop) return this.#loopAgain(message, { slice: at.slice, host: at.host }, code);
    if (code === 0) return { ...this.outcome('succeeded'), exitCode: 0 };
    if (this.#spent.task < retries.task) return this.#spend('task', message, []);
    return { ...this.outcome('failed', { by: 'task', message, slice: at.slice, host: at.host }), exitCode: code };
  }

  /** `timeouts.run` is over, or `timeouts.no_output`, and the command was stopped. */
  async #afterStop(message: string): Promise<Outcome | undefined> {
    const { loop, retries } = this.#parts.terms.spec;
    if (loop) return this.#loopAgain(message, {}, undefined);
    if (this.#spent.task < retries.task) return this.#spend('task', message, []);
    return this.outcome('failed', { by: 'task', message });
  }

  /** `timeouts.setup` is over, and the set-up was ended. */
  #setUpInVain(unready: UnreadyHosts | undefined): Outcome {
    const { timeouts, slices } = this.#parts.terms.spec;
    const slow = unready === undefined ? '' : `: ${unreadyText(unready, slices)}`;
    const message = `its hosts were not set up within ${hoursText(timeouts?.setup ?? 0)} (timeouts.setup)${slow}`;
    return this.outcome('failed', { by: 'task', message });
  }

  /** `timeouts.queue` is over. */
  waitedInVain(): Outcome {
    const { timeouts } = this.#parts.terms.spec;
    const message = `its pool granted nothing for ${hoursText(timeouts?.queue ?? 0)} (timeouts.queue)`;
    return this.outcome('failed', { by: 'infrastructure', message });
  }

  /** A job that loops has no end of its own, except where its command ends at once, again and again. */
  async #loopAgain(
    message: string,
    place: Pick<OutcomeCause, 'slice' | 'host'>,
    exitCode: number | undefined,
  ): Promise<Outcome | undefined> {
    const { attempts, story, isInterrupted } = this.#parts;
    const { quickEnds, pauseMs } = afterEnd(this.#quickEnds, attempts.lastedMs);
    this.#quickEnds = quickEnds;
    if (pauseMs === undefined)
      return {
        ...this.outcome('failed', { by: 'task', message: gaveUpText(message), ...place }),
        ...(exitCode === undefined ? {} : { exitCode }),
      };
    story.move(JobPhase.Running, `${message}; loop: it starts again in ${pauseMs / 1000} s`);
    await condition(isInterrupted, pauseMs, { summary: 'before the command starts again' });
    return undefined;
  }

  /** Takes one from a budget and gives up these slices, or ends the job when nothing is left of it. */
  async #spend(budget: keyof Spent, what: string, lost: readonly number[]): Promise<Outcome | undefined> {
    const { terms, story, gang } = this.#parts;
    const allowed = terms.spec.retries[budget];
    if (this.#spent[budget] >= allowed) {
      const message = `${what}; its budget of ${allowed} ${budget} retries is spent`;
      return this.outcome('failed', { by: budget, message });
    }
    this.#spent = { ...this.#spent, [budget]: this.#spent[budget] + 1 };
    const note = `${what}; trying again (${this.#spent[budget]} of ${allowed})`;
    story.setBack(note);
    if (lost.length === 0) {
      story.note(note);
      return undefined;
    }
    story.move(JobPhase.Evicting, note);
    await gang.evict(what, lost);
    return undefined;
  }

  outcome(result: Outcome['result'], cause?: OutcomeCause): Outcome {
    const { attempts } = this.#parts;
    const { startedAt } = attempts;
    return {
      result,
      ...(cause ? { cause } : {}),
      attempts: attempts.number,
      preemptions: this.#spent.preemption,
      ...this.takenByQuota,
      submittedAt: this.#submittedAt,
      ...(startedAt === undefined ? {} : { startedAt }),
      endedAt: Date.now(),
    };
  }

  /** Left out of a job that it never happened to. */
  get takenByQuota(): { readonly quotaPreemptions?: number } {
    return this.#quotaPreemptions === 0 ? {} : { quotaPreemptions: this.#quotaPreemptions };
  }

  carry(): Pick<JobCarry, 'spent' | 'quotaPreemptions' | 'quickEnds'> {
    return {
      spent: this.#spent,
      ...this.takenByQuota,
      ...(this.#quickEnds === 0 ? {} : { quickEnds: this.#quickEnds }),
    };
  }
}
