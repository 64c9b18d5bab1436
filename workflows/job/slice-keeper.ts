import { CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { DEFAULT_STOP_SECONDS } from '../../domain/job-file/lifetime.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import type { JobSettings } from '../messages.js';
import type { Gang } from './gang.js';
import { wishText } from './interruption.js';
import { costText, type KeepEnd, keepSlices } from './keeping.js';
import type { LeaseHold } from './lease-hold.js';
import { revocationText } from './revocation.js';
import type { JobStory } from './story.js';
import type { JobTerms } from './terms.js';
import type { Wish, Wishes } from './wishes.js';

/** The parts of a job that wait while nothing runs. */
export interface RestingParts {
  readonly settings: JobSettings;
  readonly terms: JobTerms;
  readonly story: JobStory;
  readonly wishes: Wishes;
  readonly lease: LeaseHold;
  readonly gang: Gang;
}

/** The phases in which nothing of a job runs and it waits for people: `paused`, `released`, `holding` (docs/adr/0022). */
export class SliceKeeper {
  readonly #parts: RestingParts;

  constructor(parts: RestingParts) {
    this.#parts = parts;
  }

  /** Slices and lease are kept until somebody says otherwise, the pool takes them, a slice is lost, or the time is over. */
  async pause(wish: Wish): Promise<void> {
    const { terms, story, wishes, lease, gang } = this.#parts;
    const until = Date.now() + (terms.spec.timeouts?.stop ?? DEFAULT_STOP_SECONDS) * 1000;
    await lease.park(true);
    story.move(JobPhase.Paused, `${wishText(wish)}; its slices are kept, ${this.#cost(until)} (timeouts.stop)`);
    const end = await this.#keep(until, () => wishes.current !== wish || lease.revocation !== undefined);
    if (end.kind === 'changed') return;
    if (end.kind === 'lost') gang.markLost(end.slices);
    story.note(`its slices are not kept any more: ${this.#whyNotKept(end, 'timeouts.stop')}`);
    // Somebody may have said something else in the same moment.
    if (wishes.current === wish) wishes.stop(wish.by, true);
  }

  /** Nothing is held, and nothing asked for. */
  async rest(wish: Wish): Promise<void> {
    const resume = `jobctl resume ${workflowInfo().workflowId}`;
    this.#parts.story.move(JobPhase.Released, `${wishText(wish)}; it holds nothing until \`${resume}\``);
    await condition(() => this.#parts.wishes.current !== wish);
  }

  /** Whether `keep` wants the slices of a job that came to this. */
  keepsAfter({ result }: Outcome): boolean {
    const { terms, lease, gang } = this.#parts;
    const { keep } = terms.spec;
    if (keep === undefined || result === 'cancelled' || !lease.isHeld || !gang.isWhole) return false;
    return keep.when === 'always' || result === 'failed';
  }

  /**
   * Keeps slices whose job has its outcome, until somebody cancels or deletes it, the time is over, a slice is lost, or the pool takes
   * the lease. It does not throw at a cancel: an outcome that is known stays.
   * @param conclude stores and tells the outcome
   */
  async hold(outcome: Outcome, conclude: () => Promise<void>): Promise<void> {
    const { terms, story, lease } = this.#parts;
    const { when = 'always', seconds = 0 } = terms.spec.keep ?? {};
    const until = Date.now() + seconds * 1000;
    await CancellationScope.nonCancellable(async () => {
      await lease.park(true);
      const end = outcome.cause?.message ?? 'the command ended with exit code 0';
      story.hold(outcome, `${outcome.result}: ${end}; its slices are kept (keep: ${when}), ${this.#cost(until)}`);
      await conclude();
    });
    try {
      const end = await this.#keep(until, () => lease.revocation !== undefined);
      story.note(`its slices go: ${this.#whyNotKept(end, 'the time of keep')}`);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      story.note('its slices go: somebody asked for it');
    }
  }

  #keep(until: number, isChanged: () => boolean): Promise<KeepEnd> {
    const { settings, gang } = this.#parts;
    return keepSlices({ slices: gang.ready, timings: settings.timings, until, isChanged });
  }

  #whyNotKept(end: KeepEnd, limit: string): string {
    if (end.kind === 'lost') return `slice ${end.slices[0]?.index ?? 0} was lost: ${end.slices[0]?.message ?? ''}`;
    if (end.kind === 'over') return `${limit} is over`;
    const { revocation } = this.#parts.lease;
    return revocation ? revocationText(revocation) : 'somebody asked for it';
  }

  #cost(until: number): string {
    const { settings, terms, lease, gang } = this.#parts;
    const { label } = settings;
    const place = { zone: gang.zone, until, ...(label === undefined ? {} : { rehearsed: label }) };
    return costText(terms.spec, lease.bought, place);
  }
}
