import type { LeftProcesses } from '../left-processes.js';
import type { EpochMs } from '../units.js';
import type { Fact, LostSlice } from './facts.js';

/** A host's place in the job. Both numbers count from 0. */
export interface HostPlace {
  readonly slice: number;
  readonly host: number;
}

interface Exit {
  readonly at: HostPlace;
  readonly code: number;
  readonly signal?: string;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
  /** jobctl had asked the command to end before. */
  readonly isStopped: boolean;
  /** State of the host when its command ended. Absent: the host could not tell. */
  readonly host?: HostCondition;
  /** Processes that the kernel killed for lack of memory during the command. Absent: none, or the host did not count them. */
  readonly killedForMemory?: number;
  /** Last printed text that makes the machine suspect (broken-machine.ts). Absent: there was none, or nobody read the output. */
  readonly printed?: string;
  /** Processes that still ran after the shell had ended with code 0, and were ended. Absent: there were none. */
  readonly left?: LeftProcesses;
}

/**
 * `up`: its system ran, not all its processes had been told to end, and its metadata server denied a preemption. `stopping`: its
 * system was shutting down, or the runner's own processes got SIGTERM too. `preempted`: the metadata server said so.
 */
export type HostCondition = 'up' | 'stopping' | 'preempted';

/** The end of the command on one host. */
export type HostEnd =
  | ({ readonly kind: 'done' } & Exit)
  | ({ readonly kind: 'failed' } & Exit)
  | { readonly kind: 'run-lost'; readonly at: HostPlace; readonly message: string }
  | { readonly kind: 'fenced'; readonly at: HostPlace; readonly epoch: number };

/** The end on a host that a preemption, or a shutdown of its system, may have caused. */
export type ShutDownHost = Extract<HostEnd, Exit> & { readonly host: 'stopping' | 'preempted' };

export const isShutDown = (end: HostEnd): end is ShutDownHost =>
  'host' in end && (end.host === 'stopping' || end.host === 'preempted');
export const isGood = (end: HostEnd): boolean => end.kind === 'done' && !isShutDown(end);
export const wasStopped = (end: HostEnd): boolean => 'isStopped' in end && end.isStopped;
/** Whether the command ended well and by itself. */
export const hasSucceeded = (end: HostEnd): boolean => isGood(end) && !wasStopped(end);

/** The end of an attempt's command, over all its hosts. */
export type CommandEnd =
  /** An exit code on every host: that of the first host that failed, or of host 0. */
  | {
      readonly kind: 'exited';
      readonly code: number;
      readonly signal?: string;
      readonly at: HostPlace;
      readonly startedAt: EpochMs;
      /** jobctl had asked the command to end, and the code answers that. */
      readonly isStopped?: true;
      /** Processes of that host that the kernel killed for lack of memory. */
      readonly killedForMemory?: number;
      /** Last printed text of that host that makes its machine suspect. */
      readonly printed?: string;
    }
  /** The host was rebooted, or the runner was killed: the command is gone without an exit code. */
  | { readonly kind: 'run-lost'; readonly at: HostPlace; readonly message: string }
  /** The hosts know of a later attempt, because the job was reset. The job continues with that attempt. */
  | { readonly kind: 'fenced'; readonly epoch: number };

/**
 * The command's end, made of the ends of its hosts. The host that failed first by its own clock counts, since the others fail or
 * are stopped because of it. A host that lost the run counts before a host with an exit code, whose code may be a consequence.
 * @throws RangeError if there is no end
 */
export function commandEnd(ends: readonly HostEnd[]): CommandEnd {
  const fenced = ends.find((end) => end.kind === 'fenced');
  if (fenced) return { kind: 'fenced', epoch: fenced.epoch };
  const lost = ends.find((end) => end.kind === 'run-lost');
  if (lost) return { kind: 'run-lost', at: lost.at, message: lost.message };
  const [failed] = ends.filter((end) => end.kind === 'failed').toSorted((a, b) => a.endedAt - b.endedAt);
  if (failed) return exited(failed);
  const done = ends.filter((end) => end.kind === 'done');
  const [first] = done;
  if (!first) throw new RangeError('an attempt ended on no host');
  return exited({ ...first, isStopped: done.some(({ isStopped }) => isStopped) });
}

/** The command's end as a fact for `decide`. */
export function hostsFact(ends: readonly HostEnd[]): Fact<'command ended', 'hosts'> {
  const end = commandEnd(ends);
  if (end.kind === 'fenced') return 'later attempt';
  if (preemptedSlices(ends).length > 0) return 'preempted';
  if (end.kind === 'run-lost') return 'run lost';
  const hosts = ends.map((each) => ('host' in each ? each.host : undefined));
  if (hosts.includes('stopping')) return 'shutting down';
  const isWitnessed = hosts.every((host) => host === 'up');
  if (end.code !== 0) return endedByOthers(ends) && !isWitnessed ? 'ended by a signal of others' : 'failed';
  if (end.isStopped) return 'code 0, told to end';
  return isWitnessed ? 'code 0' : 'code 0, unwitnessed';
}

/** Slices of which a host said, as its command ended, that the provider takes them. */
export function preemptedSlices(ends: readonly HostEnd[]): readonly LostSlice[] {
  const said = ends.filter((end) => 'host' in end && end.host === 'preempted') as readonly { readonly at: HostPlace }[];
  const hosts = new Map(said.toReversed().map(({ at }) => [at.slice, at.host]));
  return [...hosts]
    .toSorted(([one], [other]) => one - other)
    .map(([index, host]) => ({
      index,
      cause: 'preempted',
      message: `the metadata server of host ${host} said so (instance/preempted) as the command ended`,
    }));
}

/** The end of a command whose host shut down: whatever its code is, it is not the command's own. */
export function shutDownEnd(ends: readonly HostEnd[]): CommandEnd {
  const exits = ends.filter((each) => each.kind === 'done' || each.kind === 'failed');
  const [end] = exits.filter(({ host }) => host === 'stopping').toSorted((a, b) => a.endedAt - b.endedAt);
  if (end === undefined) throw new RangeError('no host was shutting down');
  return { kind: 'run-lost', at: end.at, message: 'the host was shutting down as the command ended' };
}

/** Whether SIGTERM or SIGKILL, not from jobctl, ended the command. A shell reports a signal as 128 plus the signal's number. */
export function endedByOthers(ends: readonly HostEnd[]): boolean {
  return ends.some((end) => {
    if (end.kind !== 'failed' || end.isStopped) return false;
    return ENDING.some(({ name, number }) => end.signal === name || end.code === 128 + number);
  });
}

const ENDING = [
  { name: 'SIGTERM', number: 15 },
  { name: 'SIGKILL', number: 9 },
] as const;

function exited({ at, code, signal, startedAt, isStopped, killedForMemory, printed }: Exit): CommandEnd {
  return {
    kind: 'exited',
    at,
    code,
    startedAt,
    ...(signal === undefined ? {} : { signal }),
    ...(isStopped ? { isStopped } : {}),
    ...(killedForMemory === undefined ? {} : { killedForMemory }),
    ...(printed === undefined ? {} : { printed }),
  };
}
