import type { HostTarget, HostConnection } from '../../cloud/hosts/port.js';
import { kindOfJob, machineKind } from '../../domain/machines.js';
import type { HostEnd, HostPlace } from '../../domain/recovery/host-ends.js';
import { LAST_LINES_MS } from '../../domain/recovery/supervision.js';
import type { LostSlice } from '../../domain/recovery/facts.js';
import type { StopNotice } from '../../domain/early-end.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { type AttemptHost, type HostCaller, isTakenWith, runIdOf } from './attempt-hosts.js';
import { pause } from './activity-end.js';
import type { SliceGuard } from './slice-guard.js';

/** The hosts of an attempt that is under way, and facts about them. */
interface HostsUnderWay {
  readonly input: AttemptInput;
  readonly caller: HostCaller;
  readonly guard: SliceGuard;
  readonly signal: AbortSignal;
  /** Resolves with the host's end when all of its output is stored. */
  readonly running: ReadonlyMap<AttemptHost, Promise<HostEnd>>;
  readonly ended: ReadonlyMap<AttemptHost, HostEnd>;
  /** For hosts whose files the worker stores: resolves when it has stored them. */
  readonly delivered: ReadonlyMap<AttemptHost, Promise<void>>;
}

/** Tells hosts of an attempt to end their command, and waits for the result. */
export class HostStops {
  readonly #hosts: HostsUnderWay;
  readonly #told = new Set<AttemptHost>();

  constructor(hosts: HostsUnderWay) {
    this.#hosts = hosts;
  }

  /**
   * Tells hosts to end their command. Resolves when each of them has ended it or its slice is lost, and at the latest a while
   * after the grace.
   */
  async where(
    isMeant: (host: AttemptHost) => boolean,
    reason: string,
    cause: StopNotice['cause'] = 'attempt',
  ): Promise<void> {
    const { input, caller, guard, running, signal } = this.#hosts;
    const graceMs = input.spec.graceSeconds * 1000;
    const hosts = [...running.keys()].filter(isMeant);
    for (const host of hosts) this.#told.add(host);
    const stops = hosts.map(({ target }) =>
      Promise.race([
        caller.on(target, (connection) => connection.stopRun(runIdOf(input), graceMs, { cause, reason })),
        guard.lossOf(target.slice),
      ]),
    );
    await Promise.race([Promise.allSettled(stops), pause(graceMs + LAST_LINES_MS, signal)]);
  }

