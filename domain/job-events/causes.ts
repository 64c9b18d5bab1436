import { type Asker, askerText } from '../job-state.js';
import type { Budget } from '../recovery/budgets.js';
import { KILLED, MEMORY_RAN_OUT } from '../set-up-record.js';
import type { FirstSilent, LastSign } from '../silence.js';
import type { RefusalScope } from '../slice.js';
import { count, durationText, type EpochMs, utc } from '../units.js';
import { type GivenBack, givenBackText } from '../workspace.js';

/** A host of the job. `slice` is absent in a job of one slice. */
export interface Place {
  readonly slice?: number;
  readonly host: number;
}

/** @param slices number of the job's slices */
export const placeIn = ({ slice, host }: Required<Place>, slices: number): Place =>
  slices > 1 ? { slice, host } : { host };

export const placeText = ({ slice, host }: Place): string =>
  slice === undefined ? `host ${host}` : `host ${host} of slice ${slice}`;

/** A slice, or all slices of one request (`atomic`). */
export interface OneSlice {
  readonly slice: number;
  /** Number of slices of the request. Absent: the request is for this slice alone. */
  readonly requested?: number;
}
const sliceText = ({ slice, requested }: OneSlice): string =>
  requested === undefined ? `slice ${slice}` : `the request for ${requested} slices`;

/** The cloud's or a worker's own words. */
export interface Said {
  readonly message: string;
}
export interface SaidOfSlice extends OneSlice, Said {}
export interface InZone {
  readonly zone: string;
}
export interface ByPool {
  /** One sentence of the pool: for whom, or why. */
  readonly reason: string;
}
export interface Allowed {
  readonly seconds: number;
}

export interface Exit extends Place {
  readonly code: number;
  readonly signal?: string;
  /** The command ended because it was told to. */
  readonly isStopped?: true;
  /** Number of processes that the kernel killed for lack of memory. */
  readonly killedForMemory?: number;
  /** The code is one of `command.restart_on`. */
  readonly isRestartCode?: true;
  /** The machine is at fault. `putAside`: name of a pool's own machine, which is put aside. Absent: the slice is replaced. */
  readonly machine?: { readonly sign: string; readonly putAside?: string };
}

function exitText(exit: Exit): string {
  const { code, signal, isStopped, killedForMemory: killed, isRestartCode, machine } = exit;
  if (code === 0 && isStopped) return `the command ended with code 0 on ${placeText(exit)} because it was told to end`;
  const by = signal === undefined ? '' : ` (${signal})`;
  const memory =
    killed === undefined
      ? isStopped
        ? ''
        : memoryHint(code, signal)
      : `, where the kernel killed ${killed === 1 ? 'a process' : `${killed} processes`} for want of memory (the limit of its container)`;
  const asks = isRestartCode ? ', which asks for another start (command.restart_on)' : '';
  return `the command exited with code ${code}${by} on ${placeText(exit)}${memory}${asks}${machineText(machine)}`;
}

const memoryHint = (code: number, signal?: string): string =>
  code === KILLED || signal === 'SIGKILL' ? ` (${MEMORY_RAN_OUT})` : '';

function machineText(machine: Exit['machine']): string {
  if (machine === undefined) return '';
  const { sign, putAside } = machine;
  return `: ${sign}; ${putAside === undefined ? 'its slice is replaced' : `machine ${putAside} is put aside`}`;
}

export interface Silence extends Allowed {
  readonly last: Place & { readonly what: LastSign['what']; readonly at: EpochMs };
  readonly first?: Place & { readonly at: EpochMs; readonly hasPrinted: FirstSilent['hasPrinted'] };
  /** Number of hosts whose processes' stacks are stored. */
  readonly stacks?: number;
}

/**
 * `its command printed nothing for 30 min on any of its hosts (timeouts.no_output); host 1 was silent first, since 2026-11-22
 * 07:02:10 UTC; the last output was host 2's, at 2026-11-22 07:14:20 UTC`.
 */
