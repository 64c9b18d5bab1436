import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import { CloudUnavailable, type MachinesOf } from '../../cloud/machines/port.js';
import type { Condition } from '../../domain/slice.js';
import { decide } from '../../domain/recovery/decide.js';
import type { DeadHost, Evidence, Look } from '../../domain/recovery/evidence.js';
import { conditionFact, lossText, type LostSlice } from '../../domain/recovery/facts.js';
import type { ReadySlice } from '../../contract/job-activities.js';
import { pause } from './activity-end.js';

export interface GuardListener {
  /** Called once for each slice that is lost. */
  readonly loss?: (lost: LostSlice) => void;
  /** Called when a slice that still serves is first seen, warned of or not, and when the provider's warning changes. */
  readonly warning?: (slice: number) => void;
}

/**
 * Looks at the slices of an attempt and reports losses. The evidence that counts is in docs/recovery.md, "slice seen". Each slice
 * is read from its zone's listing; `suspect` makes the guard look at once.
 */
export class SliceGuard {
  readonly #machinesOf: MachinesOf;
  readonly #slices: readonly ReadySlice[];
  readonly #notFoundApartMs: number;
  readonly #signal: AbortSignal;
  readonly #looking = new Set<number>();
  /** Warnings of slices that have been seen ready; undefined: the provider warns of nothing. */
  readonly #warnings = new Map<number, string | undefined>();
  /** The last look by slice and kind of look. For a lost slice, the look at its loss. */
  readonly #looks = new Map<string, Look>();
  readonly #dead: DeadHost[] = [];
  readonly #lost = new Map<number, LostSlice>();
  /** Resolves with the first loss. */
  readonly lost: Promise<readonly LostSlice[]>;
  readonly #listener: GuardListener;
  #tellFirst: (lost: readonly LostSlice[]) => void = () => undefined;
  /** Callers that wait for the loss of one slice. */
  readonly #waiting = new Map<number, (() => void)[]>();

