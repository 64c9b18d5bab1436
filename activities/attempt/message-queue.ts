/** Messages of many senders, for one reader that takes them in the order in which they came. */
export class MessageQueue<Message> {
  readonly #messages: Message[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  put(message: Message): void {
    this.#messages.push(message);
    this.#wake();
  }

  /** The reader gets this error in place of the next message. The first one counts. */
  readonly fail = (error: unknown): void => {
    this.#failure ??= { error };
    this.#wake();
  };

  async take(): Promise<Message> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#messages.length > 0) return this.#messages.shift() as Message;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
