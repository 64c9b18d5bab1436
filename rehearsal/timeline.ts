import type { RehearsalClock } from './clock.js';

/** A part beside the cloud that acts at moments of the cloud's time. */
export interface Actor {
  /** Whether the actor has anything to do or to wait for. If no actor has, the cloud need not stop at each instant. */
  isActive(): boolean;
  /** Time of the actor's next action, epoch ms of the cloud's clock; undefined: none by itself. */
  nextDue(): number | undefined;
  /** Does what is due by the clock. */
  act(): void;
}

const TURNS_AT_ONCE = 1000;

/**
 * Carries out the due events of the cloud and its actors in order of time. After a long step of the clock, or with a fast clock,
 * a script that preempts at 5 min still meets the cloud as it was at 5 min.
 */
export class Timeline {
  readonly #clock: RehearsalClock;
  readonly #advanceCloud: () => number | undefined;
  readonly #doneUpTo: () => number;
  readonly #actors = new Set<Actor>();
  #cloudDue: number | undefined;
  #isAdvancing = false;

  /**
   * @param advanceCloud does everything that is due in the cloud, and returns the next time at which something is due, epoch ms
   * @param doneUpTo returns the instant up to which the cloud was advanced: time never goes back behind it
   */
  constructor(clock: RehearsalClock, advanceCloud: () => number | undefined, doneUpTo: () => number) {
    this.#clock = clock;
    this.#advanceCloud = advanceCloud;
    this.#doneUpTo = doneUpTo;
  }

  join(actor: Actor): void {
    this.#actors.add(actor);
  }

  /** Advances up to the clock's now. @returns the next time at which something is due, epoch ms of the cloud's clock */
  advance(): number | undefined {
    // An actor may change the clock, whose listeners call this method again.
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
      // A chain of events that trigger each other at one instant is cut off: else a script could stop the cloud's clock for ever.
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

  /**
   * Time of the first due event. An event that was due and did not happen waits for more than time: the cloud does not report it.
   */
  #firstDue(): number | undefined {
    const dues = [this.#cloudDue, ...this.#active().map((actor) => actor.nextDue())];
    const times = dues.filter((due) => due !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
