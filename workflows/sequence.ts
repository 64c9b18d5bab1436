/**
 * Sequence numbers of lease messages: workflow time, never less than the last plus one. So they grow within a run, from run
 * to run of a chain, and across a reset, which replays the old numbers and then goes on at a later time.
 */
export class Sequence {
  #last = 0;

  next(): number {
    this.#last = Math.max(this.#last + 1, Date.now());
    return this.#last;
  }
}
