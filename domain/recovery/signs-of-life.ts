import type { Condition } from '../slice.js';
import type { EpochMs } from '../units.js';
import type { Fact, Facts } from './facts.js';
import type { HostPlace } from './host-ends.js';

/** Result of a look into the store for a host's sign of life. `unknown`: the store did not answer. */
export type SignSeen = { readonly signs: number } | 'none' | 'unknown';

/**
 * Knowledge about one host's sign of life from looks into the store. It is judged by the looking worker's clock, and only from
 * its first look on: no clock of the host or the store can make a sign stale, and to a new worker no sign is stale.
 */
export class SignRecord {
  #seen: SignSeen = 'unknown';
  #signs: number | undefined;
  #newAt = 0;
  #isRenewed = false;

  /** @param at ms of a clock that is never set */
  look(seen: SignSeen, at: number): void {
    this.#seen = seen;
    if (typeof seen !== 'object' || seen.signs === this.#signs) return;
    this.#isRenewed = this.#signs !== undefined;
    this.#signs = seen.signs;
    this.#newAt = at;
  }

  /** A sign that was written only once does not prove the right to renew it, so its age says nothing. */
  fact(at: number, staleMs: number): Fact<'host silent', 'sign'> {
    if (this.#seen === 'unknown') return 'store silent';
    if (this.#seen === 'none') return 'never';
    if (this.#seen.signs < 2) return 'never';
    return at - this.#newAt < staleMs ? 'fresh' : 'stale';
  }

  /** Returns whether the sign was seen renewed, not long ago. */
  isRenewed(at: number, staleMs: number): boolean {
    return this.#isRenewed && this.fact(at, staleMs) === 'fresh';
  }
}

/** The number in a sign of life, which its host counts up. Any other content is no sign. */
export function signSeen(content: string | undefined): SignSeen {
  const signs = Number(/^\{"v":1,"run":"[^"]*","signs":(\d+)\}$/.exec(content ?? '')?.[1]);
  return signs > 0 ? { signs } : 'none';
}

/** The API's answer about the slice of a host that does not answer. A slice that is not there is judged as `slice seen`. */
export function nodeFact(seen: Condition | undefined): Fact<'host silent', 'node'> {
  if (seen?.kind === 'ready') return seen.warning === undefined ? 'ready' : 'warned';
  return 'no word';
}

/** The reason why a silent host counts as dead, for the job's story and for its retry. */
export function deadHostText(
  { slice, host }: HostPlace,
  { sign, others, silence }: Facts<'host silent'>,
  { since, limitMs, staleMs }: { readonly since: EpochMs; readonly limitMs: number; readonly staleMs: number },
): string {
  return [
    `host ${host} of slice ${slice} has not answered since ${new Date(since).toISOString()}`,
    ...(others === 'silent' ? [] : ['another host on its route does']),
    ...(sign === 'stale' ? [`its sign of life in the store was not renewed for ${timeText(staleMs)}`] : []),
    ...(silence === 'longer' ? [`timeouts.unreachable is ${timeText(limitMs)}`] : []),
  ].join('; ');
}

const timeText = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
