import { setMaxListeners } from 'node:events';
import { log } from '@temporalio/activity';
import type { RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptEnd } from '../../contract/job-activities.js';
import { askAgainMs, type HostSilence, quietMsOf, silenceOf, type SilenceVerdict } from '../../domain/silence.js';
import { messageOf } from '../failures.js';
import type { AttemptHost } from './attempt-hosts.js';
import { pause } from './pause.js';
import { largest } from '../../domain/extremes.js';

export type Silence = Extract<SilenceVerdict, { kind: 'silent' }>;

/** Asks a host for its run's status; goes on trying until the signal ends it. */
export type AskStatus = (host: AttemptHost, signal: AbortSignal) => Promise<RunStatus>;

/** One host, since this worker reads its output. Times are of this process's monotonic clock, which no one sets and no sleep moves. */
interface Reading {
  readonly position: () => number;
  /** Bytes that had been printed when the reading began: they are no news when they come. */
  readonly oldBytes: number;
  /** When the last bytes came, or the reading began. */
  heardAt: number;
  /** No sign of life is known that is later. */
  signAt: number;
  /** When its command was seen to have ended with code 0. */
  endedAt?: number;
}

/**
 * Waits until no host of an attempt has printed anything for `timeouts.no_output`.
 *
 * What enters: `reading` when a host's run is attached to, `heard` for each chunk, `said` for what it says otherwise. None of these
 * asks a host anything. What leaves: `silent`, after the hosts were asked, all of them, and only when by what came in it may be
 * time. Nothing of this is carried to another worker: attaching, that one hears from the hosts how long they have been quiet.
 */
export class SilenceWatch {
  readonly #limitMs: number;
  readonly #hosts: readonly AttemptHost[];
  readonly #ask: AskStatus;
  readonly #signal: AbortSignal;
  readonly #readings = new Map<AttemptHost, Reading>();

  /** @param hosts those that run the command */
  constructor(limitMs: number, hosts: readonly AttemptHost[], ask: AskStatus, signal: AbortSignal) {
    this.#limitMs = limitMs;
    this.#hosts = hosts;
    this.#ask = ask;
    this.#signal = signal;
  }

  /** @param position bytes of its output that have been read */
  reading(host: AttemptHost, status: RunStatus, position: () => number): void {
    const now = performance.now();
    const { outputBytes: oldBytes = 0, quietMs = 0 } = status.kind === 'running' ? status : {};
    this.#readings.set(host, { position, oldBytes, heardAt: now, signAt: now - quietMs });
    this.said(host, status);
  }

  /** @param bytes what came, not yet counted in `position` */
  heard(host: AttemptHost, bytes: number): void {
    const reading = this.#readings.get(host);
    if (reading === undefined) return;
    reading.heardAt = performance.now();
    if (reading.position() + bytes > reading.oldBytes) reading.signAt = reading.heardAt;
  }

  said(host: AttemptHost, status: RunStatus): void {
    const reading = this.#readings.get(host);
    if (reading === undefined || !isDone(status)) return;
    reading.endedAt ??= performance.now() - (status.quietMs ?? 0);
    reading.signAt = Math.max(reading.signAt, reading.endedAt);
  }

  /** Rejects with the signal's reason when that ends it. */
  async silent(): Promise<Silence> {
    for (;;) {
      const dueInMs = this.#dueInMs();
      if (dueInMs > 0) {
        await pause(Math.min(dueInMs, LONGEST_PAUSE_MS), this.#signal);
        continue;
      }
      const verdict = silenceOf(await this.#askAll(), this.#limitMs);
      if (verdict.kind === 'silent') return verdict;
      const againMs = verdict.kind === 'unknown' ? askAgainMs(this.#limitMs) : verdict.dueInMs;
      await pause(Math.min(againMs, LONGEST_PAUSE_MS), this.#signal);
    }
  }

  /** As far as this worker knows; a host that it has not reached yet it need not ask. */
  #dueInMs(): number {
    const readings = [...this.#readings.values()];
    if (readings.length < this.#hosts.length) return askAgainMs(this.#limitMs);
    return this.#limitMs - (performance.now() - largest(readings.map(({ signAt }) => signAt)));
  }

  async #askAll(): Promise<readonly HostSilence[]> {
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const end = (): void => over.abort(this.#signal.reason);
    this.#signal.addEventListener('abort', end, { once: true });
    try {
      return await Promise.all(this.#hosts.map((host) => this.#silenceOn(host, over.signal)));
    } finally {
      this.#signal.removeEventListener('abort', end);
      over.abort(new Error('nobody waits for the answer any more'));
    }
  }

  async #silenceOn(host: AttemptHost, signal: AbortSignal): Promise<HostSilence> {
    const reading = this.#readings.get(host);
    if (reading === undefined) return UNKNOWN;
    const place = { slice: host.target.slice, host: host.target.index };
    const askedAt = performance.now();
    const ended = (endedAt: number): HostSilence => ({
      kind: 'ended',
      ...place,
      quietMs: askedAt - endedAt,
      hasPrinted: true,
    });
    if (reading.endedAt !== undefined && askedAt - reading.endedAt >= this.#limitMs) return ended(reading.endedAt);
    const status = await this.#answerOf(host, signal);
    if (status?.kind === 'running') {
      const quietMs = quietMsOf(status, { position: reading.position(), forMs: askedAt - reading.heardAt });
      if (quietMs === undefined) return UNKNOWN;
      reading.signAt = Math.max(reading.signAt, askedAt - quietMs);
      return { kind: 'running', ...place, quietMs, hasPrinted: status.outputBytes > 0 };
    }
    if (status !== undefined) this.said(host, status);
    return reading.endedAt === undefined ? UNKNOWN : ended(reading.endedAt);
  }

  /** Undefined: nothing is known of it now. */
  async #answerOf(host: AttemptHost, signal: AbortSignal): Promise<RunStatus | undefined> {
    const late = (): never => {
      throw new Error(`no answer within ${ANSWER_MS / 1000} s`);
    };
    try {
      // A connection that hangs hears of no signal.
      return await Promise.race([this.#ask(host, signal), pause(ANSWER_MS, signal).then(late)]);
    } catch (error) {
      this.#signal.throwIfAborted();
      log.info(`host ${host.number} cannot say how long it has been quiet: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** With times in place of durations: the job's workflow hears of it later. */
export function silenceEnd({ quietMs, last: { what, slice, host }, first }: Silence): AttemptEnd {
  const at = (ms: number): number => Math.round(Date.now() - ms);
  const last = { what, slice, host, at: at(quietMs) };
  if (first === undefined) return { kind: 'no-output', last };
  const { quietMs: firstQuietMs, ...firstPlace } = first;
  return { kind: 'no-output', last, first: { ...firstPlace, at: at(firstQuietMs) } };
}

const UNKNOWN: HostSilence = { kind: 'unknown' };
/** Within this time a host that can be reached has answered. */
const ANSWER_MS = 20_000;
/** Timers count up to 2^31 ms. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;

function isDone(status: RunStatus): status is Extract<RunStatus, { kind: 'exited' }> {
  return status.kind === 'exited' && status.code === 0 && status.signal === undefined && !status.isStopped;
}
