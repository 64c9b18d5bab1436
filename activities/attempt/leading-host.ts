import type { JobSpec } from '../../domain/job-spec.js';
import { rayOf } from '../../domain/modules/command.js';
import type { HostEnd, HostPlace } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';
import { isGood, isShutDown } from './run-end.js';

/** The host whose command is the attempt's, if all others serve it: Ray's head. Undefined: all hosts count alike. */
export function leadingHost(spec: JobSpec, hosts: readonly AttemptHost[]): AttemptHost | undefined {
  return rayOf(spec) === undefined ? undefined : hosts[0];
}

/** The hosts of an attempt with a leader, as their ends are waited for. */
export interface LedHosts {
  readonly leader: Promise<HostEnd>;
  readonly others: readonly Promise<HostEnd>[];
  /** Tells all hosts to end. Resolves when they have, or when their time for it is over. */
  stop(reason: string): Promise<void>;
  /** The leader's end by the record that it stored, if there is one. */
  storedEnd(): Promise<HostEnd | undefined>;
  /** Ends of the slice of a host that shuts down, as many as come. */
  untilSaved(first: HostEnd & { readonly at: HostPlace }): Promise<readonly HostEnd[]>;
  wait(ms: number): Promise<undefined>;
}

/** If one host ends because another did, either may be heard of first: `ray start --block` looks once a second. */
export const CONSEQUENCE_MS = 5_000;
/** Time for an end that a host was told to make. */
const LATE_MS = 10_000;

/**
 * The ends that decide the attempt: the leader's and, if the leader fails after a host has left it, that host's end before it.
 * Code 0 of the leader counts, whatever became of the others: they serve it, and end when it is gone (docs/adr/0068).
 */
export async function untilLeaderEnded(led: LedHosts): Promise<readonly HostEnd[]> {
  const { leader, others, stop, storedEnd, untilSaved, wait } = led;
  const first = await Promise.race([leader, ...others]);
  if (first.kind === 'fenced') return [first];
  const end = await Promise.race([leader, wait(CONSEQUENCE_MS)]);
  if (end !== undefined && isGood(end)) {
    await stop('the command has ended on the first host');
    return [end];
  }
  const cause =
    end === undefined ? first : wasStopped(end) ? undefined : await Promise.race([...others, wait(CONSEQUENCE_MS)]);
  for (const each of [first, end, cause]) if (each !== undefined && isShutDown(each)) return untilSaved(each);
  await stop('the command, or what it needs on another host, has ended');
  if (end !== undefined) return cause === undefined ? [end] : [asLoss(cause), end];
  const late = (await Promise.race([leader, wait(LATE_MS)])) ?? (await storedEnd());
  if (late !== undefined && isGood(late) && !wasStopped(late)) return [late];
  return [asLoss(first), ...(late === undefined ? [] : [late])];
}

export const wasStopped = (end: HostEnd): boolean => 'isStopped' in end && end.isStopped;

/** A host that ended well, and by itself, no longer serves a command that runs. */
function asLoss(end: HostEnd): HostEnd {
  if (end.kind !== 'done' || end.isStopped) return end;
  return { kind: 'run-lost', at: end.at, message: 'the host ended what the command on the first host needs (Ray)' };
}