  /** Tells the other hosts of a slice of which one host is taken back. Their ends are not waited for. */
  tellGangOf({ slice, host }: HostPlace): void {
    if (this.#areTakenTogether) return;
    const isOther = ({ target }: AttemptHost): boolean => target.slice === slice && target.index !== host;
    const reason = `host ${host} of its slice is taken back, and the gang with it`;
    this.where(isOther, reason, 'preemption').catch(() => undefined);
  }

  /** Tells hosts of lost slices that may still run to end their command: each once, and only if it has not ended yet. */
  tellLeft(slices: readonly LostSlice[]): void {
    const left = new Set(this.#leftOf(slices).filter((host) => !this.#hosts.ended.has(host) && !this.#told.has(host)));
    const reason = 'a machine of its slice was lost, and the gang with it';
    for (const { index, cause } of slices) {
      const isMeant = (host: AttemptHost): boolean => host.target.slice === index && left.has(host);
      void this.where(isMeant, reason, cause === 'preempted' ? 'preemption' : 'attempt').catch(() => undefined);
    }
  }

  /** Ends the command on the attempt's other hosts. They must not continue alone, because the next attempt starts anew. */
  async endWithout(slices: readonly LostSlice[]): Promise<void> {
    const { input, signal } = this.#hosts;
    const lost = new Set(slices.map(({ index }) => index));
    const isTaken = isTakenWith(input, lost);
    const taken = this.#endWhere(({ target }) => isTaken(target) && !lost.has(target.slice));
    const others = this.#endWhere(({ target }) => !isTaken(target));
    this.tellLeft(slices);
    // A host that stores its files itself, and is not in a lost slice, continues to store them.
    const handedOver = [...this.#hosts.delivered.keys()].filter(({ target }) => !isTaken(target));
    const awaited = [...this.#leftOf(slices), ...handedOver];
    await Promise.all([others, Promise.race([taken, pause(LAST_LINES_MS, signal)]), this.#saved(awaited)]);
  }

  get #areTakenTogether(): boolean {
    return machineKind(kindOfJob(this.#hosts.input.spec)).areTakenTogether;
  }

  #leftOf(slices: readonly LostSlice[]): readonly AttemptHost[] {
    if (this.#areTakenTogether) return [];
    const lost = new Set(slices.map(({ index }) => index));
    return [...this.#hosts.running.keys()].filter(({ target }) => lost.has(target.slice));
  }

  async #saved(hosts: readonly AttemptHost[]): Promise<void> {
    const { input, caller, running, delivered, signal } = this.#hosts;
    const left = hosts.map((host) => ({
      ...host,
      ended: running.get(host) as Promise<HostEnd>,
      delivered: delivered.get(host),
    }));
    await untilSavedOn(left, input.spec.graceSeconds * 1000 + LAST_LINES_MS, {
      runId: runIdOf(input),
      on: (target: HostTarget, call) => caller.on(target, call),
      wait: (ms) => pause(ms, signal).then(() => undefined),
    });
  }

  async #endWhere(isMeant: (host: AttemptHost) => boolean): Promise<void> {
    const { running, guard, signal } = this.#hosts;
    await this.where(isMeant, 'another slice of the job was lost');
    // They were told to end, and their output on that is stored too.
    const left = [...running].flatMap(([host, end]) =>
      isMeant(host) ? [Promise.race([end, guard.lossOf(host.target.slice)])] : [],
    );
    await Promise.race([Promise.allSettled(left), pause(LAST_LINES_MS, signal)]);
  }
}

/**
 * A host to wait for in an attempt that lost a slice. It is either in that slice, if machines are taken one by one
 * (docs/adr/0130), or in another one, if the worker stores its files.
 */
interface LeftHost extends AttemptHost {
  /** Resolves when its command has ended and its lines are stored. */
  readonly ended: Promise<HostEnd>;
  /** Resolves when the worker has stored its files; undefined for a host that stores them itself. */
  readonly delivered: Promise<void> | undefined;
}

interface LeftHostCalls {
  readonly runId: string;
  readonly on: <T>(target: HostTarget, call: (connection: HostConnection) => Promise<T>) => Promise<T>;
  readonly wait: (ms: number) => Promise<undefined>;
}

/**
 * Resolves when each of these hosts has ended its command and stored its files, or does not answer for `SILENT_MS`, and at the
 * latest after `mostMs`: the next slice waits for that.
 */
async function untilSavedOn(hosts: readonly LeftHost[], mostMs: number, calls: LeftHostCalls): Promise<void> {
  const saved = hosts.map((host) => Promise.race([stored(host, calls), silent(host, calls)]));
  await Promise.race([Promise.allSettled(saved), calls.wait(mostMs)]);
}

async function stored({ target, ended, delivered }: LeftHost, { runId, on, wait }: LeftHostCalls): Promise<void> {
  await ended;
  await Promise.race([delivered ?? settled(target, { runId, on, wait }), wait(STORE_MS)]);
}

async function settled(target: HostTarget, { runId, on, wait }: LeftHostCalls): Promise<void> {
  while ((await on(target, (connection) => connection.runOutputs(runId))).state === 'storing') await wait(ASK_MS);
}

async function silent({ target }: LeftHost, { runId, on, wait }: LeftHostCalls): Promise<void> {
  const isHeard = async (): Promise<true> => on(target, (connection) => connection.runStatus(runId)).then(() => true);
  while (await Promise.race([isHeard(), wait(SILENT_MS)])) await wait(LOOK_MS);
}

/**
 * Time limit for a host that does not answer: it may have been taken with its slice, and must not keep the job from its next
 * machines.
 */
const SILENT_MS = 10_000;
const LOOK_MS = 5_000;
const ASK_MS = 1_000;
/**
 * Time limit for storing the last outputs. A store in trouble must not keep the job from its next machines for its whole grace.
 */
const STORE_MS = 5 * 60_000;
