import { CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { ReadySlice } from '../../contract/job-activities.js';
import type { JobSettings } from '../../contract/job.js';
import { DEFAULT_STOP_SECONDS } from '../../domain/job-file/lifetime.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { askerText, JobPhase, type Outcome } from '../../domain/job-state.js';
import { askedMachines, usdPerHour } from '../../domain/machines.js';
import type { LostSlice } from '../../domain/recovery/slice-loss.js';
import type { TierPurchase } from '../../domain/slice.js';
import type { Timings } from '../../domain/timings.js';
import { count, type EpochMs } from '../../domain/units.js';
import { watching } from '../activity-options.js';
import { utc } from '../markdown.js';
import type { Gang } from './gang.js';
import { revocationText } from './interruption.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import { type Request, type Requests, requestText } from './requests.js';
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
    story.move(JobPhase.Paused, `${requestText(request)}; its slices are kept, ${this.#cost(until)} (timeouts.stop)`);
    const end = await this.#keep(until, () => requests.current !== request || lease.revocation !== undefined);
    if (end.kind === 'changed') return;
    if (end.kind === 'lost') gang.markLost(end.slices);
    story.note(`its slices are not kept any more: ${this.#whyNotKept(end, 'timeouts.stop')}`);
    // A person may have asked for something else at the same moment.
    if (requests.current === request) requests.stop(request, true);
  }

  /** Holds nothing and asks for nothing until a person asks for something else. */
  async rest(request: Request): Promise<void> {
    const resume = `jobctl resume ${workflowInfo().workflowId}`;
    this.#parts.story.move(JobPhase.Released, `${requestText(request)}; it holds nothing until \`${resume}\``);
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
      const end = outcome.cause?.message ?? 'the command ended with exit code 0';
      story.hold(outcome, `${outcome.result}: ${end}; its slices are kept (keep: ${when}), ${this.#cost(until)}`);
      await conclude();
    });
    try {
      const end = await this.#keep(until, () => lease.revocation !== undefined);
      story.note(`its slices go: ${this.#whyNotKept(end, 'the time of keep')}`);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      const canceller = this.#parts.requests.canceller(Date.now());
      story.note(`its slices go: ${canceller === undefined ? 'somebody' : askerText(canceller)} asked for it`);
    }
  }

  #keep(until: number, isChanged: () => boolean): Promise<KeepEnd> {
    const { settings, slices } = this.#parts;
    return keepSlices({ slices: slices.ready, timings: settings.timings, until, isChanged });
  }

  #whyNotKept(end: KeepEnd, limit: string): string {
    if (end.kind === 'lost') return `slice ${end.slices[0]?.index ?? 0} was lost: ${end.slices[0]?.message ?? ''}`;
    if (end.kind === 'over') return `${limit} is over`;
    const { revocation } = this.#parts.lease;
    return revocation ? revocationText(revocation) : 'somebody asked for it';
  }

  #cost(until: number): string {
    const { settings, file, lease, gang } = this.#parts;
    const { label } = settings;
    const place = { zone: gang.zone, until, ...(label === undefined ? {} : { rehearsed: label }) };
    return costText(file.spec, lease.bought, place);
  }
}

// Watching -----------------------------------------------------------------------------------------------------------

interface Keeping {
  readonly slices: readonly ReadySlice[];
  readonly timings: Timings;
  readonly until: EpochMs;
  /** A person or the pool wants something else. */
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
function keepSlices({ slices, timings, until, isChanged }: Keeping): Promise<KeepEnd> {
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

/** `about $4.70 an hour, until 2026-11-22 09:10:00 UTC`. @param rehearsed label of an installation in which nothing is real */
function costText(
  spec: JobSpec,
  { pricing }: TierPurchase,
  { zone, until, rehearsed }: { readonly zone: string; readonly until: EpochMs; readonly rehearsed?: string },
): string {
  const asked = pricing ?? askedMachines(spec).pricing;
  const usd = usdPerHour(spec, { zone, pricing: asked === 'any' ? 'spot' : asked });
  const cost = usd === undefined ? 'at a price that is not listed' : `at about $${usd.toFixed(2)} an hour`;
  const real = rehearsed === undefined ? cost : `${cost} if they were real`;
  return `${real}, until ${utc(until)}`;
}