  constructor(
    machinesOf: MachinesOf,
    slices: readonly ReadySlice[],
    notFoundApartMs: number,
    signal: AbortSignal,
    listener: GuardListener = {},
  ) {
    this.#machinesOf = machinesOf;
    this.#slices = slices;
    this.#notFoundApartMs = notFoundApartMs;
    this.#signal = signal;
    this.#listener = listener;
    this.lost = new Promise((resolve) => (this.#tellFirst = resolve));
    for (const slice of slices) void this.#watch(slice);
  }

  /** Asks the API about this slice now, because one of its hosts went silent. */
  suspect(index: number): void {
    const slice = this.#slices.find((candidate) => candidate.index === index);
    if (!slice || this.#lost.has(index) || this.#looking.has(index)) return;
    this.#looking.add(index);
    void this.#look(slice, 'directly').finally(() => this.#looking.delete(index));
  }

  /**
   * Called when a host of this slice showed another machine's key, `times` in a row. The node is looked at again. A slice that is
   * still there is lost at the second time (docs/recovery.md, "slice seen").
   */
  async wrongHostKey(index: number, times: number, message: string): Promise<void> {
    const seen = await this.lookAt(index);
    if (seen?.kind !== 'ready' && seen?.kind !== 'waiting') return;
    const look = times > 1 ? 'directly, a second time' : 'directly';
    const decision = decide('slice seen', { look, condition: 'wrong host key' });
    this.#note({ slice: index, look, condition: 'wrong host key', text: message });
    if (decision.do === 'report loss') this.#report({ index, cause: decision.cause, message });
  }

  /** The API's present answer about this slice; undefined: it gave none. An answer against the slice is judged as usual. */
  async lookAt(index: number): Promise<Condition | undefined> {
    const slice = this.#slices.find((candidate) => candidate.index === index);
    const seen = slice && (await this.#observe(slice));
    if (slice) void this.#judge(slice, 'directly', seen);
    return seen;
  }

  /** Counts a host that does not answer as dead, so that its slice is lost. The evidence for that does not come from the API. */
  reportDead(host: DeadHost, cause: LostSlice['cause']): void {
    if (this.#lost.has(host.slice)) return;
    this.#dead.push(host);
    this.#report({ index: host.slice, cause, message: host.text });
  }

  #report(lost: LostSlice): void {
    if (this.#lost.has(lost.index)) return;
    this.#lost.set(lost.index, lost);
    this.#tellFirst([lost]);
    this.#listener.loss?.(lost);
    for (const tell of this.#waiting.get(lost.index) ?? []) tell();
  }

  hasLost(index: number): boolean {
    return this.#lost.has(index);
  }

  /** Resolves once this slice is known to be lost. */
  lossOf(index: number): Promise<void> {
    if (this.#lost.has(index)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(index, [...(this.#waiting.get(index) ?? []), resolve]));
  }

  /** The last look at each slice, and the hosts that counted as dead. */
  get evidence(): Pick<Evidence, 'looks' | 'dead'> {
    return { looks: [...this.#looks.values()], dead: this.#dead };
  }

  /** Time that must lie between two looks so that they are evidence, in ms. */
  get apartMs(): number {
    return this.#notFoundApartMs;
  }

  /**
   * Looks at all slices directly, and returns whether one is lost. `lost` resolves before this does.
   * @param patienceMs looks again for this long, or until a slice is lost, because the API may report a shutdown late; 0 = once
   */
  async lookAtAll(patienceMs: number): Promise<boolean> {
    const end = Date.now() + patienceMs;
    do {
      const looks = Promise.all(this.#slices.map((slice) => this.#look(slice, 'directly')));
      await Promise.race([looks, this.lost, pause(LOOK_MS, this.#signal).catch(() => undefined)]);
      if (!this.#isLost && Date.now() < end)
        await Promise.race([this.lost, pause(LOOK_AGAIN_MS, this.#signal).catch(() => undefined)]);
    } while (!this.#isLost && Date.now() < end && !this.#signal.aborted);
    return this.#isLost;
  }

  get #isLost(): boolean {
    return this.#lost.size > 0;
  }

  async #watch(slice: ReadySlice): Promise<void> {
    while (!this.#signal.aborted && !this.#lost.has(slice.index)) {
      const seen = await this.#ask(
        () =>
          this.#machinesOf(slice.ref.kind).watch(slice, {
            isUrgent: this.#warnings.get(slice.index) !== undefined,
            signal: this.#signal,
          }),
        slice,
      );
      if (seen?.kind === 'ready') this.#noteWarning(slice.index, seen.warning);
      this.#noteSeen(slice, 'in the listing', seen);
      if (decide('slice seen', { look: 'in the listing', condition: conditionFact(seen) }).do === 'look directly')
        await this.#look(slice, 'directly');
    }
  }

  #noteWarning(slice: number, warning: string | undefined): void {
    if (this.#warnings.has(slice) && this.#warnings.get(slice) === warning) return;
    this.#warnings.set(slice, warning);
    this.#listener.warning?.(slice);
  }

  /** The provider's present warning; `not seen`: it was not asked yet. */
  warningOf(slice: number): { readonly reason: string | undefined } | 'not seen' {
    if (!this.#warnings.has(slice)) return 'not seen';
    const warning = this.#warnings.get(slice);
    return { reason: warning && `the provider says ${warning} of this slice` };
  }

  /** Looks directly, so that no lag of a listing can mislead. */
  async #look(slice: ReadySlice, look: DirectLook): Promise<void> {
    await this.#judge(slice, look, await this.#observe(slice));
  }

  #observe(slice: ReadySlice): Promise<Condition | undefined> {
    return this.#ask(() => this.#machinesOf(slice.ref.kind).observe(slice), slice);
  }

  async #judge(slice: ReadySlice, look: DirectLook, seen: Condition | undefined): Promise<void> {
    this.#noteSeen(slice, look, seen);
    const decision = decide('slice seen', { look, condition: conditionFact(seen) });
    if (decision.do === 'wait, look again') {
      await pause(this.#notFoundApartMs, this.#signal).catch(() => undefined);
      return this.#look(slice, 'directly, a second time');
    }
    if (decision.do === 'report loss' && seen)
      this.#report({ index: slice.index, cause: decision.cause, message: lossText(seen) });
  }

  #noteSeen({ index }: ReadySlice, look: Look['look'], seen: Condition | undefined): void {
    const condition = conditionFact(seen);
    const isTold = seen !== undefined && seen.kind !== 'ready' && seen.kind !== 'waiting';
    this.#note({ slice: index, look, condition, ...(isTold ? { text: lossText(seen) } : {}) });
  }

  #note(look: Omit<Look, 'at'>): void {
    if (this.#lost.has(look.slice)) return;
    this.#looks.set(`${look.slice} ${look.look}`, { at: Date.now(), ...look });
  }

  async #ask(call: () => Promise<Condition>, slice: ReadySlice): Promise<Condition | undefined> {
    try {
      return await call();
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      log.warn(`slice ${slice.ref.name} cannot be looked at: ${messageOf(error)}`);
      await pause(error instanceof CloudUnavailable ? 2_000 : 15_000, this.#signal).catch(() => undefined);
      return undefined;
    }
  }
}

type DirectLook = Exclude<Look['look'], 'in the listing'>;

/** Time limit for a look. An API that does not answer must not hide a failure from its user. */
const LOOK_MS = 10_000;
const LOOK_AGAIN_MS = 2_000;
