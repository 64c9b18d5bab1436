/**
 * An answer to a question that may come a thousand times in one workflow task. Each answer is a command, and Temporal takes
 * 2,000 pending activities or signals of a workflow: beyond that the workflow task fails, on every try. So one answer is under
 * way at a time. A question that comes meanwhile is answered once more after it, however many there are: the answer under way
 * may have been given before what they are about.
 */
export class OneAtATime {
  #isBusy = false;
  #isDue = false;
  readonly #answer: () => Promise<void>;

  constructor(answer: () => Promise<void>) {
    this.#answer = answer;
  }

  /**
   * The first caller's promise resolves when no answer is due any more, and rejects as an answer does. Others get none: the SDK
   * pays for each promise.
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
