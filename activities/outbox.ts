/**
 * Coalesces the messages of one worker: one call in flight for each receiver, which carries everything that came while the last
 * one was on its way (docs/adr/0004). A `send` settles with its batch: it resolves when the server took the batch, and rejects
 * when it did not, and then its activity tries again.
 *
 * The window in which messages collect starts small, so that a lone message does not wait, and grows while batches are full.
 */
export class Outbox<Client, Message> {
  readonly #post: (client: Client, receiver: string, batch: readonly Message[]) => Promise<unknown>;
  readonly #lanes = new Map<string, Lane<Message>>();

  constructor(post: (client: Client, receiver: string, batch: readonly Message[]) => Promise<unknown>) {
    this.#post = post;
  }

  send(client: Client, receiver: string, message: Message): Promise<void> {
    const lane = this.#lanes.get(receiver) ?? { letters: [], isDraining: false, windowMs: FIRST_WINDOW_MS };
    this.#lanes.set(receiver, lane);
    return new Promise<void>((resolve, reject) => {
      lane.letters.push({ message, resolve, reject, bytes: JSON.stringify(message).length });
      if (!lane.isDraining) void this.#drain(client, receiver, lane);
    });
  }

  async #drain(client: Client, receiver: string, lane: Lane<Message>): Promise<void> {
    lane.isDraining = true;
    while (lane.letters.length > 0) {
      // Messages that fill a signal already need not wait.
      if (!fillsASignal(lane.letters)) await new Promise((resolve) => setTimeout(resolve, lane.windowMs));
      const batch = takeBatch(lane.letters);
      await this.#deliver(client, receiver, batch);
      const isBusy = lane.letters.length > batch.length / 2;
      lane.windowMs = isBusy
        ? Math.min(lane.windowMs * 2, LONGEST_WINDOW_MS)
        : Math.max(lane.windowMs / 2, FIRST_WINDOW_MS);
    }
    lane.isDraining = false;
  }

  async #deliver(client: Client, receiver: string, batch: readonly Letter<Message>[]): Promise<void> {
    try {
      await this.#post(
        client,
        receiver,
        batch.map(({ message }) => message),
      );
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

interface Letter<Message> {
  readonly message: Message;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
interface Lane<Message> {
  readonly letters: Letter<Message>[];
  isDraining: boolean;
  windowMs: number;
}

type Sized = Pick<Letter<unknown>, 'bytes'>;

/** Number of letters, from the first, that go into one signal. */
function fitting(letters: readonly Sized[]): number {
  let bytes = 0;
  const over = letters.findIndex((letter, index) => index >= MOST_MESSAGES || (bytes += letter.bytes) > MOST_BYTES);
  return over === -1 ? letters.length : Math.max(1, over);
}

const fillsASignal = (letters: readonly Sized[]): boolean => fitting(letters) < letters.length;
const takeBatch = <Message>(letters: Letter<Message>[]): Letter<Message>[] => letters.splice(0, fitting(letters));

/** docs/design.md, "Quota": at most 200 messages or 16 KB in a signal, the window from 50 ms to 1 s under load. */
const MOST_MESSAGES = 200;
const MOST_BYTES = 16_384;
const FIRST_WINDOW_MS = 50;
const LONGEST_WINDOW_MS = 1_000;
/** Time in which the server must take a signal. */
export const SIGNAL_DEADLINE_MS = 10_000;
