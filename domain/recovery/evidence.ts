import type { EpochMs } from '../units.js';
import { decide } from './decide.js';
import type { Fact, Facts } from './facts.js';
import {
  type CommandEnd,
  commandEnd,
  endedByOthers,
  type HostEnd,
  type HostPlace,
  hostsFact,
  preemptedSlices,
  shutDownEnd,
} from './host-ends.js';
import type { LostSlice } from './slice-loss.js';

/**
 * What a worker knew when it reported the end of an attempt: kept in the attempt's record, so that the decision can be made again
 * by another build (docs/adr/0050).
 */
export interface Evidence {
  readonly v: 1;
  /** What called the attempt ended: ends of its hosts, a slice's loss, or silence (`timeouts.no_output`). */
  readonly by: 'ends' | 'loss' | 'silence';
  /** Hosts that the command ran on. */
  readonly hosts: number;
  /** How many of them had said how their command ended. */
  readonly ended: number;
  /** What their runners recorded: of many alike ends only some, so that the decision is that of all. */
  readonly ends: readonly HostEnd[];
  /** The last looks at the slices, oldest first. */
  readonly looks: readonly Look[];
  /** Hosts that counted as dead and cost their slice, the first of each slice, oldest first. Absent: none. */
  readonly dead?: readonly DeadHost[];
}

/** What the provider answered about a slice. */
export interface Look extends Facts<'slice seen'> {
  readonly at: EpochMs;
  readonly slice: number;
  /** In the provider's words. */
  readonly text?: string;
}

/** A host that did not answer, and the facts by which it counted as dead (docs/adr/0046). */
export interface DeadHost extends Facts<'host silent'>, HostPlace {
  readonly at: EpochMs;
  /** In the words of the job's story. */
  readonly text: string;
}

/** Bounds of what one attempt keeps. A look or a dead host is of 600 bytes at most, an end of about 200. */
const MOST_ENDS = 32;
const MOST_LOOKS = 24;
const MOST_DEAD = 8;
const MOST_TEXT = 400;

export function evidenceOf(facts: Omit<Evidence, 'v' | 'ended'>): Evidence {
  const { by, hosts, ends, looks, dead = [] } = facts;
  const told = looks.map((look) => (look.text === undefined ? look : { ...look, text: look.text.slice(0, MOST_TEXT) }));
  // Evidence of a loss counts before looks that showed nothing.
  const kept = told.toSorted(
    (a, b) => Number(lossOf(b) !== undefined) - Number(lossOf(a) !== undefined) || b.at - a.at,
  );
  return {
    v: 1,
    by,
    hosts,
    ended: ends.length,
    ends: telling(ends).map(withoutLeft),
    looks: kept.slice(0, MOST_LOOKS).toSorted((a, b) => a.at - b.at),
    ...(dead.length > 0 && {
      dead: dead.slice(0, MOST_DEAD).map((host) => ({ ...host, text: host.text.slice(0, MOST_TEXT) })),
    }),
  };
}

/**
 * One end of each sort and of each preempted slice, 26 sorts at most, and then the first in time: in the order told, which decides between
 * ends of one moment. `commandEnd`, `hostsFact` and `preemptedSlices` say of them what they say of all.
 */
function telling(ends: readonly HostEnd[]): readonly HostEnd[] {
  if (ends.length <= MOST_ENDS) return ends;
  const inTime = ends.toSorted((a, b) => timeOf(a) - timeOf(b));
  const sorts = new Map(inTime.toReversed().map((end) => [sortOf(end), end]));
  const slices = new Map(
    ends
      .toReversed()
      .filter(isPreempted)
      .map((end) => [end.at.slice, end]),
  );
  const first = new Set<HostEnd>([...sorts.values(), ...slices.values(), ...inTime]);
  const kept = new Set([...first].slice(0, MOST_ENDS));
  return ends.filter((end) => kept.has(end));
}

/** Nothing is decided by it, and it is told elsewhere. */
function withoutLeft(end: HostEnd): HostEnd {
  if (!('left' in end)) return end;
  const { left: _, ...rest } = end;
  return rest;
}

const timeOf = (end: HostEnd): EpochMs => ('endedAt' in end ? end.endedAt : 0);
const isPreempted = (end: HostEnd): end is HostEnd & { readonly at: HostPlace } =>
  'host' in end && end.host === 'preempted';
const sortOf = (end: HostEnd): string =>
  'code' in end ? [end.kind, end.host, end.isStopped, endedByOthers([end])].join() : end.kind;

// The decision ---------------------------------------------------------------------------------------------------------

/** How an attempt ended, as far as hosts and slices tell. */
export type Verdict =
  | CommandEnd
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  | { readonly kind: 'no-output' };

/**
 * What is reported of a command that ended, once the slices were looked at where that is needed. Undefined: the loss of slices,
 * by whoever saw it.
 */
export function reportedEnd(
  decision: ReturnType<typeof decide<'command ended'>>['do'],
  ends: readonly HostEnd[],
): Exclude<Verdict, { kind: 'no-output' }> | undefined {
  switch (decision) {
    case 'report end':
      return commandEnd(ends);
    case 'report preemption':
      return { kind: 'slices-lost', slices: preemptedSlices(ends) };
    case 'report lost run':
      return shutDownEnd(ends);
    case 'report loss':
    case 'look at slices':
      return undefined;
  }
}

/** A loss that comes after the true end of the command on every host takes nothing of it back (docs/recovery.md, "command ended"). */
export function endBeforeLoss(ends: readonly HostEnd[], hosts: number): CommandEnd | undefined {
  if (ends.length === 0 || ends.length < hosts) return undefined;
  const end = commandEnd(ends);
  const decision = decide('command ended', { hosts: hostsFact(ends), slices: 'lost' });
  return end.kind === 'exited' && decision.do === 'report end' ? end : undefined;
}

/** The same evidence before the rules of this build. */
export function verdictOn({ by, hosts, ended, ends, looks, dead = [] }: Evidence): Verdict {
  const lost = [...looks, ...dead].toSorted((a, b) => a.at - b.at).flatMap((seen) => lossOf(seen) ?? []);
  const loss: Verdict = { kind: 'slices-lost', slices: lost };
  const areAllKept = ended >= hosts;
  if (by === 'loss') return (areAllKept ? endBeforeLoss(ends, ends.length) : undefined) ?? loss;
  const fact: Fact<'command ended', 'hosts'> = by === 'silence' ? 'silent' : hostsFact(ends);
  let decision = decide('command ended', { hosts: fact, slices: 'not looked at' });
  if (decision.do === 'look at slices')
    decision = decide('command ended', { hosts: fact, slices: lost.length > 0 ? 'lost' : 'there' });
  if (by === 'silence' && decision.do === 'report end') return { kind: 'no-output' };
  return reportedEnd(decision.do, ends) ?? loss;
}

/** By whichever question the facts answer. */
function lossOf(seen: Look | DeadHost): LostSlice | undefined {
  const { slice, text = '' } = seen;
  const decision = 'look' in seen ? decide('slice seen', factsOfLook(seen)) : decide('host silent', factsOfHost(seen));
  return decision.do === 'report loss' ? { index: slice, cause: decision.cause, message: text } : undefined;
}

const factsOfLook = ({ look, condition }: Look): Facts<'slice seen'> => ({ look, condition });
const factsOfHost = ({ sign, others, silence, node }: DeadHost): Facts<'host silent'> => ({
  ...{ sign, others, silence, node },
});
