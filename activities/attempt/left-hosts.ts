import type { HostConnection, HostTarget } from '../../cloud/hosts/port.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';

/**
 * A host of an attempt that lost a slice. It is in that slice, if machines are taken one by one (docs/adr/0130), or in another
 * one, and the worker stores its files.
 */
export interface LeftHost extends AttemptHost {
  /** Resolves when its command has ended and its lines are stored. */
  readonly ended: Promise<HostEnd>;
  /** Resolves when the worker has stored its files; undefined for a host that stores them itself. */
  readonly delivered: Promise<void> | undefined;
}

export interface LeftHostCalls {
  readonly runId: string;
  readonly on: <T>(target: HostTarget, call: (connection: HostConnection) => Promise<T>) => Promise<T>;
  readonly wait: (ms: number) => Promise<undefined>;
}

/**
 * Resolves when each of these hosts has ended its command and stored its files, or does not answer for `SILENT_MS`, and at the
 * latest after `mostMs`: the next slice waits for that.
 */
export async function untilSavedOn(hosts: readonly LeftHost[], mostMs: number, calls: LeftHostCalls): Promise<void> {
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

/** A host that was taken with the slice no longer answers. It must not keep the job from its next machines for longer. */
const SILENT_MS = 10_000;
const LOOK_MS = 5_000;
const ASK_MS = 1_000;
/** A store in trouble must not keep the job from its next machines for as long as its grace. */
const STORE_MS = 5 * 60_000;
