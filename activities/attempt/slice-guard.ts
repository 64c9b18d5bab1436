import { log } from '@temporalio/activity';
import { CloudUnavailable, type TpuPort } from '../../cloud/tpu/port.js';
import { type SliceCondition, sliceCondition } from '../../domain/slice-condition.js';
import type { LostSlice, ReadySlice } from '../contract.js';
import { messageOf } from '../failures.js';
import { pause } from './pause.js';

/**
 * Watches the slices of a running attempt for positive evidence of loss, and for nothing else: a call that fails, a host
 * that is silent, an expired token are no evidence (DESIGN.md 2, "Unknown is not dead"). Each slice is read from its zone's
 * listing; `suspect` makes it look at once.
 */
export class SliceGuard {
  readonly #tpu: TpuPort;
  readonly #slices: readonly ReadySlice[];
  readonly #notFoundApartMs: number;
  readonly #signal: AbortSignal;
  readonly #looking = new Set<number>();
  readonly lost: Promise<readonly LostSlice[]>;
  #report: (lost: readonly LostSlice[]) => void = () => undefined;
  #isLost = false;

  constructor(tpu: TpuPort, slices: readonly ReadySlice[], notFoundApartMs: number, signal: AbortSignal) {
    this.#tpu = tpu;
    this.#slices = slices;
    this.#notFoundApartMs = notFoundApartMs;
    this.#signal = signal;
    this.lost = new Promise((resolve) => {
      this.#report = (lost) => {
        this.#isLost = true;
        resolve(lost);
      };
    });
    for (const slice of slices) void this.#watch(slice);
  }

  /** A host of this slice went silent: ask the API about it now. */
  suspect(index: number): void {
    const slice = this.#slices.find((candidate) => candidate.index === index);
    if (!slice || this.#looking.has(index)) return;
    this.#looking.add(index);
    void this.#look(slice).finally(() => this.#looking.delete(index));
  }

  /**
   * Whether a slice speaks for it that it was lost, asked directly of all of them. `lost` says so then, before this resolves.
   * @param patienceMs goes on asking for this long, or until one is lost: after a shutdown the API may say so later; 0 = once
   */
  async lookAtAll(patienceMs: number): Promise<boolean> {
    const end = Date.now() + patienceMs;
    do {
      const looks = Promise.all(this.#slices.map((slice) => this.#look(slice)));
      await Promise.race([looks, this.lost, pause(LOOK_MS, this.#signal).catch(() => undefined)]);
      if (!this.#isLost && Date.now() < end)
        await Promise.race([this.lost, pause(LOOK_AGAIN_MS, this.#signal).catch(() => undefined)]);
    } while (!this.#isLost && Date.now() < end && !this.#signal.aborted);
    return this.#isLost;
  }

  async #watch(slice: ReadySlice): Promise<void> {
    while (!this.#signal.aborted) {
      const seen = await this.#ask(
        () => this.#tpu.watchSlice(slice.ref, { isUrgent: false, signal: this.#signal }),
        slice,
      );
      if (seen && isNews(seen)) await this.#look(slice);
    }
  }

  /** Direct looks, which no lag of a listing can mislead. */
  async #look(slice: ReadySlice): Promise<void> {
    const seen = await this.#ask(() => this.#tpu.observeSlice(slice.ref), slice);
    if (!seen || !isNews(seen)) return;
    if (seen.kind !== 'missing') return this.#report([lossOf(slice, seen)]);
    await pause(this.#notFoundApartMs, this.#signal).catch(() => undefined);
    const again = await this.#ask(() => this.#tpu.observeSlice(slice.ref), slice);
    if (again && isNews(again)) this.#report([lossOf(slice, again)]);
  }

  async #ask(
    call: () => Promise<Parameters<typeof sliceCondition>[0]>,
    slice: ReadySlice,
  ): Promise<SliceCondition | undefined> {
    try {
      return sliceCondition(await call(), slice.ownership);
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      log.warn(`slice ${slice.ref.name} cannot be looked at: ${messageOf(error)}`);
      await pause(error instanceof CloudUnavailable ? 2_000 : 15_000, this.#signal).catch(() => undefined);
      return undefined;
    }
  }
}

/** An API that does not answer must not keep a failure from its user. */
const LOOK_MS = 10_000;
const LOOK_AGAIN_MS = 2_000;

/** `waiting` is a node that is not READY at the moment (REPAIRING, RESTARTING): its hosts come back, or it ends. */
function isNews(seen: SliceCondition): boolean {
  return seen.kind !== 'ready' && seen.kind !== 'waiting';
}

function lossOf({ index }: ReadySlice, seen: SliceCondition): LostSlice {
  switch (seen.kind) {
    case 'lost':
      return { index, cause: seen.cause === 'preempted' ? 'preempted' : 'failed', message: seen.message };
    case 'missing':
      // Google does not promise to say PREEMPTED (facts/cloud-tpu.md 1.4): a spot slice that vanished was taken.
      return { index, cause: 'preempted', message: 'the node is gone (NOT_FOUND, twice)' };
    case 'deleting':
      return { index, cause: 'failed', message: 'the slice is being deleted' };
    case 'foreign':
      return { index, cause: 'failed', message: seen.message };
    default:
      throw new TypeError(`slice ${index}: '${seen.kind}' is no loss`);
  }
}
