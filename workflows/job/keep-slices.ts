import { CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { ReadySlice } from '../../contract/job-activities.js';
import type { JobSettings } from '../../contract/job.js';
import type { Kept, KeptNoMore } from '../../domain/job-events/kinds.js';
import { DEFAULT_STOP_SECONDS } from '../../domain/job-file/lifetime.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import { askedMachines, isBought, usdPerHour } from '../../domain/machines.js';
import type { LostSlice } from '../../domain/recovery/facts.js';
import type { Timings } from '../../domain/timings.js';
import { count, type EpochMs } from '../../domain/units.js';
import { watching } from '../activity-options.js';
import type { Gang } from './gang.js';
import { revocationCause } from './interruption.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import { type Request, type Requests, requestCause } from './requests.js';
import type { Slices } from './slices.js';
import type { JobStory } from './story.js';

/** The parts of a job that wait while nothing runs. */
export interface KeptParts {
  readonly settings: JobSettings;
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly lease: LeaseHold;
  readonly gang: Gang;
}

/** The phases in which nothing of a job runs and it waits for people: `paused`, `released`, `holding` (docs/adr/0022). */
export class SliceKeeper {
  readonly #parts: KeptParts;

  constructor(parts: KeptParts) {
    this.#parts = parts;
  }

  /** Keeps slices and lease until a person asks otherwise, the pool takes the lease, a slice is lost, or the time is over. */
  async pause(request: Request): Promise<void> {
    const { file, story, requests, lease, gang } = this.#parts;
    const until = Date.now() + (file.spec.timeouts?.stop ?? DEFAULT_STOP_SECONDS) * 1000;
    await lease.park(true);
    const facts = { request: requestCause(request), ...this.#cost(until) };
    story.move(JobPhase.Paused, { kind: 'paused', facts });
    const end = await this.#keep(until, () => requests.current !== request || lease.revocation !== undefined);
    if (end.kind === 'changed') return;
    if (end.kind === 'lost') gang.markLost(end.slices);
    story.note({ kind: 'pause-ended', facts: this.#whyNotKept(end, 'timeouts.stop') });
    // A person may have asked for something else at the same moment.
    if (requests.current === request) requests.stop(request, true);
  }

  /** Holds nothing and asks for nothing until a person asks for something else. */
  async rest(request: Request): Promise<void> {
    const facts = { request: requestCause(request), job: workflowInfo().workflowId };
    this.#parts.story.move(JobPhase.Released, { kind: 'released', facts });
    await condition(() => this.#parts.requests.current !== request);
  }

  /** Whether `keep` asks for the slices of a job with this outcome. */
  keepsAfter({ result }: Outcome): boolean {
    const { file, lease, slices } = this.#parts;
    const { keep } = file.spec;
    if (keep === undefined || result === 'cancelled' || !lease.isHeld || !slices.isWhole) return false;
    return keep.when === 'always' || result === 'failed';
  }

  /**
   * Keeps the slices of a job that has its outcome until a person cancels or deletes it, the time is over, a slice is lost, or
   * the pool takes the lease. It does not throw at a cancel, because a known outcome is final.
   * @param conclude stores and tells the outcome
   */
  async hold(outcome: Outcome, conclude: () => Promise<void>): Promise<void> {
    const { file, story, lease } = this.#parts;
    const { when = 'always', seconds = 0 } = file.spec.keep ?? {};
    const until = Date.now() + seconds * 1000;
    await CancellationScope.nonCancellable(async () => {
      await lease.park(true);
      const { result, cause } = outcome;
      const facts = { result, ...(cause && { message: cause.message }), when, ...this.#cost(until) };
      story.hold(outcome, { kind: 'holding', facts });
      await conclude();
    });
    try {
      const end = await this.#keep(until, () => lease.revocation !== undefined);
      story.note({ kind: 'holding-ended', facts: this.#whyNotKept(end, 'the time of keep') });
    } catch (error) {
      if (!isCancellation(error)) throw error;
      const asker = this.#parts.requests.canceller(Date.now());
      story.note({ kind: 'holding-ended', facts: { ...(asker && { asker }) } });
    }
  }

  #keep(until: number, isChanged: () => boolean): Promise<KeepEnd> {
    const { settings, slices } = this.#parts;
    return keepSlices({ slices: slices.ready, timings: settings.timings, until, isChanged });
  }

  #whyNotKept(end: KeepEnd, limit: string): KeptNoMore {
    if (end.kind === 'lost') {
      const { index = 0, message = '' } = end.slices[0] ?? {};
      return { because: { kind: 'slice-lost', facts: { slice: index, message } } };
    }
    if (end.kind === 'over') return { limit };
    const { revocation } = this.#parts.lease;
    return revocation ? { because: revocationCause(revocation) } : {};
  }

  #cost(until: EpochMs): Kept {
    const { settings, file, lease, gang } = this.#parts;
    const asked = lease.bought.pricing ?? askedMachines(file.spec).pricing;
    const usd = usdPerHour(file.spec, { zone: gang.zone, pricing: asked === 'any' ? 'spot' : asked });
    return {
      ...(usd === undefined ? {} : { usdPerHour: usd }),
      ...(settings.label === undefined ? {} : { isRehearsed: true }),
      ...(isBought(file.spec) ? {} : { isOwn: true }),
      until,
    };
  }
}

// Watching -----------------------------------------------------------------------------------------------------------

interface Keeping {
  readonly slices: readonly ReadySlice[];
  readonly timings: Timings;
  readonly until: EpochMs;
  /** Whether a person or the pool wants something else. */
  readonly isChanged: () => boolean;
}

type KeepEnd =
  | { readonly kind: 'changed' }
  | { readonly kind: 'over' }
  | { readonly kind: 'lost'; readonly slices: readonly LostSlice[] };

/**
 * Keeps slices on which nothing runs, and watches that they are there.
 * @throws a cancellation, when the job is cancelled
 */
export function keepSlices({ slices, timings, until, isChanged }: Keeping): Promise<KeepEnd> {
  const scope = new CancellationScope();
  return scope.run(async () => {
    const name = count(slices.length, 'slice');
    const lost = watching(`watch that ${name} stay`).holdSlices({ slices, timings });
    const changed = condition(isChanged, Math.max(1, until - Date.now()), { summary: `keep ${name}` });
    try {
      return await Promise.race([
        lost.then((gone): KeepEnd => ({ kind: 'lost', slices: gone })),
        changed.then((is): KeepEnd => (is ? { kind: 'changed' } : { kind: 'over' })),
      ]);
    } finally {
      // The other promise is no longer awaited.
      for (const loser of [lost, changed]) loser.catch(() => undefined);
      scope.cancel();
    }
  });
}