function silenceText({ seconds, last, first, stacks = 0 }: Silence): string {
  const sign = { output: 'the last output was', start: 'the last to begin was', end: 'the last to end was' }[last.what];
  const whose = `${placeText(last)}${last.what === 'output' ? "'s" : ''}`;
  const silence = `its command printed nothing for ${durationText(seconds)} on any of its hosts`;
  // A command that hangs often hangs on the host that fell silent first.
  const since = first && `since ${first.hasPrinted ? '' : 'its start, '}${utc(first.at)}`;
  const fell = first === undefined ? '' : `${placeText(first)} was silent first, ${since}; `;
  const stored =
    stacks === 0 ? '' : `; where its processes stood is stored of ${count(stacks, 'host')} (jobctl stacks)`;
  return `${silence} (timeouts.no_output); ${fell}${sign} ${whose}, at ${utc(last.at)}${stored}`;
}

/** The machines that a restart replaces. */
export type Replaced = 'all' | readonly number[];

/** The replaced machines in words. */
export const replacedText = (replace: Replaced): string =>
  replace === 'all' ? 'other machines' : `other machines for ${replace.map((index) => `slice ${index}`).join(', ')}`;

/**
 * Kinds of events that end or interrupt work, each with its facts and its sentence. A job adds what it does about the event
 * (`Reaction`).
 */
export const CAUSES = {
  // The provider and its machines.
  preempted: (of: SaidOfSlice) => `${sliceText(of)} was preempted by the provider: ${of.message}`,
  'slice-lost': (of: SaidOfSlice) => `${sliceText(of)} was lost: ${of.message}`,
  'slice-failed': (of: SaidOfSlice) => `${sliceText(of)} failed: ${of.message}`,
  'slice-late': (of: SaidOfSlice & InZone) => `${sliceText(of)} is not ready in ${of.zone}: ${of.message}`,
  refused: (of: SaidOfSlice & InZone & { readonly provider: string; readonly scope: RefusalScope }) =>
    `${of.provider} refused ${sliceText(of)} in ${of.zone}: ${of.message}`,

  // The pool.
  'no-room': (of: OneSlice & InZone) => `its pool has no room for ${sliceText(of)} in ${of.zone} yet`,
  'preempted-by-quota': ({ reason }: ByPool) => `preempted by quota: ${reason}`,
  'lease-returned': ({ reason }: ByPool) => `its lease goes back to the pool: ${reason}`,
  'lease-taken': ({ reason }: ByPool) => `its lease was taken: ${reason}`,
  'lease-lost': ({ message }: Said) => message,

  // People.
  stopped: (asker: Asker & { readonly isRelease: boolean }) =>
    `${askerText(asker)} stopped it${asker.isRelease ? ' and gives its slices back' : ''}`,
  requeued: (asker: Asker & { readonly zone?: string }) =>
    `${askerText(asker)} requeued it${asker.zone === undefined ? '' : `, ${asker.zone} first`}`,
  restarted: (asker: Asker & { readonly replace?: Replaced }) =>
    `${askerText(asker)} restarted it${asker.replace === undefined ? '' : ` with ${replacedText(asker.replace)}`}`,

  // The set-up of hosts.
  'module-failed': (of: Place & Said & { readonly module: string }) =>
    `set-up of ${of.module} failed on ${placeText(of)}: ${of.message}`,
  'host-bad': (of: Place & Said & { readonly module: string }) =>
    `set-up of ${of.module} did not work on ${placeText(of)}: ${of.message}`,
  'set-up-late': ({ seconds }: Allowed) => `its hosts are not set up after ${durationText(seconds)} (timeouts.setup)`,
  'set-up-timed-out': ({
    seconds,
    unready,
    slices,
  }: Allowed & { readonly unready?: UnreadyHosts; readonly slices: number }) => {
    const slow = unready === undefined ? '' : `: ${unreadyText(unready, slices)}`;
    return `its hosts were not set up within ${durationText(seconds)} (timeouts.setup)${slow}`;
  },

  // The command.
  exited: exitText,
  'no-output': silenceText,
  'run-duration-over': ({ endsAt }: { readonly endsAt: EpochMs }) =>
    `the run duration of its slices is over (tpu.run_duration): its provider may delete them from ${utc(endsAt)} on`,
  'run-late': ({ seconds }: Allowed) => `its command has run for ${durationText(seconds)} (timeouts.run)`,
  'run-timed-out': ({ seconds }: Allowed) =>
    `the command ran for ${durationText(seconds)}, as long as timeouts.run allows`,
  'given-back': (why: GivenBack) => givenBackText(why),
  'run-lost': (of: Place & Said) => `${placeText(of)}: ${of.message}`,
  'worker-failed': ({ message }: Said) => message,
  'ended-before': () => 'it has ended before, says the store; Temporal was set back to an earlier time',
  interrupted: ({ by }: { readonly by: string }) => by,
} as const;

