/** What a clock has to remember over a restart, plain JSON: it lies in the cloud's state. */
export interface ClockState {
  /** The cloud's time at `wallAt`, epoch ms. */
  cloudAt: number;
  /** Wall time, epoch ms. */
  wallAt: number;
  /** Cloud ms per wall ms while it runs. */
  scale: number;
  frozen: boolean;
}

export const CLOCK_SCALE = { min: 0.001, max: 10_000_000 } as const;

export interface ClockChange {
  readonly scale?: number | undefined;
  readonly frozen?: boolean | undefined;
}

/**
 * The cloud's time: every createTime, due moment, notice and journal `at` is read off it. It may run faster or slower
 * than the wall's, stand still, and be moved on by steps; it never goes back, also where the wall's clock does.
 *
 * Time passes in the cloud while the rehearsal's process is down, as at Google: `scale` times as much as on the wall,
 * none if it was frozen. What is real keeps real time: processes in the VMs, SSH, timeouts of clients.
 */
export class RehearsalClock {
  readonly #state: ClockState;
  readonly #wall: () => number;
  readonly #listeners = new Set<() => void>();
  #instant: number | undefined;

  /** @param state is kept up to date in place. @param wall epoch ms; a test gives its own. */
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

  /** Throws RangeError for a scale outside CLOCK_SCALE. */
  set({ scale, frozen }: ClockChange): void {
    if (scale !== undefined && !(scale >= CLOCK_SCALE.min && scale <= CLOCK_SCALE.max)) {
      throw new RangeError(`clock: scale ${scale} is not from ${CLOCK_SCALE.min} to ${CLOCK_SCALE.max}`);
    }
    this.#rebase(0);
    this.#state.scale = scale ?? this.#state.scale;
    this.#state.frozen = frozen ?? this.#state.frozen;
    this.#tell();
  }

  /** Moves the cloud's time on at once, frozen or not. Throws RangeError for anything but 0 or more whole ms. */
  step(ms: number): void {
    if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`clock: cannot step by ${ms} ms; wanted 0 or more`);
    this.#rebase(ms);
    this.#tell();
  }

  /** Wall ms until the cloud's time is `at`, rounded up, 0 if it is past; undefined if it never comes: frozen. */
  wallMsUntil(at: number): number | undefined {
    const ms = at - this.#exact();
    if (ms <= 0) return 0;
    return this.#state.frozen ? undefined : Math.ceil(ms / this.#state.scale);
  }

  /** `run` sees `instant` as the time: for what came due then and is only now carried out. Not for asynchronous work. */
  atInstant<T>(instant: number, run: () => T): T {
    const outer = this.#instant;
    this.#instant = instant;
    try {
      return run();
    } finally {
      this.#instant = outer;
    }
  }

  /** Told after each `set` and `step`: timers have to be made anew. @returns ends it. */
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

/** A clock that shows the wall's time at first. */
export function newClockState(wallNow: number, { scale = 1, frozen = false }: ClockChange = {}): ClockState {
  return { cloudAt: wallNow, wallAt: wallNow, scale, frozen };
}
