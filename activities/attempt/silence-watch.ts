import { setMaxListeners } from 'node:events';
import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import type { RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { largest, smallest } from '../../domain/extremes.js';
import {
  askAgainMs,
  type HostSilence,
  heardAgain,
  NOTE_AFTER_MS,
  noteAfterMs,
  noteDueMs,
  quietMsOf,
  type Rhythm,
  type SilentEnd,
  type SilentHost,
  silenceOf,
  type SilenceVerdict,
  UNHEARD,
} from '../../domain/silence.js';
import { attemptTroubleSignal } from '../../contract/job.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { jobTeller, pause } from './activity-end.js';
import { type AttemptHost, placeOf } from './attempt-hosts.js';

export type Silence = Extract<SilenceVerdict, { kind: 'silent' }>;

/** Asks a host for its run's status, and goes on trying until the signal ends it. */
type AskStatus = (host: AttemptHost, signal: AbortSignal) => Promise<RunStatus>;

/**
 * One host, since this worker reads its output. Times are of this process's monotonic clock, which cannot be set and
 * stands still while the computer sleeps.
 */
interface Reading {
  readonly position: () => number;
  /** Bytes that had been printed when the reading began: they are not news when they come. */
  readonly oldBytes: number;
  /** Time at which the last bytes came, or the reading began. */
  heardAt: number;
  /** Time of the latest known sign of life. */
  signAt: number;
  rhythm: Rhythm;
  /** Time at which its command was seen to have ended with code 0. */
  endedAt?: number;
}

/**
 * `endMs` is `timeouts.no_output`: the command ends after it, and a host that is silent alone for so long is named. `noteMs`:
 * nothing ends. A host is named only if it printed regularly before, and has been silent for this long and for longer than ever.
 */
export type SilenceLimit = { readonly endMs: number } | { readonly noteMs: number };

/** The limit for a job: `timeouts.no_output`, or one that only names hosts if several run the command. Undefined: no limit. */
export function silenceLimitOf(noOutputSeconds: number | undefined, hosts: number): SilenceLimit | undefined {
  if (noOutputSeconds !== undefined) return { endMs: noOutputSeconds * 1000 };
  return hosts > 1 ? { noteMs: NOTE_AFTER_MS } : undefined;
}

/**
 * Waits until no host of an attempt has printed anything for `timeouts.no_output`.
 *
 * Inputs: `reading` when a host's run is attached to, `heard` for each chunk, `said` for its other reports. None of these asks a
 * host anything. Outputs: `silent`, after all hosts were asked, and only when the inputs say that it may be time; and `onAlone`,
 * for hosts that are silent for that long while others print. `onAlone` ends nothing, and each of these hosts is asked before.
 * Nothing of this is carried to another worker: when that one attaches, the hosts tell it how long they have been quiet. A watch
 * that only notes sends nothing and asks no host while all print.
 */
export class SilenceWatch {
  readonly #limit: SilenceLimit;
  readonly #limitMs: number;
  readonly #hosts: readonly AttemptHost[];
  readonly #ask: AskStatus;
  readonly #signal: AbortSignal;
  readonly #readings = new Map<AttemptHost, Reading>();

  readonly #onAlone: (hosts: readonly SilentHost[]) => void;
  readonly #alone = new Map<AttemptHost, SilentHost>();
  /** Hosts that were silent for so long when this worker came that another worker may have noted them. */
  readonly #mayBeNoted = new Set<AttemptHost>();
  #isTold = false;

  /**
   * @param hosts the hosts that run the command
   * @param onAlone gets all hosts that are silent while others print, whenever they change; first when all hosts are attached to
   */
  constructor(
    limit: SilenceLimit,
    hosts: readonly AttemptHost[],
    { ask, onAlone }: { readonly ask: AskStatus; readonly onAlone: (hosts: readonly SilentHost[]) => void },
    signal: AbortSignal,
  ) {
    this.#limit = limit;
    this.#limitMs = 'endMs' in limit ? limit.endMs : limit.noteMs;
    this.#hosts = hosts;
    this.#ask = ask;
    this.#onAlone = onAlone;
    this.#signal = signal;
  }

  /** @param position bytes of its output that have been read */
  reading(host: AttemptHost, status: RunStatus, position: () => number): void {
    const now = performance.now();
    const { outputBytes: oldBytes = 0, quietMs = 0 } = status.kind === 'running' ? status : {};
    this.#readings.set(host, { position, oldBytes, heardAt: now, signAt: now - quietMs, rhythm: UNHEARD });
    if ('noteMs' in this.#limit && oldBytes > 0 && quietMs >= this.#limitMs) this.#mayBeNoted.add(host);
    this.said(host, status);
  }

  /** @param bytes size of the chunk, not yet counted in `position` */
  heard(host: AttemptHost, bytes: number): void {
    const reading = this.#readings.get(host);
    if (reading === undefined) return;
    reading.heardAt = performance.now();
    if (reading.position() + bytes <= reading.oldBytes) return;
    reading.rhythm = heardAgain(reading.rhythm, reading.heardAt - reading.signAt);
    reading.signAt = reading.heardAt;
    this.#speaks(host);
  }

  said(host: AttemptHost, status: RunStatus): void {
    const reading = this.#readings.get(host);
    if (reading === undefined || !isDone(status)) return;
    reading.endedAt ??= performance.now() - (status.quietMs ?? 0);
    reading.signAt = Math.max(reading.signAt, reading.endedAt);
    this.#speaks(host);
  }

  /** Called when the host has printed or ended: either way it is no longer silent. */
  #speaks(host: AttemptHost): void {
    const [wasAlone, wasNoted] = [this.#alone.delete(host), this.#mayBeNoted.delete(host)];
    if (wasAlone || wasNoted) this.#tellAlone();
  }

  #tellAlone(): void {
    this.#isTold = true;
    this.#onAlone([...this.#alone.values()]);
  }

  /** Rejects with the signal's reason if the signal ends it. A watch that only notes has no other end. */
  async silent(): Promise<Silence> {
    if ('noteMs' in this.#limit)
      for (;;) {
        await this.#lookForAlone();
        // Nobody is asked for this: which host is due is known here.
        await pause(askAgainMs(this.#limitMs), this.#signal);
      }
    for (;;) {
      const dueInMs = this.#dueInMs();
      if (dueInMs > 0) {
        const aloneInMs = await this.#lookForAlone();
        await pause(Math.min(dueInMs, aloneInMs, LONGEST_PAUSE_MS), this.#signal);
        continue;
      }
      const verdict = silenceOf(await this.#askAll(), this.#limitMs);
      if (verdict.kind === 'silent') return verdict;
      const againMs = verdict.kind === 'unknown' ? askAgainMs(this.#limitMs) : verdict.dueInMs;
      await pause(Math.min(againMs, LONGEST_PAUSE_MS), this.#signal);
    }
  }

  /** Asks the hosts that may be silent alone. @returns time in ms until the next one may be */
  async #lookForAlone(): Promise<number> {
    if (this.#readings.size < this.#hosts.length) return Infinity;
    const due = this.#hosts.filter((host) => this.#aloneInMs(host) <= 0);
    const found = await this.#askAll(due);
    for (const [at, silence] of found.entries()) {
      const host = due[at];
      if (host === undefined || silence.kind !== 'running' || silence.quietMs < this.#aloneLimitMs(host)) continue;
      const { slice, host: index, hasPrinted, quietMs } = silence;
      this.#alone.set(host, { slice, host: index, hasPrinted, since: Math.round(Date.now() - quietMs) });
    }
    const isFirst = 'endMs' in this.#limit && !this.#isTold;
    if (due.some((host) => this.#alone.has(host)) || isFirst) this.#tellAlone();
    const next = this.#hosts.map((host) => this.#aloneInMs(host));
    return smallest(next.map((ms) => (ms > 0 ? ms : askAgainMs(this.#limitMs))));
  }

  #aloneInMs(host: AttemptHost): number {
    const { endedAt, signAt, rhythm = UNHEARD } = this.#readings.get(host) ?? {};
    if (signAt === undefined || endedAt !== undefined || this.#alone.has(host)) return Infinity;
    const now = performance.now();
    if ('endMs' in this.#limit) return this.#limitMs - (now - signAt);
    const others = [...this.#readings].flatMap(([other, reading]) =>
      other === host || reading.endedAt !== undefined
        ? []
        : [{ rhythm: reading.rhythm, quietMs: now - reading.signAt }],
    );
    return noteDueMs({ rhythm, quietMs: now - signAt }, others, this.#limitMs);
  }

  #aloneLimitMs(host: AttemptHost): number {
    if ('endMs' in this.#limit) return this.#limit.endMs;
    return noteAfterMs(this.#readings.get(host)?.rhythm ?? UNHEARD, this.#limit.noteMs);
  }

  /**
   * Time in ms until all hosts may have been silent for long enough, by this worker's knowledge. It asks none before it has
   * reached all.
   */
  #dueInMs(): number {
    const readings = [...this.#readings.values()];
    if (readings.length < this.#hosts.length) return askAgainMs(this.#limitMs);
    return this.#limitMs - (performance.now() - largest(readings.map(({ signAt }) => signAt)));
  }

  async #askAll(hosts = this.#hosts): Promise<readonly HostSilence[]> {
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const end = (): void => over.abort(this.#signal.reason);
    this.#signal.addEventListener('abort', end, { once: true });
    try {
      return await Promise.all(hosts.map((host) => this.#silenceOn(host, over.signal)));
    } finally {
      this.#signal.removeEventListener('abort', end);
      over.abort(new Error('nobody waits for the answer any more'));
    }
  }

  async #silenceOn(host: AttemptHost, signal: AbortSignal): Promise<HostSilence> {
    const reading = this.#readings.get(host);
    if (reading === undefined) return UNKNOWN;
    const place = placeOf(host.target);
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

  /** Undefined: its status is not known now. */
  async #answerOf(host: AttemptHost, signal: AbortSignal): Promise<RunStatus | undefined> {
    const late = (): never => {
      throw new Error(`no answer within ${ANSWER_MS / 1000} s`);
    };
    try {
      // A connection that hangs does not notice the signal.
      return await Promise.race([this.#ask(host, signal), pause(ANSWER_MS, signal).then(late)]);
    } catch (error) {
      this.#signal.throwIfAborted();
      log.info(`host ${host.number} cannot say how long it has been quiet: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** The end with times in place of durations, because the job's workflow hears of it later. */
export function silenceEnd({ quietMs, last: { what, slice, host }, first }: Silence): SilentEnd {
  const at = (ms: number): number => Math.round(Date.now() - ms);
  const last = { what, slice, host, at: at(quietMs) };
  if (first === undefined) return { kind: 'no-output', last };
  const { quietMs: firstQuietMs, ...firstPlace } = first;
  return { kind: 'no-output', last, first: { ...firstPlace, at: at(firstQuietMs) } };
}

/**
 * Tells the job which hosts are silent while others print, so that `list`, `status` and `why` say it, and when that is over. A
 * worker's first message also takes back an earlier worker's message.
 */
export function tellOfSilentHosts(
  input: Pick<AttemptInput, 'job' | 'attempt'> & { readonly spec: Pick<JobSpec, 'slices' | 'timeouts'> },
): (hosts: readonly SilentHost[]) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'which hosts are silent');
  return (hosts) => {
    const what = hosts.length === 0 ? {} : { what: silentHostsText(hosts, input.spec) };
    tell({ v: 1, attempt: input.attempt, of: 'silence', ...what });
  };
}

/**
 * `nothing was printed by host 1 since 2026-11-22T07:14:20Z, while others print (timeouts.no_output)`. Without that limit, the
 * text is in the past tense, because it is not taken back when the others fall silent too.
 */
function silentHostsText(
  hosts: readonly SilentHost[],
  { slices, timeouts }: Pick<JobSpec, 'slices' | 'timeouts'>,
): string {
  const inOrder = hosts.toSorted((a, b) => a.since - b.since || a.slice - b.slice || a.host - b.host);
  const named = inOrder.slice(0, MOST_NAMED).map(({ slice, host, hasPrinted, since }) => {
    const place = slices > 1 ? `host ${host} of slice ${slice}` : `host ${host}`;
    return `${place} since ${hasPrinted ? '' : 'its start, '}${new Date(since).toISOString().slice(0, 19)}Z`;
  });
  const more = hosts.length > MOST_NAMED ? ` and ${hosts.length - MOST_NAMED} more` : '';
  const others =
    timeouts?.noOutput === undefined
      ? 'which printed regularly before, while others went on'
      : 'while others print (timeouts.no_output)';
  return `nothing was printed by ${named.join(', ')}${more}, ${others}`;
}

const MOST_NAMED = 4;

const UNKNOWN: HostSilence = { kind: 'unknown' };
/** Time limit for the answer of a host that can be reached. */
const ANSWER_MS = 20_000;
/** Longest pause of one timer. Node's timers take up to 2^31 ms. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;

function isDone(status: RunStatus): status is Extract<RunStatus, { kind: 'exited' }> {
  return status.kind === 'exited' && status.code === 0 && status.signal === undefined && !status.isStopped;
}
