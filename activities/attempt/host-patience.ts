import type { HostTarget } from '../../cloud/hosts/port.js';

/** A host did not answer for as long as a set-up waits: this is not evidence that it is lost, but enough to ask for another. */
export class HostSilent extends Error {
  override readonly name = 'HostSilent';
  readonly target: HostTarget;

  constructor(target: HostTarget, minutes: number) {
    super(`it has not answered over SSH for ${minutes} minutes`);
    this.target = target;
  }
}

/**
 * Silence of each host. For a set-up only: a running command is never given up for silence (docs/design.md, "Unknown is not
 * dead").
 */
export class Patience {
  readonly #limitMs: number;
  readonly #silentSince = new Map<string, number>();

  constructor(limitMs: number = SET_UP_SILENCE_MS) {
    this.#limitMs = limitMs;
  }

  /** @throws HostSilent when the silence is too long. */
  silent(target: HostTarget, now: number): void {
    const since = this.#silentSince.get(keyOf(target)) ?? now;
    this.#silentSince.set(keyOf(target), since);
    if (now - since >= this.#limitMs) throw new HostSilent(target, Math.round(this.#limitMs / 60_000));
  }

  heard(target: HostTarget): void {
    this.#silentSince.delete(keyOf(target));
  }
}

/** A new TPU VM answers within two or three minutes. */
const SET_UP_SILENCE_MS = 15 * 60_000;

const keyOf = ({ slice, index }: HostTarget): string => `${slice}/${index}`;
