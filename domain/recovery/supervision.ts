import type { SilentEnd } from '../silence.js';
import { decide } from './decide.js';
import { endBeforeLoss, type Evidence, reportedEnd } from './evidence.js';
import type { Fact, LostSlice } from './facts.js';
import {
  hasSucceeded,
  type HostEnd,
  hostsFact,
  isGood,
  isShutDown,
  type ShutDownHost,
  wasStopped,
} from './host-ends.js';
import {
  allStored,
  type Answer,
  deciding,
  type DecidedBy,
  type Effect,
  endOn,
  inOrder,
  isDeciding,
  isLeader,
  isLedByOne,
  isSaved,
  type News,
  type Step,
  type SupervisedEnd,
  type Supervision,
  type Timed,
  unheard,
  type Watched,
} from './supervision-state.js';

interface Next {
  readonly state: Supervision;
  readonly effects: readonly Effect[];
}

/** Longest time between an end and its consequence. Either may be reported first: `ray start --block` looks once a second. */
const CONSEQUENCE_MS = 5_000;
/** Time for which hosts that were told to stop are awaited: for their ends, then for their last lines. */
export const LAST_LINES_MS = 10_000;
/** Time between ACPI's soft off and hard off on a Spot VM. */
const SHUTDOWN_GRACE_MS = 30_000;

export const begin = (watched: Watched): Supervision => ({
  ...watched,
  ...{ step: { at: 'running' }, heard: [], stored: [], lost: [] },
});

/**
 * The end of one attempt, found from news of its hosts and slices. Pure: `begin` gives the first state, and `next` returns the
 * effects of each piece of news. The caller carries the effects out, and passes their answers in as news. News may come in any
 * order, and an answer that is no longer waited for changes nothing (docs/adr/0140).
 */
export function next(s: Supervision, news: News): Next {
  if (s.step.at === 'over') return stay(s);
  switch (news.of) {
    case 'handed over':
      return over(s, { kind: 'handed-over' });
    case 'time is up':
      return over(s, { kind: 'still-running' });
    case 'host':
      return hostEnded(s, news.end, news.isStored);
    case 'loss':
      return sliceLost(s, news.slice);
    case 'idle':
      // Every host has said it itself. A watcher that has ended meanwhile is what the attempt ends by.
      return s.step.at === 'running' && s.heard.length === 0 ? over(s, news.end) : stay(s);
    case 'silence':
      return s.step.at === 'running' ? go(s, { at: 'stacks', silence: news.end }, { do: 'store stacks' }) : stay(s);
    default:
      return answered(s, news);
  }
}

const stay = (state: Supervision): Next => ({ state, effects: [] });
const go = (s: Supervision, step: Step, ...effects: readonly Effect[]): Next => ({ state: { ...s, step }, effects });
const over = (s: Supervision, end: SupervisedEnd, decidedBy?: DecidedBy): Next =>
  go(s, { at: 'over', end, ...(decidedBy && { decidedBy }) });
const waiting = (s: Supervision, step: Step & { readonly at: Timed }, ms: number): Next =>
  go(s, step, { do: 'wait', step: step.at, ms });
const withFirst = (effect: Effect, { state, effects }: Next): Next => ({ state, effects: [effect, ...effects] });

function answered(s: Supervision, news: Answer): Next {
  const { step } = s;
  switch (news.of) {
    case 'wait over':
      return news.step === step.at ? waitOver(s) : stay(s);
    case 'stopped':
      return step.at === 'stopping' ? stopped(s, step) : stay(s);
    case 'stored ends':
      if (step.at === 'record') return leaderIsLate(s, step.first, news.ends[0]);
      return step.at === 'loss' ? afterLoss(s, step.slices, news.ends) : stay(s);
    case 'stacks':
      return step.at === 'stacks' ? silent(s, step.silence, news.hosts) : stay(s);
    case 'look':
      return step.at === 'looking' ? decided(s, step, news.isLost ? 'lost' : 'there') : stay(s);
    case 'rest ended':
      return step.at === 'ending rest' ? over(s, lossOf(s, step.slices), step.decidedBy) : stay(s);
  }
}

// Ends of hosts ----------------------------------------------------------------------------------------------------------

function hostEnded(before: Supervision, end: HostEnd, isStored: boolean): Next {
  const heard = endOn(before.heard, end.at) === undefined ? [...before.heard, end] : before.heard;
  if (!isStored) return stay({ ...before, heard });
  const s = { ...before, heard, stored: [...before.stored, end] };
  const { step } = s;
  switch (step.at) {
    case 'running':
      return isLedByOne(s) ? firstOfLed(s, end) : firstOfEqual(s, end);
    case 'consequence':
      if (!isLedByOne(s)) return consequence(s, step.first);
      return isLeader(s, end) ? leaderEnded(s, end, step.first) : stay(s);
    case 'cause':
      return isLeader(s, end) ? stay(s) : ledEnds(s, { leader: step.leader, cause: end });
    case 'last lines': {
      const all = allStored(s);
      return all === undefined ? stay(s) : report(s, all);
    }
    case 'saving':
      return isSaved(s, step.first) ? waitOver(s) : stay(s);
    case 'late':
      return isLeader(s, end) ? leaderIsLate(s, step.first, end) : stay(s);
    default:
      return stay(s);
  }
}

