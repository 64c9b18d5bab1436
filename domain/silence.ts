/**
 * When the command of an attempt counts as silent (`timeouts.no_output`). Only what the hosts say themselves is evidence: one of
 * which nothing is known keeps the attempt alive, however long it lasts (docs/design.md, "Unknown is not dead"; docs/adr/0029).
 */

import type { EpochMs } from './units.js';

/** What is known of one host that is to run the command. */
export type HostSilence =
  /** It was not reached, cannot tell, its command has not begun, or is on its way to another end than its own with code 0. */
  | { readonly kind: 'unknown' }
  | {
      /** `ended`: with code 0; the others have the whole time once more, since what they wait for may take as long. */
      readonly kind: 'running' | 'ended';
      readonly slice: number;
      readonly host: number;
      /** How long ago it gave its last sign of life, at least: output, its start, its end. */
      readonly quietMs: number;
      readonly hasPrinted: boolean;
    };

/** What an attempt was last heard of. */
export interface LastSign {
  readonly what: 'output' | 'start' | 'end';
  readonly slice: number;
  readonly host: number;
}

/** The host that fell silent first: where people look first. */
export interface FirstSilent {
  readonly slice: number;
  readonly host: number;
  readonly quietMs: number;
  /** False: it printed nothing at all. */
  readonly hasPrinted: boolean;
}

export type SilenceVerdict =
  | {
      readonly kind: 'silent';
      readonly quietMs: number;
      readonly last: LastSign;
      /** Whose command still runs and has been quiet for longest. Absent: no other host than `last` is still running. */
      readonly first?: FirstSilent;
    }
  /** Not before `dueInMs` (more than 0) from now. */
  | { readonly kind: 'not-yet'; readonly dueInMs: number }
  | { readonly kind: 'unknown' };

/**
 * One host that gave a sign of life within `limitMs` is enough for all: on many jobs one prints for all of them.
 * @param hosts every host that runs the command, of all slices
 */
export function silenceOf(hosts: readonly HostSilence[], limitMs: number): SilenceVerdict {
  const known = hosts.flatMap((host) => (host.kind === 'unknown' ? [] : [host]));
  const [latest] = known.toSorted((a, b) => a.quietMs - b.quietMs || a.slice - b.slice || a.host - b.host);
  if (latest === undefined || known.length < hosts.length) return { kind: 'unknown' };
  // All of them ended: that is how the attempt ends.
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
  /** False: it printed nothing at all since its command began. */
  readonly hasPrinted: boolean;
  /** Since when, by the clock of the worker that asked. */
  readonly since: EpochMs;
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

/** A host's output as a worker has read it. */
export interface OutputRead {
  /** Bytes of it, from the first. */
  readonly position: number;
  /** How long ago the last of them came, or, if none came, this worker began to read. */
  readonly forMs: number;
}

/**
 * How long a host has been quiet, at least. Two proofs, of which the longer counts: the host's own word, and, without anybody's
 * clock but the reader's, that the output is as long now as what was read by then. Undefined where the host cannot tell: with a
 * full disk the output is as long as before, whatever the command prints.
 */
export function quietMsOf(
  status: { readonly outputBytes: number; readonly quietMs?: number },
  { position, forMs }: OutputRead,
): number | undefined {
  if (status.quietMs === undefined) return undefined;
  return Math.max(0, status.quietMs, status.outputBytes === position ? forMs : 0);
}

/** How soon hosts are asked again when one of them could not tell: a tenth of the limit, 1 s to a minute. */
export const askAgainMs = (limitMs: number): number => Math.min(60_000, Math.max(1_000, limitMs / 10));
