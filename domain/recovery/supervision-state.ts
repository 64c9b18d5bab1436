import type { SilentEnd } from '../silence.js';
import type { IdleEnd } from '../workspace.js';
import type { Evidence } from './evidence.js';
import type { Fact, LostSlice } from './facts.js';
import type { CommandEnd, HostEnd, HostPlace, ShutDownHost } from './host-ends.js';

/** Fixed facts of an attempt. */
export interface Watched {
  /** Hosts that run the command, in the job's order. Empty: the job has no command, and only a loss ends its attempt. */
  readonly hosts: readonly HostPlace[];
  /** The first host's command is the attempt's, and all others serve it (Ray; docs/adr/0068). */
  readonly isLed: boolean;
  /** `command.success`: hosts whose success is enough. */
  readonly success: 'all' | 'first' | 'any';
}

export type News =
  /** `isStored`: its whole output is stored too, so that nothing is left to do for this host. */
  | { readonly of: 'host'; readonly end: HostEnd; readonly isStored: boolean }
  | { readonly of: 'silence'; readonly end: SilentEnd }
  | { readonly of: 'idle'; readonly end: IdleEnd }
  | { readonly of: 'loss'; readonly slice: LostSlice }
  | { readonly of: 'handed over' | 'time is up' }
  | Answer;

/** Answers to an effect. */
export type Answer =
  | { readonly of: 'stopped' | 'rest ended' }
  | { readonly of: 'wait over'; readonly step: Timed }
  | { readonly of: 'stored ends'; readonly ends: readonly HostEnd[] }
  | { readonly of: 'look'; readonly isLost: boolean }
  /** Number of hosts whose stacks are stored. */
  | { readonly of: 'stacks'; readonly hosts: number };

export type Effect =
  /** Tells all hosts to end. The answer comes when they have ended, or when their time to end is over. */
  | { readonly do: 'stop'; readonly reason: string }
  /** Tells the other hosts of a slice to end, because the provider takes the host `of`. No answer comes. */
  | { readonly do: 'tell gang'; readonly of: HostPlace }
  /** Tells hosts of lost slices to end, if they may still live. No answer comes. */
  | { readonly do: 'tell left'; readonly slices: readonly LostSlice[] }
  | { readonly do: 'wait'; readonly step: Timed; readonly ms: number }
  /** Reads the ends that these hosts stored: of all of them, or of none. */
  | { readonly do: 'read stored ends'; readonly hosts: readonly HostPlace[] }
  | {
      readonly do: 'look at slices';
      readonly patience: 'none' | 'shutdown';
      readonly hosts: Fact<'command ended', 'hosts'>;
      readonly ends: readonly HostEnd[];
    }
  | { readonly do: 'store stacks' }
  /** Ends the attempt on the hosts of all other slices, and waits until they have saved. */
  | { readonly do: 'end rest'; readonly slices: readonly LostSlice[] };

export type SupervisedEnd =
  | CommandEnd
  | SilentEnd
  | IdleEnd
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  | { readonly kind: 'handed-over' }
  | { readonly kind: 'still-running' };

export type DecidedBy = Pick<Evidence, 'by' | 'ends' | 'hosts'>;
export type Timed = 'consequence' | 'cause' | 'last lines' | 'saving' | 'late';

export type Step =
  | { readonly at: 'running' }
  /** `first` ended badly. A success that counts, or the leader's end, may be reported just after it. */
  | { readonly at: 'consequence'; readonly first: HostEnd }
  /** The leader failed, perhaps because of another host, whose end may be reported just after it. */
  | { readonly at: 'cause'; readonly leader: HostEnd }
  | { readonly at: 'stopping'; readonly to: 'report'; readonly ends: readonly HostEnd[] }
  | { readonly at: 'stopping'; readonly to: 'last lines' | 'late'; readonly first: HostEnd }
  | { readonly at: 'stopping'; readonly to: 'over'; readonly end: SupervisedEnd; readonly decidedBy: DecidedBy }
  /** Hosts that were told to end store their last lines. */
  | { readonly at: 'last lines'; readonly first: HostEnd }
  /** Hosts of a slice that shuts down save what they can. */
  | { readonly at: 'saving'; readonly first: ShutDownHost }
  /** The leader was told to end because `first` left it. */
  | { readonly at: 'late' | 'record'; readonly first: HostEnd }
  | { readonly at: 'stacks'; readonly silence: SilentEnd }
  | {
      readonly at: 'looking';
      readonly hosts: Fact<'command ended', 'hosts'>;
      readonly ends: readonly HostEnd[];
      readonly silence?: SilentEnd;
    }
  | { readonly at: 'loss'; readonly slices: readonly LostSlice[] }
  | { readonly at: 'ending rest'; readonly slices: readonly LostSlice[]; readonly decidedBy: DecidedBy }
  | { readonly at: 'over'; readonly end: SupervisedEnd; readonly decidedBy?: DecidedBy };

export type Over = Step & { readonly at: 'over' };

export interface Supervision extends Watched {
  readonly step: Step;
  /** Ends in the order in which they were reported. */
  readonly heard: readonly HostEnd[];
  /** The ends among them whose output is stored, in that order. */
  readonly stored: readonly HostEnd[];
  /** Slices in the order in which they were seen lost. */
  readonly lost: readonly LostSlice[];
}

/** Hosts whose end is the attempt's: all hosts, unless one leads the others or decides alone. */
export const deciding = ({ hosts, isLed, success }: Watched): readonly HostPlace[] =>
  isLed || success === 'first' ? hosts.slice(0, 1) : hosts;

// Places -----------------------------------------------------------------------------------------------------------------

export const isSame = (one: HostPlace, other: HostPlace): boolean =>
  one.slice === other.slice && one.host === other.host;
export const endOn = (ends: readonly HostEnd[], place: HostPlace): HostEnd | undefined =>
  ends.find(({ at }) => isSame(at, place));
export const isLedByOne = ({ isLed, hosts }: Supervision): boolean => isLed && hosts.length > 1;
export const isLeader = ({ hosts: [leader] }: Supervision, { at }: HostEnd): boolean =>
  leader !== undefined && isSame(leader, at);
export const isDeciding = (s: Supervision, { at }: HostEnd): boolean => deciding(s).some((place) => isSame(place, at));
export const unheard = (s: Supervision): readonly HostPlace[] =>
  deciding(s).filter((place) => endOn(s.heard, place) === undefined);
export const inOrder = ({ hosts }: Supervision, ends: readonly HostEnd[]): readonly HostEnd[] =>
  hosts.flatMap((place) => endOn(ends, place) ?? []);

export function allStored(s: Supervision): readonly HostEnd[] | undefined {
  return s.stored.length < s.hosts.length ? undefined : inOrder(s, s.stored);
}

export const isSaved = (s: Supervision, { at: { slice } }: ShutDownHost): boolean =>
  s.hosts.every((place) => place.slice !== slice || endOn(s.stored, place) !== undefined);
