import { Writable } from 'node:stream';
import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/error-words.js';
import type { BuildPlace, Builds } from '../../cloud/builds/port.js';
import { CloudRefused } from '../../cloud/machines/port.js';
import type { BuildWaiter } from '../../contract/build.js';
import type { BuildPod } from '../../domain/build/condition.js';
import { BUILD_STREAM, logPrefix } from '../../domain/store-layout.js';
import { followsOf } from '../attempt/followed-jobs.js';
import { LogStream, type Shipping } from '../attempt/log-stream.js';
import { pause } from '../attempt/pause.js';

/** A build that prints more is read on, and the rest is not kept. The kubelet keeps as much. */
const MOST_BYTES = 10 * 1024 * 1024;
/** Pause before a log that broke off is asked for again. */
const AGAIN_MS = 1_000;
/** Time for the output of a process at its end. */
const REST_MS = 10_000;

/**
 * Brings the output of one try's pod into the log of every job that waits for the image. The log of a pod is read from its
 * beginning, so that a job that comes late, or a worker that goes on, has the same bytes at the same offsets. The tries of a
 * build are told apart as hosts are.
 */
export class BuildLog {
  readonly #shipping: Shipping;
  readonly #place: BuildPlace;
  readonly #builds: Pick<Builds, 'follow'>;
  readonly #number: number;
  readonly #signal: AbortSignal;
  #text = Buffer.alloc(0);
  readonly #streams = new Map<string, Promise<LogStream>>();
  #following: Promise<void> | undefined;
  #isRefused: string | undefined;

  /** @param number number of the try, from 0 */
  constructor(
    { builds, shipping }: { readonly builds: Pick<Builds, 'follow'>; readonly shipping: Shipping },
    { place, number, signal }: { readonly place: BuildPlace; readonly number: number; readonly signal: AbortSignal },
  ) {
    [this.#builds, this.#shipping] = [builds, shipping];
    [this.#place, this.#number, this.#signal] = [place, number, signal];
  }

  /** Serves the jobs that wait now. New ones get the earlier output too. */
  async serve(waiters: readonly BuildWaiter[]): Promise<void> {
    for (const { id, attempt } of waiters) {
      if (this.#streams.has(id)) continue;
      const shipping = { ...this.#shipping, isFollowed: followsOf(this.#shipping.store, id) };
      const opened = LogStream.open(shipping, logPrefix(id, attempt, BUILD_STREAM), this.#number, this.#signal);
      // Entered first: output that comes meanwhile is in the text that the stream is given here.
      this.#streams.set(
        id,
        opened.then(async (stream) => {
          await this.#catchUp(stream);
          return stream;
        }),
      );
    }
    await Promise.all(this.#streams.values());
  }

  /** Begins to read, once. */
  read(pod: BuildPod): void {
    this.#following ??= this.#followToItsEnd(pod).catch((error: unknown) => {
      if (!this.#signal.aborted) log.warn(`the log of build pod ${pod.name}: ${messageOf(error)}`);
    });
  }

  /** Reads and stores the rest; bounded, because a pod whose node is gone never says that its log has ended. */
  async end(): Promise<void> {
    const bound = new AbortController();
    await Promise.race([this.#following, pause(REST_MS, bound.signal)]);
    bound.abort();
    for (const opened of this.#streams.values()) {
      const stream = await opened;
      await this.#catchUp(stream);
      await stream.flush();
      if (this.#isRefused !== undefined)
        await stream.lostTail(`the log of the build cannot be read: ${this.#isRefused}`);
    }
  }

  async #followToItsEnd(pod: BuildPod): Promise<void> {
    for (;;) {
      try {
        return await this.#builds.follow(this.#place, pod, this.#sink(), this.#signal);
      } catch (error) {
        if (error instanceof CloudRefused) {
          this.#isRefused = error.message;
          return;
        }
        log.warn(`the log of build pod ${pod.name} broke off: ${messageOf(error)}`);
        await pause(AGAIN_MS, this.#signal);
        if (this.#signal.aborted) return;
      }
    }
  }

  /** Takes a log from its beginning, and skips the part that is known. */
  #sink(): Writable {
    let at = 0;
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        const news = chunk.subarray(Math.max(0, this.#text.length - at));
        at += chunk.length;
        this.#text = Buffer.concat([this.#text, news.subarray(0, Math.max(0, MOST_BYTES - this.#text.length))]);
        this.#spread().then(() => done(), done);
      },
    });
  }

  async #spread(): Promise<void> {
    for (const opened of this.#streams.values()) await this.#catchUp(await opened);
  }

  async #catchUp(stream: LogStream): Promise<void> {
    if (stream.position < this.#text.length) await stream.append(this.#text.subarray(stream.position));
  }
}
