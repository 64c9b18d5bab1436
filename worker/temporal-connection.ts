import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, type NativeConnectionOptions, type ActivityInterceptorsFactory } from '@temporalio/worker';
import { ApiKeyFile, readLogin } from '../cloud/temporal/login-files.js';
import { explainRefusal, whyUnreachable } from '../cloud/temporal/explain-refusal.js';
import type { WorkerConfig } from './config.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { claimQueue, foreignQueueText, ownerOfQueue, type QueuePlace } from '../cloud/temporal/queue-claim.js';
import { FailureType } from '../domain/errors.js';

/** A worker's connection to Temporal, and its right to the task queue there. */

export interface WorkerConnection {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly address: string;
}

/** Connects once. @throws Error with the address, the reason and the remedy */
export async function connectWorker({ temporal }: WorkerConfig): Promise<WorkerConnection> {
  const profile = temporal.profile === undefined ? {} : { profile: temporal.profile };
  const { connectionOptions, namespace: configured } = loadClientConnectConfig(profile);
  const namespace = temporal.namespace ?? configured ?? 'default';
  const address = temporal.address ?? connectionOptions.address ?? '127.0.0.1:7233';
  const options = { ...connectionOptions, ...readLogin(temporal), address } as NativeConnectionOptions;
  try {
    const connection = await NativeConnection.connect(options);
    return { connection, namespace, address };
  } catch (error) {
    const refusal = explainRefusal(error, namespace);
    if (refusal?.kind === 'refused') {
      throw new Error(`Temporal at ${address}: ${refusal.why}\n  ${refusal.remedy}`, { cause: error });
    }
    const tls = options.tls ?? options.apiKey !== undefined;
    const found = await whyUnreachable({ address, tls });
    const { why = (error as Error).message, remedy = ASK } = found ?? {};
    throw new Error(`Temporal at ${address} cannot be reached: ${why}\n  ${remedy}`, { cause: error });
  }
}

const ASK = 'is the address right (TEMPORAL_ADDRESS, --temporal-address), is the server up?';

/** Uses a renewed API key from the next call on. @returns a function that ends the watch */
export function followApiKey(
  { temporal: { apiKeyFile } }: WorkerConfig,
  { connection }: WorkerConnection,
  warn: (text: string) => void,
): () => void {
  if (apiKeyFile === undefined) return () => undefined;
  const onChange = (apiKey: string): void =>
    void connection.setApiKey(apiKey).catch((error: unknown) => warn(`the new API key is not used: ${String(error)}`));
  const file = ApiKeyFile.follow(apiKeyFile, { onChange, warn });
  return () => file.close();
}

/** Another installation holds the task queue. The worker ends, because its settings point to the wrong place. */
export class ForeignQueue extends Error {
  override readonly name = 'ForeignQueue';
}

/**
 * Keeps a worker from deciding anything on a task queue that is not its installation's (docs/adr/0103).
 *
 * `claim` runs before the first poll. While the worker polls, each activity first asks for the queue's holder, unless an answer
 * is younger than `FRESH_MS`: the server may have been replaced behind its address. If the queue is not ours, the activity fails,
 * for another worker to repeat. The first such answer resolves `lost`, and the worker stops polling. A server that does not
 * answer is no evidence about the queue.
 */
export class QueueGuard {
  readonly #place: QueuePlace;
  readonly owner: string;
  #askedAt = -Infinity;
  #asking: Promise<string | undefined> | undefined;
  #tellLost: (why: string) => void = () => undefined;
  /** Resolves with the reason. */
  readonly lost: Promise<string> = new Promise((resolve) => (this.#tellLost = resolve));

  constructor(place: QueuePlace, owner: string) {
    this.#place = place;
    this.owner = owner;
  }

  /** Claims the queue if it is unclaimed. @throws ForeignQueue */
  async claim(): Promise<void> {
    const holder = await claimQueue(this.#place, this.owner);
    if (holder !== this.owner) throw new ForeignQueue(foreignQueueText(this.#place, holder, this.owner));
    this.#askedAt = performance.now();
  }

  /** Repeats the question, also while there is no task, until the queue is lost or the signal ends it. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.#whyNotOurs();
    }
  }

  /** Runs before each activity of the queue. */
  readonly interceptor: ActivityInterceptorsFactory = () => ({
    inbound: {
      execute: async (input, next) => {
        const why = await this.#whyNotOurs();
        if (why === undefined) return next(input);
        throw ApplicationFailure.create({ type: FailureType.ForeignQueue, message: why, nextRetryDelay: '5s' });
      },
    },
  });

  async #whyNotOurs(): Promise<string | undefined> {
    if (performance.now() - this.#askedAt < FRESH_MS) return undefined;
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<string | undefined> {
    let holder: string | undefined;
    try {
      holder = await ownerOfQueue(this.#place);
    } catch {
      return undefined;
    }
    if (holder === this.owner) {
      this.#askedAt = performance.now();
      return undefined;
    }
    const why = holder === undefined ? this.#forgotten() : foreignQueueText(this.#place, holder, this.owner);
    this.#tellLost(why);
    return why;
  }

  #forgotten(): string {
    const { namespace, taskQueue } = this.#place;
    return `the server does not know any more that task queue '${taskQueue}' of namespace '${namespace}' is installation '${this.owner}': is it another server?`;
  }
}

/** Time for which an answer is valid. */
const FRESH_MS = 2_000;
const WATCH_MS = 10_000;
