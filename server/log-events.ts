import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { ApiProblem } from '../contract/api/failures.js';
import type { logEndSchema } from '../contract/api/stored.js';
import type { LogStretch } from '../client/job-logs.js';
import { type LogPosition, positionText } from '../contract/api/log-position.js';
import type { LogSink } from '../client/log-follower.js';

/** Proxies close connections that are silent for longer than about a minute. */
const HEARTBEAT_MS = 15_000;
/** Time for a slow client to take the remaining bytes after the last event. */
const LAST_WORDS_MS = 30_000;

/**
 * Sends a log as server-sent events: `stretch` (bytes of one host), `attempt-end`, `end`, `problem`. The id of each event is the
 * position reached, `ATTEMPT;HOST:OFFSET,..`, so that a client that lost its connection continues by `Last-Event-ID` without a
 * gap or a repetition.
 */
export class LogEvents implements LogSink {
  readonly #response: ServerResponse;
  readonly #stop: AbortSignal;
  readonly #heartbeat: NodeJS.Timeout;
  #attempt: number;
  readonly #given: Map<number, number>;

  /**
   * @param from the position that the client has reached
   * @param stop ends the sending of the log, even if a slow client has not taken all bytes
   */
  constructor(response: ServerResponse, from: LogPosition, stop: AbortSignal) {
    this.#response = response;
    this.#stop = stop;
    this.#attempt = from.attempt;
    this.#given = new Map(from.given);
    this.#heartbeat = setInterval(() => {
      // A client that reads nothing must not accumulate hours of heartbeats.
      if (!response.writableNeedDrain) response.write(': \n\n');
    }, HEARTBEAT_MS);
  }

  async stretch({ attempt, host, bytes, storedAt, isLostTail }: LogStretch): Promise<void> {
    this.#stop.throwIfAborted();
    this.#attempt = attempt;
    const offset = this.#given.get(host) ?? 0;
    // The note about a lost end of a log does not count as bytes of it.
    if (isLostTail !== true) this.#given.set(host, offset + bytes.length);
    const data = {
      attempt,
      host,
      offset,
      storedAt,
      bytes: bytes.toString('base64'),
      ...(isLostTail === true ? { isLostTail } : {}),
    };
    await this.#send('stretch', data);
  }

  async attemptEnd(attempt: number): Promise<void> {
    this.#stop.throwIfAborted();
    this.#attempt = attempt + 1;
    this.#given.clear();
    await this.#send('attempt-end', { attempt });
  }

  end(data: z.input<typeof logEndSchema>): Promise<void> {
    return this.#send('end', data);
  }

  /** Tells that the log cannot continue. A client follows again, with a new token if the login has ended. */
  problem(problem: ApiProblem): Promise<void> {
    return this.#send('problem', problem);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    const response = this.#response;
    response.end();
    if (response.writableFinished) return;
    const cut = setTimeout(() => response.destroy(), LAST_WORDS_MS).unref();
    response.once('close', () => clearTimeout(cut));
  }

  /** Waits for a slow client, so that only the socket's buffer is held for it. */
  async #send(event: string, data: object): Promise<void> {
    if (this.#response.destroyed) return;
    const id = positionText({ attempt: this.#attempt, given: this.#given });
    const isTaken = this.#response.write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
    if (isTaken) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done).off('close', done);
        this.#stop.removeEventListener('abort', done);
        resolve();
      };
      this.#response.on('drain', done).on('close', done);
      this.#stop.addEventListener('abort', done);
      if (this.#stop.aborted) done();
    });
  }
}