function waitOver(s: Supervision): Next {
  const { step } = s;
  switch (step.at) {
    case 'consequence':
      return isLedByOne(s) ? ledEnds(s, { cause: step.first }) : notEnough(s, step.first);
    case 'cause':
      return ledEnds(s, { leader: step.leader });
    case 'last lines':
      return report(s, [step.first]);
    case 'saving': {
      const saved = s.heard.filter(({ at }) => at.slice === step.first.at.slice);
      return report(s, saved.length === 0 ? [step.first] : inOrder(s, saved));
    }
    case 'late':
      return go(s, { at: 'record', first: step.first }, { do: 'read stored ends', hosts: unheard(s) });
    default:
      return stay(s);
  }
}

function stopped(s: Supervision, step: Step & { readonly at: 'stopping' }): Next {
  switch (step.to) {
    case 'report':
      return report(s, step.ends);
    case 'over':
      return over(s, step.end, step.decidedBy);
    case 'last lines': {
      const all = allStored(s);
      return all === undefined ? waiting(s, { at: 'last lines', first: step.first }, LAST_LINES_MS) : report(s, all);
    }
    case 'late': {
      const [leader] = s.hosts;
      const end = leader && endOn(s.stored, leader);
      return end === undefined
        ? waiting(s, { at: 'late', first: step.first }, LAST_LINES_MS)
        : leaderIsLate(s, step.first, end);
    }
  }
}

const stop = (s: Supervision, reason: string, step: Step): Next => go(s, step, { do: 'stop', reason });

/** Waits for what the hosts save. Tells only the rest of a gang: a host that shuts down has been told by its own system. */
function saving(s: Supervision, first: ShutDownHost): Next {
  const step = { at: 'saving', first } as const;
  const saved = isSaved(s, first) ? waitOver({ ...s, step }) : waiting(s, step, SHUTDOWN_GRACE_MS);
  return withFirst({ do: 'tell gang', of: first.at }, saved);
}

// All hosts alike

function firstOfEqual(s: Supervision, end: HostEnd): Next {
  const all = allStored(s);
  if (all?.every(isGood)) return report(s, all);
  const one = enoughOf(s);
  if (one !== undefined) return enough(s, one);
  if (isGood(end)) return stay(s);
  const isFinal = s.success === 'all' || end.kind === 'fenced' || all !== undefined;
  if (isFinal) return notEnough(s, end);
  return waiting(s, { at: 'consequence', first: end }, CONSEQUENCE_MS);
}

function consequence(s: Supervision, first: HostEnd): Next {
  const one = enoughOf(s);
  if (one !== undefined) return enough(s, one);
  return allStored(s) === undefined ? stay(s) : notEnough(s, first);
}

/** The stored end of a host whose success is enough, if there is one. */
const enoughOf = (s: Supervision): HostEnd | undefined =>
  s.success === 'all' ? undefined : s.stored.find((end) => hasSucceeded(end) && isDeciding(s, end));

const enough = (s: Supervision, one: HostEnd): Next =>
  stop(s, 'the command has succeeded where command.success asks for it', {
    ...{ at: 'stopping', to: 'report', ends: [one] },
  });

function notEnough(s: Supervision, first: HostEnd): Next {
  if (isShutDown(first)) return saving(s, first);
  const all = allStored(s);
  if (all !== undefined) return report(s, all);
  return stop(s, 'the command failed on another host', { at: 'stopping', to: 'last lines', first });
}

// One leads the others

function firstOfLed(s: Supervision, end: HostEnd): Next {
  if (end.kind === 'fenced') return report(s, [end]);
  if (isLeader(s, end)) return leaderEnded(s, end, end);
  return waiting(s, { at: 'consequence', first: end }, CONSEQUENCE_MS);
}

/** Code 0 of the leader counts, whatever the ends of the others are: they serve it, and end when it is gone. */
function leaderEnded(s: Supervision, leader: HostEnd, first: HostEnd): Next {
  if (isGood(leader))
    return stop(s, 'the command has ended on the first host', {
      ...{ at: 'stopping', to: 'report', ends: [leader] },
    });
  if (wasStopped(leader)) return isShutDown(first) ? saving(s, first) : ledEnds(s, { leader });
  if (first !== leader) return ledEnds(s, { leader, cause: first });
  return waiting(s, { at: 'cause', leader }, CONSEQUENCE_MS);
}

/** The leader has failed, or another host has left it (`cause`), or both. */
function ledEnds(s: Supervision, { leader, cause }: { leader?: HostEnd; cause?: HostEnd }): Next {
  const taken = s.stored.find((end) => (end === leader || end === cause) && isShutDown(end));
  if (taken !== undefined && isShutDown(taken)) return saving(s, taken);
  const reason = 'the command, or what it needs on another host, has ended';
  if (leader === undefined && cause !== undefined) return stop(s, reason, { at: 'stopping', to: 'late', first: cause });
  const ends = [...(cause === undefined ? [] : [asLoss(cause)]), ...(leader === undefined ? [] : [leader])];
  return stop(s, reason, { at: 'stopping', to: 'report', ends });
}

