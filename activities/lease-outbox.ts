import type { LeaseMessage } from '../domain/lease.js';
import { leaseMessagesSignal, quotaStart } from '../contract/quota.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import type { WorkflowClient } from './workflow-lookup.js';

/**
 * Coalesces the lease messages of one worker: one signal in flight per pool, which carries everything that came while the last
 * one was on its way (docs/adr/0004). `send` is called once per message. Each batch is one signal-with-start, so that a quota
 * workflow that was terminated comes back with the next message. A `send` settles with its batch: it resolves when the server
 * acknowledged the signal, and rejects when it did not, and then its activity tries again.
 *
 * The window in which messages collect starts small, so that a lone job does not wait, and grows while batches are full.
 */
export class LeaseOutbox {
  readonly #taskQueue: string;
  readonly #deadlineMs: number;
  readonly #lanes = new Map<string, Lane>();

  constructor(taskQueue: string, deadlineMs: number = SIGNAL_DEADLINE_MS) {
    this.#taskQueue = taskQueue;
    this.#deadlineMs = deadlineMs;
  }

  send(client: WorkflowClient, message: LeaseMessage): Promise<void> {
    const { pool } = message.lease;
    const lane = this.#lanes.get(pool) ?? { letters: [], isDraining: false, windowMs: FIRST_WINDOW_MS };
    this.#lanes.set(pool, lane);
    return new Promise<void>((resolve, reject) => {
      lane.letters.push({ message, resolve, reject, bytes: JSON.stringify(message).length });
      if (!lane.isDraining) void this.#drain(client, pool, lane);
    });
  }

  async #drain(client: WorkflowClient, pool: string, lane: Lane): Promise<void> {
    lane.isDraining = true;
    while (lane.letters.length > 0) {
      // Messages that fill a signal already need not wait.
      if (!fillsASignal(lane.letters)) await new Promise((resolve) => setTimeout(resolve, lane.windowMs));
      const batch = takeBatch(lane.letters);
      await this.#post(client, pool, batch);
      const isBusy = lane.letters.length > batch.length / 2;
      lane.windowMs = isBusy
        ? Math.min(lane.windowMs * 2, LONGEST_WINDOW_MS)
        : Math.max(lane.windowMs / 2, FIRST_WINDOW_MS);
    }
    lane.isDraining = false;
  }

  async #post(client: WorkflowClient, pool: string, batch: readonly Letter[]): Promise<void> {
    try {
      await client.withDeadline(Date.now() + this.#deadlineMs, () =>
        client.workflow.signalWithStart(WorkflowType.Quota, {
          ...quotaStart(pool, this.#taskQueue),
          signal: leaseMessagesSignal,
          signalArgs: [batch.map(({ message }) => message)],
        }),
      );
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

interface Letter {
  readonly message: LeaseMessage;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
interface Lane {
  readonly letters: Letter[];
  isDraining: boolean;
  windowMs: number;
}

/** Number of letters, from the first, that go into one signal. */
function fitting(letters: readonly Letter[]): number {
  let bytes = 0;
  const over = letters.findIndex((letter, index) => index >= MOST_MESSAGES || (bytes += letter.bytes) > MOST_BYTES);
  return over === -1 ? letters.length : Math.max(1, over);
}

const fillsASignal = (letters: readonly Letter[]): boolean => fitting(letters) < letters.length;
const takeBatch = (letters: Letter[]): Letter[] => letters.splice(0, fitting(letters));

/** docs/design.md, "Quota": at most 200 messages or 16 KB in a signal, the window from 50 ms to 1 s under load. */
const MOST_MESSAGES = 200;
const MOST_BYTES = 16_384;
const FIRST_WINDOW_MS = 50;
const LONGEST_WINDOW_MS = 1_000;
const SIGNAL_DEADLINE_MS = 10_000;
