import type { EpochMs } from '../units.js';
import type { Condition } from '../slice.js';
import { decide } from './decide.js';
import type { Fact, Facts, LostSlice } from './facts.js';
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

/**
 * A worker's knowledge when it reported the end of an attempt. It is kept in the attempt's record, so that another build can make
 * the decision again (docs/adr/0050).
 */
export interface Evidence {
  readonly v: 1;
  /** The reason for calling the attempt ended: ends of its hosts, a slice's loss, or silence (`timeouts.no_output`). */
  readonly by: 'ends' | 'loss' | 'silence';
  /** Number of hosts that the command ran on. */
  readonly hosts: number;
  /** Number of hosts that had reported how their command ended. */
  readonly ended: number;
  /** Records of the hosts' runners. If many are alike, only some are kept, by which the decision is the same as by all. */
  readonly ends: readonly HostEnd[];
  /** The last looks at the slices, oldest first. */
  readonly looks: readonly Look[];
  /** Hosts that counted as dead and cost their slice, the first of each slice, oldest first. Absent: there were none. */
  readonly dead?: readonly DeadHost[];
}

/** A provider's answer about a slice. */
export interface Look extends Facts<'slice seen'> {
  readonly at: EpochMs;
  readonly slice: number;
  /** The provider's text. */
  readonly text?: string;
}

/** A host that did not answer, and the facts for which it counted as dead (docs/adr/0046). */
export interface DeadHost extends Facts<'host silent'>, HostPlace {
  readonly at: EpochMs;
  /** The sentence about it in the job's events. */
  readonly text: string;
}

/** Bounds for one attempt. A look or a dead host has at most 600 bytes, an end about 200. */
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
 * Keeps one end of each sort (at most 26) and of each preempted slice, then the earliest. They stay in the order told, which
 * decides between simultaneous ends. `commandEnd`, `hostsFact` and `preemptedSlices` return the same for them as for all.
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

/** Drops `left`, which decides nothing and is reported elsewhere. */
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

/** The end of an attempt, as far as hosts and slices show it. */
type Verdict =
  | CommandEnd
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  | { readonly kind: 'no-output' };

/**
 * The report on a command that ended, made after the slices were looked at if that was necessary. Undefined if slices were
 * lost: the loss itself is then reported.
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

/** A loss after the true end of the command on every host does not change that end (docs/recovery.md, "command ended"). */
export function endBeforeLoss(ends: readonly HostEnd[], hosts: number): CommandEnd | undefined {
  if (ends.length === 0 || ends.length < hosts) return undefined;
  const end = commandEnd(ends);
  const decision = decide('command ended', { hosts: hostsFact(ends), slices: 'lost' });
  return end.kind === 'exited' && decision.do === 'report end' ? end : undefined;
}

/** Applies the rules of this build to the same evidence. */
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

/** Decides whether this was a loss, by the question that the facts belong to. */
function lossOf(seen: Look | DeadHost): LostSlice | undefined {
  const { slice, text = '' } = seen;
  const decision = 'look' in seen ? decide('slice seen', factsOfLook(seen)) : decide('host silent', factsOfHost(seen));
  return decision.do === 'report loss' ? { index: slice, cause: decision.cause, message: text } : undefined;
}

const factsOfLook = ({ look, condition }: Look): Facts<'slice seen'> => ({ look, condition });
const factsOfHost = ({ sign, others, silence, node }: DeadHost): Facts<'host silent'> => ({
  ...{ sign, others, silence, node },
});

/** Result of a look into the store for a host's sign of life. `unknown`: the store did not answer. */
type SignSeen = { readonly signs: number } | 'none' | 'unknown';

/**
 * Knowledge about one host's sign of life from looks into the store. It is judged by the looking worker's clock, and only from
 * its first look on: no clock of the host or the store can make a sign stale, and to a new worker no sign is stale.
 */
export class SignRecord {
  #seen: SignSeen = 'unknown';
  #signs: number | undefined;
  #newAt = 0;
  #isRenewed = false;

  /** @param at ms of a monotonic clock */
  look(seen: SignSeen, at: number): void {
    this.#seen = seen;
    if (typeof seen !== 'object' || seen.signs === this.#signs) return;
    this.#isRenewed = this.#signs !== undefined;
    this.#signs = seen.signs;
    this.#newAt = at;
  }

  /** A sign that was written only once does not prove the right to renew it, so its age says nothing. */
  fact(at: number, staleMs: number): Fact<'host silent', 'sign'> {
    if (this.#seen === 'unknown') return 'store silent';
    if (this.#seen === 'none') return 'never';
    if (this.#seen.signs < 2) return 'never';
    return at - this.#newAt < staleMs ? 'fresh' : 'stale';
  }

  /** Returns whether this worker saw the sign renewed within the last `staleMs`. */
  isRenewed(at: number, staleMs: number): boolean {
    return this.#isRenewed && this.fact(at, staleMs) === 'fresh';
  }
}

/** The number in a sign of life, which its host counts up. Any other content is no sign. */
export function signSeen(content: string | undefined): SignSeen {
  const signs = Number(/^\{"v":1,"run":"[^"]*","signs":(\d+)\}$/.exec(content ?? '')?.[1]);
  return signs > 0 ? { signs } : 'none';
}

/** The API's answer about the slice of a silent host. A slice that is not READY is judged by the rules of `slice seen`. */
export function nodeFact(seen: Condition | undefined): Fact<'host silent', 'node'> {
  if (seen?.kind === 'ready') return seen.warning === undefined ? 'ready' : 'warned';
  return 'no word';
}

/** The reason why a silent host counts as dead, for the job's events and for its retry. */
export function deadHostText(
  { slice, host }: HostPlace,
  { sign, others, silence }: Facts<'host silent'>,
  { since, limitMs, staleMs }: { readonly since: EpochMs; readonly limitMs: number; readonly staleMs: number },
): string {
  return [
    `host ${host} of slice ${slice} has not answered since ${new Date(since).toISOString()}`,
    ...(others === 'silent' ? [] : ['another host on its route does']),
    ...(sign === 'stale' ? [`its sign of life in the store was not renewed for ${timeText(staleMs)}`] : []),
    ...(silence === 'longer' ? [`timeouts.unreachable is ${timeText(limitMs)}`] : []),
  ].join('; ');
}

const timeText = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
