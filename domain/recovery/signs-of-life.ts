import type { Fact } from './facts.js';

/** What a look into the store showed of a host's sign of life. `unknown`: the store did not answer. */
export type SignSeen = { readonly signs: number } | 'none' | 'unknown';

/**
 * What is known of one host's sign of life from looks into the store. It is judged by the clock of who looks, and only from the
 * first look on: no clock of the host's or the store's can make it stale, and a worker that has just come has seen nothing stale.
 */
export class SignRecord {
  #seen: SignSeen = 'unknown';
  #signs: number | undefined;
  #newAt = 0;
  #isRenewed = false;

  /** @param at ms of a clock that nobody sets */
  look(seen: SignSeen, at: number): void {
    this.#seen = seen;
    if (typeof seen !== 'object' || seen.signs === this.#signs) return;
    this.#isRenewed = this.#signs !== undefined;
    this.#signs = seen.signs;
    this.#newAt = at;
  }

  /** A sign that was written once only proves no right to renew it, so that its age says nothing. */
  fact(at: number, staleMs: number): Fact<'host silent', 'sign'> {
    if (this.#seen === 'unknown') return 'store silent';
    if (this.#seen === 'none') return 'never';
    if (this.#seen.signs < 2) return 'never';
    return at - this.#newAt < staleMs ? 'fresh' : 'stale';
  }

  /** It was seen to be renewed, and not long ago. */
  isRenewed(at: number, staleMs: number): boolean {
    return this.#isRenewed && this.fact(at, staleMs) === 'fresh';
  }
}

/** The number in a sign of life, which its host counts up. Anything else is none. */
export function signSeen(content: string | undefined): SignSeen {
  const signs = Number(/^\{"v":1,"run":"[^"]*","signs":(\d+)\}$/.exec(content ?? '')?.[1]);
  return signs > 0 ? { signs } : 'none';
}
