import type { HostTarget } from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { type UnreachableHost, unreachableHostsSignal } from '../../contract/job.js';
import { jobTeller } from './activity-end.js';

/** Hears of each try to reach a host, from all code that calls hosts. */
export interface ReachListener {
  silent(target: HostTarget): void;
  answered(target: HostTarget): void;
}

/**
 * Hosts that do not answer, and since when. The job is told of hosts that miss another try a while after the first, and again
 * when one answers, so that `list`, `why` and its details say it. `DeadHostWatch` decides whether one is dead.
 */
export class UnreachableHosts implements ReachListener {
  readonly #told: Map<string, UnreachableHost>;
  /** Time at which each host missed its first try in a row: ms of a monotonic clock, and of the one that people read. */
  readonly #missed = new Map<string, { readonly tick: number; readonly at: number }>();
  readonly #tell: (hosts: readonly UnreachableHost[]) => void;
  readonly #tellAfterMs: number;
  #isTelling = false;

  /**
   * @param before hosts that the job was told of, perhaps by another worker
   * @param tellAfterMs a shorter silence is not told
   */
  constructor(
    before: readonly UnreachableHost[],
    tell: (hosts: readonly UnreachableHost[]) => void,
    tellAfterMs = TELL_AFTER_MS,
  ) {
    this.#told = new Map(before.map((host) => [keyOf(host), host]));
    this.#tell = tell;
    this.#tellAfterMs = tellAfterMs;
  }

  silent({ slice, index: host }: HostTarget): void {
    const key = keyOf({ slice, host });
    const first = this.#missed.get(key) ?? { tick: performance.now(), at: Date.now() };
    this.#missed.set(key, first);
    if (this.#told.has(key) || performance.now() - first.tick < this.#tellAfterMs) return;
    this.#told.set(key, { slice, host, since: first.at });
    this.#news();
  }

  answered({ slice, index: host }: HostTarget): void {
    const key = keyOf({ slice, host });
    this.#missed.delete(key);
    if (this.#told.delete(key)) this.#news();
  }

  /** Whether it has missed its last try, or has not been reached since another worker reported it. */
  isSilent({ slice, index: host }: HostTarget): boolean {
    const key = keyOf({ slice, host });
    return this.#missed.has(key) || this.#told.has(key);
  }

  /** Time since which the host does not answer, as the job was told; epoch ms. */
  since({ slice, index: host }: HostTarget): number | undefined {
    return this.#told.get(keyOf({ slice, host }))?.since;
  }

  /** Hosts that fall silent at once are one message. */
  #news(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setTimeout(() => {
      this.#isTelling = false;
      const hosts = [...this.#told.values()].toSorted((a, b) => a.slice - b.slice || a.host - b.host);
      this.#tell(hosts.slice(0, MOST_TOLD));
    }, TOGETHER_MS).unref();
  }
}

/** The unreachable hosts of one attempt. Its job is told of them. */
export function unreachableHosts(
  input: Pick<AttemptInput, 'job' | 'attempt' | 'unreachable'>,
  tellAfterMs?: number,
): UnreachableHosts {
  const tell = jobTeller(input, unreachableHostsSignal, 'which hosts do not answer');
  const { attempt, unreachable = [] } = input;
  return new UnreachableHosts(unreachable, (hosts) => tell({ v: 1, attempt, hosts }), tellAfterMs);
}

/** A lost connection is noticed within a minute (three signs of life of SSH, 15 s apart), and a try to connect takes 20 s. */
const TELL_AFTER_MS = 15_000;
const TOGETHER_MS = 500;
const MOST_TOLD = 64;

const keyOf = ({ slice, host }: Pick<UnreachableHost, 'slice' | 'host'>): string => `${slice}/${host}`;

/** A host did not answer for as long as a set-up waits: this is not evidence that it is lost, but enough to ask for another. */
export class HostSilent extends Error {
  override readonly name = 'HostSilent';
  readonly target: HostTarget;

  constructor(target: HostTarget, minutes: number) {
    super(`it has not answered over SSH for ${minutes} minutes`);
    this.target = target;
  }
}

/**
 * Silence of each host. For a set-up only: a running command is never given up for silence (docs/design.md, "Unknown is not
 * dead").
 */
export class Patience {
  readonly #limitMs: number;
  readonly #silentSince = new Map<string, number>();

  constructor(limitMs: number = SET_UP_SILENCE_MS) {
    this.#limitMs = limitMs;
  }

  /** @throws HostSilent when the silence is too long. */
  silent(target: HostTarget, now: number): void {
    const since = this.#silentSince.get(silenceKey(target)) ?? now;
    this.#silentSince.set(silenceKey(target), since);
    if (now - since >= this.#limitMs) throw new HostSilent(target, Math.round(this.#limitMs / 60_000));
  }

  heard(target: HostTarget): void {
    this.#silentSince.delete(silenceKey(target));
  }
}

/** Silence after which a set-up gives a host up. A new TPU VM answers within two or three minutes. */
const SET_UP_SILENCE_MS = 15 * 60_000;

const silenceKey = ({ slice, index }: HostTarget): string => `${slice}/${index}`;
