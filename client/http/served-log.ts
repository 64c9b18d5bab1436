import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { z } from 'zod';
import type { ApiProblem } from '../../contract/api/failures.js';
import type { logAttemptEndSchema, logStretchSchema } from '../../contract/api/stored.js';
import { positionText } from '../../contract/api/log-position.js';
import { ServerRefused, TooManyRequests, isOutage, pause } from '../errors.js';
import { CATCH_UP_MS, type FollowedLog, type LogSelection, type LogSink, PATIENCE_MS } from '../log-follower.js';
import { isOver } from '../job-rows.js';
import { errorOfProblem, ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

/** Longest silence before a new request: three heartbeats of the server. */
const SILENCE_MS = 45_000;
/** Silence after which output counts as complete: twice the time in which the server notices stored output. */
const QUIET_MS = 800;
/** Most characters of an event. The server sends up to 4 MiB of a log in one event, in base64. */
const MOST_EVENT_CHARACTERS = 32 * 1024 * 1024;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * A log from `jobctl serve`: server-sent events in one request of any duration. After an interruption it continues after the last
 * received event (`Last-Event-ID`), so nothing is lost or duplicated.
 */
export class ServedLog implements FollowedLog {
  readonly #calls: ServerCalls;
  readonly #selection: LogSelection;
  readonly #sink: LogSink;
  /** Position of the last received event, where the next request starts. */
  #position: string;
  #isClosed = false;
  #isOpened = false;
  #cameAt = 0;

  constructor(options: ServerOptions, selection: LogSelection, sink: LogSink) {
    this.#calls = new ServerCalls(options);
    this.#selection = selection;
    this.#sink = sink;
    const { firstAttempt: attempt, starts = new Map() } = selection;
    this.#position = positionText({ attempt, given: new Map([...starts].map(([host, { offset }]) => [host, offset])) });
  }

  reached(row: Parameters<FollowedLog['reached']>[0]): void {
    this.#isClosed = isOver(row);
  }

  async caughtUp(signal: AbortSignal): Promise<void> {
    const began = Date.now();
    this.#cameAt = Math.max(this.#cameAt, began);
    const left = (): number => Math.min(this.#cameAt + QUIET_MS, began + CATCH_UP_MS) - Date.now();
    while (!signal.aborted && left() > 0) await pause(left(), signal);
  }

  /** @throws refusals of the server; an outage only if the job ended a while ago */
  async run(signal: AbortSignal): Promise<void> {
    let awaySince: number | undefined;
    for (let wait = FIRST_PAUSE_MS; !signal.aborted; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
      const before = this.#position;
      const error = await this.#follow(signal).then(() => undefined, asError);
      if (error === undefined || signal.aborted) return;
      if (this.#position !== before) [awaySince, wait] = [undefined, FIRST_PAUSE_MS];
      awaySince ??= Date.now();
      const isTooMany = error instanceof TooManyRequests && !this.#isOpened;
      const isLong = this.#isClosed && Date.now() - awaySince > PATIENCE_MS;
      if (!isOutage(error) || isTooMany || isLong) throw error;
      await pause(wait, signal);
    }
  }

  /** Follows the log until it is complete. @throws ServerUnreachable if the connection ends before that */
  async #follow(signal: AbortSignal): Promise<void> {
    const { job, stream, hosts, lastAttempt } = this.#selection;
    const messages: EventSourceMessage[] = [];
    const parser = createParser({
      onEvent: (message) => void messages.push(message),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') throw this.#wrong('an event without an end');
      },
      maxBufferSize: MOST_EVENT_CHARACTERS,
    });
    const decoder = new TextDecoder();
    const chunks = this.#calls.stream('logs', {
      params: { id: job },
      query: { follow: true, stream, host: hosts?.join(','), attempt: lastAttempt },
      headers: { 'last-event-id': this.#position },
      timeoutMs: SILENCE_MS,
      signal,
    });
    for await (const chunk of chunks) {
      this.#isOpened = true;
      parser.feed(decoder.decode(chunk, { stream: true }));
      for (const message of messages.splice(0)) if (await this.#take(message)) return;
    }
    throw this.#calls.brokeOff('the log broke off');
  }

  /** Handles an event. @returns whether the log is complete */
  async #take({ event, id = '', data }: EventSourceMessage): Promise<boolean> {
    this.#cameAt = Date.now();
    switch (event) {
      case 'stretch': {
        const { bytes, offset: _, ...more } = JSON.parse(data) as z.infer<typeof logStretchSchema>;
        const { isLostTail, ...stretch } = { ...more, bytes: Buffer.from(bytes, 'base64') };
        if (!isCount(stretch.host) || !isCount(stretch.attempt)) throw this.#wrong('a stretch of no host');
        await this.#sink.stretch({ ...stretch, ...(isLostTail === true ? { isLostTail } : {}) });
        break;
      }
      case 'attempt-end': {
        const { attempt } = JSON.parse(data) as z.infer<typeof logAttemptEndSchema>;
        if (!isCount(attempt)) throw this.#wrong('the end of no attempt');
        await this.#sink.attemptEnd(attempt);
        // An interruption before `end` must not lead past the last attempt.
        if (attempt === this.#selection.lastAttempt) return true;
        break;
      }
      case 'problem': {
        const problem = JSON.parse(data) as ApiProblem;
        // The token expired during the log: the next request gets another one.
        if (problem.code === 'unauthenticated') throw this.#calls.brokeOff(problem.detail);
        throw errorOfProblem(problem, this.#calls.address);
      }
      case 'end':
        return true;
      // Events of a later server are ignored.
      default:
    }
    // The id is sent back as a header.
    if (/^[\x20-\x7e]{1,60000}$/.test(id)) this.#position = id;
    return false;
  }

  #wrong(what: string): ServerRefused {
    return new ServerRefused(`jobctl serve at ${this.#calls.address} sends ${what} in a log`);
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
