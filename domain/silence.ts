/**
 * Decides when the command of an attempt counts as silent (`timeouts.no_output`). Only the hosts' own reports are evidence. A
 * host of unknown state keeps the attempt alive, however long that lasts (docs/design.md, "Unknown is not dead"; docs/adr/0029).
 */

import type { EpochMs } from './units.js';

/** The known state of one host that runs the command. */
export type HostSilence =
  /** The host was not reached, cannot tell, has not begun its command, or its command ends otherwise than with code 0. */
  | { readonly kind: 'unknown' }
  | {
      /** `ended`: with code 0. This is a sign of life too: the other hosts then have the whole limit again. */
      readonly kind: 'running' | 'ended';
      readonly slice: number;
      readonly host: number;
      /** Least time since its last sign of life: output, its start, its end. */
      readonly quietMs: number;
      readonly hasPrinted: boolean;
    };

/** The last sign of life of an attempt. */
export interface LastSign {
  readonly what: 'output' | 'start' | 'end';
  readonly slice: number;
  readonly host: number;
}

/** The host that fell silent first, for people to look at first. */
export interface FirstSilent {
  readonly slice: number;
  readonly host: number;
  readonly quietMs: number;
  /** False: the host printed nothing at all. */
  readonly hasPrinted: boolean;
}

/** The end of an attempt whose command printed nothing for `timeouts.no_output`, and still runs. */
export interface SilentEnd {
  readonly kind: 'no-output';
  readonly last: LastSign & { readonly at: EpochMs };
  readonly first?: Omit<FirstSilent, 'quietMs'> & { readonly at: EpochMs };
  /** Number of hosts whose processes' stacks are stored (docs/adr/0128). Absent: 0. */
  readonly stacks?: number;
}

export type SilenceVerdict =
  | {
      readonly kind: 'silent';
      readonly quietMs: number;
      readonly last: LastSign;
      /** The host whose command still runs and has been quiet for longest. Absent: no host other than `last` still runs. */
      readonly first?: FirstSilent;
    }
  /** Not silent before `dueInMs` (more than 0) from now. */
  | { readonly kind: 'not-yet'; readonly dueInMs: number }
  | { readonly kind: 'unknown' };

/**
 * One host with a sign of life within `limitMs` is enough for all, because in many jobs one host prints for all of them.
 * @param hosts every host that runs the command, of all slices
 */
export function silenceOf(hosts: readonly HostSilence[], limitMs: number): SilenceVerdict {
  const known = hosts.flatMap((host) => (host.kind === 'unknown' ? [] : [host]));
  const [latest] = known.toSorted((a, b) => a.quietMs - b.quietMs || a.slice - b.slice || a.host - b.host);
  if (latest === undefined || known.length < hosts.length) return { kind: 'unknown' };
  // If all of them have ended, the attempt ends by that, not by silence.
  if (known.every(({ kind }) => kind === 'ended')) return { kind: 'unknown' };
  if (latest.quietMs < limitMs) return { kind: 'not-yet', dueInMs: limitMs - latest.quietMs };
  const { slice, host, quietMs } = latest;
  const first = firstSilent(known.filter((other) => other !== latest));
  return { kind: 'silent', quietMs, last: { what: signOf(latest), slice, host }, ...(first && { first }) };
}

/** A host that is silent while others of its attempt print. */
export interface SilentHost {
  readonly slice: number;
  readonly host: number;
  /** False: the host printed nothing at all since its command began. */
  readonly hasPrinted: boolean;
  /** Start of its silence, by the clock of the worker that asked. */
  readonly since: EpochMs;
}

/** A host's output over time, as one worker has seen it. */
export interface Rhythm {
  /** Milliseconds from the command's start, or from the worker's first look, to the latest output. */
  readonly forMs: number;
  /** The longest silence in that time, in milliseconds. */
  readonly longestMs: number;
}

export const UNHEARD: Rhythm = { forMs: 0, longestMs: 0 };

/** Least silence of a host that is worth a note, in a job without `timeouts.no_output`. */
export const NOTE_AFTER_MS = 10 * 60_000;
/** Factor by which a silence must exceed every earlier one, so that it cannot be a slow step. */
const LONGER_THAN_EVER = 10;
/** Many programs first print on every host, and then on one. So a rhythm must last for this many of its longest silences. */
const LEAST_SILENCES = 5;

export const heardAgain = ({ forMs, longestMs }: Rhythm, afterMs: number): Rhythm => ({
  forMs: forMs + afterMs,
  longestMs: Math.max(longestMs, afterMs),
});

/**
 * Silence after which a host is noted if another one goes on. Infinity: it has not printed regularly, or not for `leastMs` yet.
 * @param leastMs `NOTE_AFTER_MS`
 */
export function noteAfterMs({ forMs, longestMs }: Rhythm, leastMs: number): number {
  const isRegular = forMs >= leastMs && forMs >= LEAST_SILENCES * longestMs;
  return isRegular ? Math.max(leastMs, LONGER_THAN_EVER * longestMs) : Infinity;
}

/** A host that runs the command and has not ended it, as one worker has heard it. */
export interface Heard {
  readonly rhythm: Rhythm;
  readonly quietMs: number;
}

/**
 * Time until a host is due to be noted. 0 or less: it is due now. Infinity: its output has no rhythm, or no other host has
 * printed in the second half of its silence.
 */
export function noteDueMs({ rhythm, quietMs }: Heard, others: readonly Heard[], leastMs: number): number {
  const doOthersGoOn = others.some((other) => other.rhythm.forMs > 0 && other.quietMs < quietMs / 2);
  return doOthersGoOn ? noteAfterMs(rhythm, leastMs) - quietMs : Infinity;
}

type KnownSilence = Exclude<HostSilence, { kind: 'unknown' }>;

function firstSilent(others: readonly KnownSilence[]): FirstSilent | undefined {
  const running = others.filter(({ kind }) => kind === 'running');
  const [first] = running.toSorted((a, b) => b.quietMs - a.quietMs || a.slice - b.slice || a.host - b.host);
  if (first === undefined) return undefined;
  const { slice, host, quietMs, hasPrinted } = first;
  return { slice, host, quietMs, hasPrinted };
}

function signOf({ kind, hasPrinted }: Exclude<HostSilence, { kind: 'unknown' }>): LastSign['what'] {
  if (kind === 'ended') return 'end';
  return hasPrinted ? 'output' : 'start';
}

/** The part of a host's output that a worker has read. */
export interface OutputRead {
  /** Bytes read, from the first. */
  readonly position: number;
  /** Time since the last of them arrived, or since this worker began to read if none arrived. */
  readonly forMs: number;
}

/**
 * Least time for which a host has been quiet. The longer of two proofs counts: the host's own report, and, by the reader's clock
 * alone, that the output has not grown since it was read. Undefined if the host cannot tell: with a full disk the output does
 * not grow, whatever the command prints.
 */
export function quietMsOf(
  status: { readonly outputBytes: number; readonly quietMs?: number },
  { position, forMs }: OutputRead,
): number | undefined {
  if (status.quietMs === undefined) return undefined;
  return Math.max(0, status.quietMs, status.outputBytes === position ? forMs : 0);
}

/** Time after which hosts are asked again if one of them could not tell: a tenth of the limit, 1 s to a minute. */
export const askAgainMs = (limitMs: number): number => Math.min(60_000, Math.max(1_000, limitMs / 10));
