import type { RehearsalClock } from './clock.js';

/** Something beside the cloud that acts at moments of the cloud's time. */
export interface Actor {
  /** Whether it has anything to do, or to wait for: where nobody has, the cloud need not stop at each instant. */
  isActive(): boolean;
  /** When it acts next, epoch ms of the cloud's clock; undefined: never by itself. */
  nextDue(): number | undefined;
  /** Does what is due by the clock. */
  act(): void;
}

const TURNS_AT_ONCE = 1000;

/**
 * Carries out what is due, of the cloud and of whoever joined it, in the order of its instants: after a long step of the
 * clock, or with a clock that runs fast, a script that preempts at 5 min meets the cloud as it was at 5 min.
 */
export class Timeline {
  readonly #clock: RehearsalClock;
  readonly #advanceCloud: () => number | undefined;
  readonly #doneUpTo: () => number;
  readonly #actors = new Set<Actor>();
  #cloudDue: number | undefined;
  #isAdvancing = false;

  /**
   * @param advanceCloud does all that is due in the cloud, and says when there is more, epoch ms.
   * @param doneUpTo the instant up to which it did: the story never goes back behind it.
   */
  constructor(clock: RehearsalClock, advanceCloud: () => number | undefined, doneUpTo: () => number) {
    this.#clock = clock;
    this.#advanceCloud = advanceCloud;
    this.#doneUpTo = doneUpTo;
  }

  join(actor: Actor): void {
    this.#actors.add(actor);
  }

  /** Up to the clock's now. @returns when there is more, epoch ms of the cloud's clock, if time alone brings it. */
  advance(): number | undefined {
    // An actor may change the clock, whose listeners come here again.
    if (this.#isAdvancing) return undefined;
    this.#isAdvancing = true;
    try {
      if (this.#active().length > 0) this.#actUpTo(this.#clock.now());
      this.#cloudDue = this.#advanceCloud();
      return this.#firstDue();
    } finally {
      this.#isAdvancing = false;
    }
  }

  #active(): readonly Actor[] {
    return [...this.#actors].filter((actor) => actor.isActive());
  }

  #actUpTo(now: number): void {
    let [last, turns] = [-Infinity, 0];
    for (let at = this.#firstDue(); at !== undefined && at <= now; at = this.#firstDue()) {
      // What sets off what at one instant ends some time: else a script would stop the cloud's clock for ever.
      turns = at > last ? 0 : turns + 1;
      if (turns > TURNS_AT_ONCE) return;
      last = Math.min(now, Math.max(at, last, this.#doneUpTo()));
      const instant = last;
      this.#clock.atInstant(instant, () => this.#actAt(instant));
    }
  }

  #actAt(at: number): void {
    this.#cloudDue = this.#advanceCloud();
    for (const actor of this.#active()) {
      if ((actor.nextDue() ?? Infinity) > at) continue;
      actor.act();
      this.#cloudDue = this.#advanceCloud();
    }
  }

  /** What is due at `at` and did not happen waits for something else than time: the cloud tells only of what is later. */
  #firstDue(): number | undefined {
    const dues = [this.#cloudDue, ...this.#active().map((actor) => actor.nextDue())];
    const times = dues.filter((due) => due !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
