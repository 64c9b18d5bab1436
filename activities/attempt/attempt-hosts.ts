import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import {
  type HostConnection,
  HostKeyMismatch,
  HostKeyUnverified,
  type HostsPort,
  type HostTarget,
  HostUnreachable,
  type SshKey,
  targetOf,
} from '../../cloud/hosts/port.js';
import { FailureType } from '../../domain/errors.js';
import { adoptedName, requestNameOf } from '../../domain/machines.js';
import type { HostPlace } from '../../domain/recovery/host-ends.js';
import { commandHosts, runIdOf as runIdOfAttempt, type RunPlace } from '../../domain/run-environment.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { pause } from './activity-end.js';
import type { SliceGuard } from './slice-guard.js';
import type { ReachListener } from './unreachable-hosts.js';

export interface AttemptHost {
  readonly target: HostTarget;
  /** Position among all hosts of all slices, from 0, by which logs are named. */
  readonly number: number;
}

export function hostsOf({ slices, settings }: AttemptInput): readonly AttemptHost[] {
  const targets = slices.flatMap(({ index: slice, ref, uid, hosts }) =>
    hosts.map((host) => targetOf(host, { ref, uid, slice, user: settings.loginUser })),
  );
  return targets.map((target, number) => ({ target, number }));
}

/** The host's place in the job. */
export const placeOf = ({ slice, index: host }: Pick<HostTarget, 'slice' | 'index'>): HostPlace => ({ slice, host });

/** The hosts that run the command. */
export function commandHostsOf(input: AttemptInput): readonly AttemptHost[] {
  const { spec, slices } = input;
  return hostsOf(input).filter(({ target }) => {
    const own = slices.find(({ index }) => index === target.slice);
    return own !== undefined && commandHosts(spec, own.hosts).some(({ index }) => index === target.index);
  });
}

/**
 * Whether a host is in a slice that was asked for together with one of these slices. A provider takes the slices of one request
 * together (docs/adr/0054), so the host may still be there, or not.
 */
export function isTakenWith(
  { slices }: AttemptInput,
  lost: ReadonlySet<number>,
): (target: Pick<HostTarget, 'slice'>) => boolean {
  const requestOf = new Map(slices.map(({ index, ref }) => [index, requestNameOf(ref)]));
  const requests = new Set([...lost].map((index) => requestOf.get(index)));
  return ({ slice }) => requests.has(requestOf.get(slice));
}

/** The place of a run of this attempt, for its environment. */
export function runPlace({ job, attempt, slices, settings, previousEnd }: AttemptInput): RunPlace {
  return {
    job: job.id,
    attempt,
    bucket: settings.bucket,
    ...(previousEnd === undefined ? {} : { previousEnd }),
    slices: slices.map((own) => ({
      index: own.index,
      name: adoptedName(own.ref) ?? own.ref.name,
      zone: own.ref.zone,
      hosts: own.hosts,
    })),
  };
}

export const runIdOf = ({ job, attempt }: Pick<AttemptInput, 'job' | 'attempt'>): string =>
  runIdOfAttempt(job.id, attempt);

/**
 * Runs operations on hosts over connections that may break at any time. A host that does not answer is tried again until `signal`
 * ends it. Only the slice's state decides whether it is lost, never the silence (docs/design.md, "Unknown is not dead").
 */
export class HostCaller {
  readonly #hosts: HostsPort;
  readonly #key: SshKey;
  readonly #signal: AbortSignal;
  readonly #guard: SliceGuard;
  readonly #listener: ReachListener | undefined;

  /** @param listener called at each answer of a host, and at each silence after the guard was told of it */
  constructor(hosts: HostsPort, key: SshKey, signal: AbortSignal, guard: SliceGuard, listener?: ReachListener) {
    this.#hosts = hosts;
    this.#key = key;
    this.#signal = signal;
    this.#guard = guard;
    this.#listener = listener;
  }

  async on<T>(target: HostTarget, operation: (connection: HostConnection) => Promise<T>): Promise<T> {
    let wrongKeys = 0;
    let silences = 0;
    for (let pauseMs = 300; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const connection = await this.#hosts.connect(target, this.#key, this.#signal);
        silences = 0;
        this.#listener?.answered(target);
        try {
          return await operation(connection);
        } finally {
          connection.close();
        }
      } catch (error) {
        this.#signal.throwIfAborted();
        if (error instanceof HostKeyUnverified) throw refused(error);
        if (!(error instanceof HostUnreachable) && !(error instanceof HostKeyMismatch)) throw error;
        log.warn(error.message);
        if (error instanceof HostKeyMismatch) {
          await this.#guard.wrongHostKey(target.slice, ++wrongKeys, error.message);
          await pause(this.#guard.apartMs, this.#signal);
          continue;
        }
        wrongKeys = 0;
        // After that the listing of its zone is enough.
        if (++silences <= MOST_SUSPECTED) this.#guard.suspect(target.slice);
        this.#listener?.silent(target);
        await pause(pauseMs, this.#signal);
      }
    }
  }
}

const LONGEST_PAUSE_MS = 10_000;
/** Limit of times in a row that a host's silence makes the guard ask the API about its slice. */
const MOST_SUSPECTED = 3;

function refused(error: HostKeyUnverified): ApplicationFailure {
  return ApplicationFailure.create({
    type: FailureType.Refused,
    nonRetryable: true,
    message: error.message,
    cause: error,
  });
}