/** The job's reaction to a cause, if the event names one. */
export type Reaction =
  /** Another attempt, for which a budget pays. */
  | { readonly do: 'retry'; readonly budget: Budget; readonly used: number; readonly of: number }
  /** The next start of a command that loops. */
  | { readonly do: 'loop'; readonly at: EpochMs }
  /** Its command is told to end, within this time. Absent: it has ended already. */
  | { readonly do: 'save'; readonly seconds?: number }
  | { readonly do: 'end-set-up' };

/** The time that a command has to save its work, in words for the person or pool that asks for its end. */
const savingText = (seconds: number | undefined): string =>
  seconds === undefined ? 'its command has ended already' : `its command has ${seconds} s to save`;

export function reactionText(reaction: Reaction): string {
  switch (reaction.do) {
    case 'retry':
      return `trying again (${reaction.used} of ${reaction.of})`;
    case 'loop':
      return `loop: it starts again at ${utc(reaction.at)}`;
    case 'save':
      return savingText(reaction.seconds);
    case 'end-set-up':
      return 'its set-up is ended';
  }
}

/** A host that is not set up yet, and its present step. Plain JSON: a worker sends it to the job's workflow. */
export interface UnreadyHost {
  readonly slice: number;
  /** Index in its slice. */
  readonly host: number;
  /** `connect` until the host has answered. */
  readonly module: string;
  /** `check` during the module's check. */
  readonly step: string;
  /** Time since the step was first begun. */
  readonly forMs: number;
  /** Number of times that it was begun. */
  readonly tries: number;
  /** Exit code of the last try, which failed. The host waits for the next try. */
  readonly code?: number;
}

/** Progress of the hosts of a set-up that was ended before it was done. */
export interface UnreadyHosts {
  readonly hosts: number;
  readonly ready: number;
  /** The hosts that have been at one step for longest, at most `MOST_NAMED`: nobody reads hundreds. */
  readonly slowest: readonly UnreadyHost[];
}

export const MOST_NAMED = 3;

/**
 * `host 3 was at venv, step requirements, for 9 min 40 s; 3 of 4 hosts were ready`.
 * @param slices number of the job's slices; if there are several, each host is named with its own
 */
export function unreadyText({ hosts, ready, slowest }: UnreadyHosts, slices: number): string {
  const named = slowest.map((each) => hostText(each, slices));
  const more = hosts - ready - named.length;
  if (more > 0) named.push(`${more} more were not ready`);
  if (hosts > 1) named.push(`${ready} of ${hosts} hosts were ready`);
  return named.join('; ');
}

function hostText({ slice, host, module, step, forMs, tries, code }: UnreadyHost, slices: number): string {
  const name = slices > 1 ? `host ${host} of slice ${slice}` : `host ${host}`;
  const time = timeText(forMs);
  if (module === 'connect') return `${name} had not answered over SSH for ${time}`;
  const place = `${name} was at ${module}, ${step === 'check' ? 'its check' : `step ${step}`}, for ${time}`;
  if (code !== undefined)
    return `${place} (${tries === 1 ? 'tried once' : `tried ${tries} times`}, last with code ${code})`;
  return tries === 1 ? place : `${place} (try ${tries})`;
}

/** `40 s`, `9 min 40 s`, `2 h 5 min`. */
function timeText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
}
