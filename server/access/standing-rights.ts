import type { AccessVerb } from '../../contract/access.js';
import { ApiError } from '../problem.js';
import type { Call, Gate } from './gate.js';

/** Longest use of a right after it is lost or its token has expired. The delay until changed files are read comes on top. */
const LOOK_MS = 10_000;

export interface StandingRight {
  /** Aborted with the `ApiError` that gives the reason. */
  readonly lost: AbortSignal;
  /** Call it when the right is not used any longer. */
  end(): void;
}

interface Held {
  readonly call: Call;
  readonly verb: AccessVerb;
  readonly job: string;
  readonly lost: AbortController;
  /** The check in progress. If a slow check overlapped the next, one loss would be recorded twice. */
  look?: Promise<void> | undefined;
}

/**
 * Rights that are used for longer than one call, such as for following a log. The gate checks all of them again together, so that
 * a pool's files and a job's owner are read once per check, however many callers follow.
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

  /** The number of rights in use. */
  get size(): number {
    return this.#held.size;
  }

  /** Starts to watch the right of a call that the gate has just allowed. */
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
      // Unreadable files or an unreachable store take no right away: reading the log would fail as well.
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
