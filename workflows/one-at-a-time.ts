/**
 * Answers a question that may come a thousand times in one workflow task. Each answer is a command, and Temporal takes 2,000
 * pending activities or signals of a workflow: beyond that the workflow task fails, on every try. So one answer is under way at a
 * time. All questions that come meanwhile get one more answer after it: the answer under way may be older than the facts that
 * they are about.
 */
export class OneAtATime {
  #isBusy = false;
  #isDue = false;
  readonly #answer: () => Promise<void>;

  constructor(answer: () => Promise<void>) {
    this.#answer = answer;
  }

  /**
   * The first caller's promise resolves when no answer is due any more, and rejects as an answer does. Other callers get
   * undefined, since each promise costs the SDK work.
   */
  ask(): Promise<void> | undefined {
    this.#isDue = true;
    return this.#isBusy ? undefined : this.#answerAll();
  }

  async #answerAll(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#isDue) {
        this.#isDue = false;
        await this.#answer();
      }
    } finally {
      this.#isBusy = false;
    }
  }
}

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
