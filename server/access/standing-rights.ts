import type { AccessVerb } from '../../domain/access/table.js';
import { ApiError } from '../problem.js';
import type { Call, Gate } from './gate.js';

/** How long somebody who lost a right, or whose token has expired, goes on at most, beside what files take to be read again. */
const LOOK_MS = 10_000;

export interface StandingRight {
  /** Aborted with the `ApiError` that says why. */
  readonly lost: AbortSignal;
  /** Nobody uses it any longer. */
  end(): void;
}

interface Held {
  readonly call: Call;
  readonly verb: AccessVerb;
  readonly job: string;
  readonly lost: AbortController;
  /** Under way: a slow look is not overtaken by the next, which would record one loss twice. */
  look?: Promise<void> | undefined;
}

/**
 * Rights that are used for longer than a call, such as to follow a log: the gate is asked again for all of them together, so that a
 * pool's files and a job's owner are read once a look, however many follow.
 */
export class StandingRights {
  readonly #gate: Gate;
  readonly #lookMs: number;
  readonly #held = new Set<Held>();
  #timer: NodeJS.Timeout | undefined;

  constructor(gate: Gate, lookMs = LOOK_MS) {
    this.#gate = gate;
    this.#lookMs = lookMs;
  }

  /** Rights that are used now. */
  get size(): number {
    return this.#held.size;
  }

  /** Of a call that the gate has just allowed. */
  hold(call: Call, verb: AccessVerb, job: string): StandingRight {
    const held: Held = { call, verb, job, lost: new AbortController() };
    this.#held.add(held);
    this.#timer ??= setInterval(() => this.#look(), this.#lookMs).unref();
    return { lost: held.lost.signal, end: () => this.#end(held) };
  }

  #end(held: Held): void {
    this.#held.delete(held);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const held of this.#held) held.look ??= this.#check(held).finally(() => (held.look = undefined));
  }

  async #check(held: Held): Promise<void> {
    const { call, verb, job, lost } = held;
    try {
      refuseExpired(call);
      await this.#gate.still(call, verb, job);
    } catch (error) {
      // Files or a store that cannot be read now take nobody's right away: what is read of the log would fail too.
      if (!(error instanceof ApiError) || !['forbidden', 'unauthenticated'].includes(error.code)) return;
      this.#end(held);
      lost.abort(error);
    }
  }
}

function refuseExpired({ caller: { expiresAt } }: Call): void {
  if (expiresAt > Date.now()) return;
  throw new ApiError(
    'unauthenticated',
    `the token has expired at ${new Date(expiresAt).toISOString()}`,
    'log in again: jobctl login; then go on behind the last event (Last-Event-ID)',
  );
}
