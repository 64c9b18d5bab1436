/** The clock's state that survives a restart: plain JSON, stored in the cloud's state. */
export interface ClockState {
  /** The cloud's time at `wallAt`, epoch ms. */
  cloudAt: number;
  /** Wall time, epoch ms. */
  wallAt: number;
  /** Cloud ms per wall ms while the clock runs. */
  scale: number;
  frozen: boolean;
}

export const CLOCK_SCALE = { min: 0.001, max: 10_000_000 } as const;

export interface ClockChange {
  readonly scale?: number | undefined;
  readonly frozen?: boolean | undefined;
}

/**
 * The cloud's time. Every createTime, due time, notice and journal `at` comes from this clock. It may run faster or slower than
 * wall time, stand still, or be stepped forward. It never goes back, even if wall time does.
 *
 * Time passes in the cloud while the rehearsal's process is down, as at Google: `scale` times the wall time, or not at all if the
 * clock was frozen. Real things keep real time: processes in the VMs, SSH, client timeouts.
 */
export class RehearsalClock {
  readonly #state: ClockState;
  readonly #wall: () => number;
  readonly #listeners = new Set<() => void>();
  #instant: number | undefined;

  /**
   * @param state updated in place
   * @param wall wall time, epoch ms; tests pass their own
   */
  constructor(state: ClockState, wall: () => number = Date.now) {
    this.#state = state;
    this.#wall = wall;
  }

  get scale(): number {
    return this.#state.scale;
  }

  get isFrozen(): boolean {
    return this.#state.frozen;
  }

  /** The cloud's time, whole epoch ms. */
  now(): number {
    return this.#instant ?? Math.floor(this.#exact());
  }

  /** @throws RangeError for a scale outside CLOCK_SCALE */
  set({ scale, frozen }: ClockChange): void {
    if (scale !== undefined && !(scale >= CLOCK_SCALE.min && scale <= CLOCK_SCALE.max)) {
      throw new RangeError(`clock: scale ${scale} is not from ${CLOCK_SCALE.min} to ${CLOCK_SCALE.max}`);
    }
    this.#rebase(0);
    this.#state.scale = scale ?? this.#state.scale;
    this.#state.frozen = frozen ?? this.#state.frozen;
    this.#tell();
  }

  /** Moves the cloud's time forward at once, frozen or not. @throws RangeError unless `ms` is a whole number from 0 */
  step(ms: number): void {
    if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`clock: cannot step by ${ms} ms; wanted 0 or more`);
    this.#rebase(ms);
    this.#tell();
  }

  /** Wall ms until the cloud's time is `at`, rounded up; 0 if `at` is past; undefined if a frozen clock never reaches it. */
  wallMsUntil(at: number): number | undefined {
    const ms = at - this.#exact();
    if (ms <= 0) return 0;
    return this.#state.frozen ? undefined : Math.ceil(ms / this.#state.scale);
  }

  /** Runs `run` with `instant` as the time, for work that was due then and is carried out only now. Synchronous work only. */
  atInstant<T>(instant: number, run: () => T): T {
    const outer = this.#instant;
    this.#instant = instant;
    try {
      return run();
    } finally {
      this.#instant = outer;
    }
  }

  /** Calls `listener` after each `set` and `step`: timers must then be set anew. @returns a function that unsubscribes */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #exact(): number {
    const { cloudAt, wallAt, scale, frozen } = this.#state;
    return frozen ? cloudAt : cloudAt + Math.max(0, this.#wall() - wallAt) * scale;
  }

  #rebase(ms: number): void {
    this.#state.cloudAt = this.#exact() + ms;
    this.#state.wallAt = this.#wall();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A clock that starts at wall time. */
export function newClockState(wallNow: number, { scale = 1, frozen = false }: ClockChange = {}): ClockState {
  return { cloudAt: wallNow, wallAt: wallNow, scale, frozen };
}