function leaderIsLate(s: Supervision, first: HostEnd, late: HostEnd | undefined): Next {
  if (late !== undefined && hasSucceeded(late)) return report(s, [late]);
  return report(s, [asLoss(first), ...(late === undefined ? [] : [late])]);
}

/** A host that ended well and by itself counts as lost, because it no longer serves a command that runs. */
function asLoss(end: HostEnd): HostEnd {
  if (end.kind !== 'done' || end.isStopped) return end;
  return { kind: 'run-lost', at: end.at, message: 'the host ended what the command on the first host needs (Ray)' };
}

// The decision -----------------------------------------------------------------------------------------------------------

const report = (s: Supervision, ends: readonly HostEnd[]): Next =>
  decided(s, { hosts: hostsFact(ends), ends }, 'not looked at');

type Reported = Omit<Step & { readonly at: 'looking' }, 'at'>;

function decided(s: Supervision, reported: Reported, slices: Fact<'command ended', 'slices'>): Next {
  const { hosts, ends, silence } = reported;
  const decision = decide('command ended', { hosts, slices });
  if (decision.do === 'look at slices') {
    const look: Effect = { do: 'look at slices', patience: decision.patience, hosts, ends };
    return go(s, { at: 'looking', ...reported }, look);
  }
  const end = silence && decision.do === 'report end' ? silence : reportedEnd(decision.do, ends);
  // The loss that the look showed comes as news of its own.
  if (end === undefined) return s.lost.length === 0 ? stay(s) : lossSeen(s, s.lost);
  const [first] = ends;
  const isEnough = s.success === 'any' && ends.length === 1 && first !== undefined && hasSucceeded(first);
  const decidedBy: DecidedBy = { by: silence ? 'silence' : 'ends', ends, hosts: isEnough ? 1 : deciding(s).length };
  if (end.kind === 'slices-lost') return endRest(s, end.slices, decidedBy);
  if (decision.do !== 'report lost run') return over(s, end, decidedBy);
  return stop(s, 'a host of the job shut down', { at: 'stopping', to: 'over', end, decidedBy });
}

/** No host has printed for so long, and the stacks are stored. If the command has ended meanwhile, that end counts. */
function silent(s: Supervision, silence: SilentEnd, stacks: number): Next {
  const known = inOrder(s, s.heard).filter((end) => isDeciding(s, end));
  if (known.length === deciding(s).length) return report(s, known);
  const told = stacks === 0 ? silence : { ...silence, stacks };
  return decided(s, { hosts: 'silent', ends: [], silence: told }, 'not looked at');
}

/** The ends that decide, and the number of hosts that they stand for: one if `command.success` says that one is enough. */
function decisive(s: Supervision, ends: readonly HostEnd[]): Pick<Evidence, 'ends' | 'hosts'> {
  const one = s.success === 'any' ? ends.find(hasSucceeded) : undefined;
  return one === undefined ? { ends, hosts: deciding(s).length } : { ends: [one], hosts: 1 };
}

// Lost slices ------------------------------------------------------------------------------------------------------------

/** A loss counts in every step. Ends that were reported before it are judged again, knowing the loss. */
function sliceLost(before: Supervision, slice: LostSlice): Next {
  const s = { ...before, lost: [...before.lost, slice] };
  return s.step.at === 'loss' || s.step.at === 'ending rest' ? stay(s) : lossSeen(s, [slice]);
}

function lossSeen(s: Supervision, slices: readonly LostSlice[]): Next {
  const hosts = unheard(s);
  const known =
    hosts.length === 0 ? afterLoss(s, slices, []) : go(s, { at: 'loss', slices }, { do: 'read stored ends', hosts });
  // Comes before anything is read, because the time that these hosts have to save has begun.
  return withFirst({ do: 'tell left', slices }, known);
}

function afterLoss(s: Supervision, slices: readonly LostSlice[], stored: readonly HostEnd[]): Next {
  const told = s.heard.filter((end) => isDeciding(s, end));
  const known = [...told, ...stored.filter(({ at }) => endOn(told, at) === undefined)];
  const { ends, hosts } = decisive(s, inOrder(s, known));
  const end = endBeforeLoss(ends, hosts);
  const decidedBy: DecidedBy = { by: 'loss', ends, hosts };
  return end === undefined ? endRest(s, slices, decidedBy) : over(s, end, decidedBy);
}

const endRest = (s: Supervision, slices: readonly LostSlice[], decidedBy: DecidedBy): Next =>
  go(s, { at: 'ending rest', slices, decidedBy }, { do: 'end rest', slices });

/** Slices that were seen lost meanwhile are replaced too. */
function lossOf({ lost }: Supervision, slices: readonly LostSlice[]): SupervisedEnd {
  const known = new Set(slices.map(({ index }) => index));
  return { kind: 'slices-lost', slices: [...slices, ...lost.filter(({ index }) => !known.has(index))] };
}
