import type { HostEnd, HostPlace } from '../../../domain/recovery/host-ends.js';
import type { LostSlice } from '../../../domain/recovery/facts.js';
import { begin, next } from '../../../domain/recovery/supervision.js';
import {
  type Effect,
  endOn,
  type News,
  type SupervisedEnd,
  type Supervision,
  type Watched,
} from '../../../domain/recovery/supervision-state.js';

export const at = (host: number, slice = 0): HostPlace => ({ slice, host });
const exit = { startedAt: 1, endedAt: 2, isStopped: false, host: 'up' } as const;
export const done = (host: number, slice = 0): HostEnd => ({ kind: 'done', at: at(host, slice), code: 0, ...exit });
export const failed = (host: number, code = 7, slice = 0): HostEnd => ({
  kind: 'failed',
  at: at(host, slice),
  code,
  ...exit,
});
export const runLost = (host: number): HostEnd => ({ kind: 'run-lost', at: at(host), message: 'Ray ended' });
export const fenced = (host: number): HostEnd => ({ kind: 'fenced', at: at(host), epoch: 3 });
export const told = (end: HostEnd): HostEnd => ({ ...end, isStopped: true }) as HostEnd;
export const shutDown = (end: HostEnd, host: 'stopping' | 'preempted' = 'stopping'): HostEnd =>
  ({ ...end, host }) as HostEnd;
export const taken = (index: number): LostSlice => ({ index, cause: 'preempted', message: `slice ${index} is taken` });
export const stored = (end: HostEnd): News => ({ of: 'host', end, isStored: true });
export const heard = (end: HostEnd): News => ({ of: 'host', end, isStored: false });

/** What the hosts and slices of an attempt do when they are asked or told. */
export interface World {
  /** How a host that is told to end does so, unless it has ended. Undefined: it does not. */
  readonly toldEnd?: (place: HostPlace) => HostEnd | undefined;
  /** Ends that hosts have stored. */
  readonly stored?: readonly HostEnd[];
  readonly isLost?: boolean;
  readonly stacks?: number;
  /** Comes when nothing else does. */
  readonly last?: News;
}

export interface Played {
  readonly end: SupervisedEnd;
  readonly state: Supervision;
  readonly effects: readonly Effect[];
  /** Ends by which it was decided. */
  readonly ends: readonly HostEnd[] | undefined;
}

/** Takes all news in their order, then what comes of the effects; a wait is over when nothing else is left. */
export function play(watched: Watched, news: readonly News[], world: World = {}): Played {
  const { toldEnd = (place) => told(done(place.host, place.slice)) } = world;
  let state = begin(watched);
  const effects: Effect[] = [];
  const coming = [...news];
  const later: News[] = [];
  const hasEnded = (place: HostPlace): boolean =>
    endOn([...state.stored, ...coming.flatMap((each) => (each.of === 'host' ? [each.end] : []))], place) !== undefined;
  const tell = (): readonly News[] =>
    watched.hosts.flatMap((place) => (hasEnded(place) ? [] : (toldEnd(place) ?? []))).map(stored);
  const storedBy = (places: readonly HostPlace[]): readonly HostEnd[] => {
    const ends = places.flatMap((place) => endOn(world.stored ?? [], place) ?? []);
    return ends.length === places.length ? ends : [];
  };
  const answer = (effect: Effect): void => {
    effects.push(effect);
    if (effect.do === 'stop') coming.push(...tell(), { of: 'stopped' });
    if (effect.do === 'end rest') coming.push({ of: 'rest ended' });
    if (effect.do === 'store stacks') coming.push({ of: 'stacks', hosts: world.stacks ?? 0 });
    if (effect.do === 'look at slices') coming.push({ of: 'look', isLost: world.isLost ?? false });
    if (effect.do === 'read stored ends') coming.push({ of: 'stored ends', ends: storedBy(effect.hosts) });
    if (effect.do === 'wait') later.push({ of: 'wait over', step: effect.step });
  };
  while (state.step.at !== 'over') {
    const one = coming.shift() ?? later.shift() ?? world.last;
    if (one === undefined) throw new Error(`nothing more comes, and it waits in '${state.step.at}'`);
    const after = next(state, one);
    state = after.state;
    after.effects.forEach(answer);
  }
  const { end, decidedBy } = state.step;
  return { end, state, effects, ends: decidedBy?.ends };
}
