import type { Landlord } from '../../contract/lodging.js';
import type { SliceView } from '../../contract/job.js';
import type { SliceLossReason } from '../../contract/slice.js';
import { type MachineRef, slicesOfRequest } from '../../domain/machines.js';
import { machinesOfSlices, type Ownership, type SliceMachines } from '../../domain/slice.js';

/**
 * `late`: the slice was not ready within `timeouts.provision`, and nothing else happened to it. `isByPool`: no zone refused; the
 * pool had no room for the request.
 */
export type SliceLoss = { readonly index: number } & (
  | SliceLossReason
  | { readonly cause: 'late'; readonly message: string }
  | { readonly cause: 'refused'; readonly scope: 'moment'; readonly message: string; readonly isByPool: true }
);

/**
 * One request of a job, with the proof that it is the job's. `index`, `uid` and `hosts` are those of its first slice: a job asks
 * for each slice alone, or for all of them at once (docs/adr/0054).
 */
export interface SliceCarry extends SliceView {
  readonly ownership: Ownership;
  /** It was asked for beside the job's own requests. */
  readonly isBeside?: true;
  /** The pool has allowed it beside them. Absent: the pool has not answered, or has no room. */
  readonly isAllowed?: true;
  /** It was told to end. */
  readonly isToldToEnd?: true;
  readonly loss?: SliceLoss;
  /** Machines of the request's other slices, in their order. */
  readonly others?: readonly SliceMachines[];
  /** The job that lends it (docs/adr/0163). Absent: it is the job's own. */
  readonly landlord?: Landlord;
}

/** A request as its workflow last reported it. */
export type Member = { -readonly [Key in keyof SliceCarry]: SliceCarry[Key] };

/** Notes what a request does now, and since when. */
export function say(member: Member, detail: string): void {
  if (member.detail === detail && member.since !== undefined) return;
  Object.assign(member, { detail, since: Date.now() });
}

export const copied = (members: readonly SliceCarry[]): Member[] => members.map((slice) => ({ ...slice }));

export const presentOf = (members: readonly Member[]): readonly MachineRef[] =>
  members.filter(({ state, landlord }) => state !== 'gone' && landlord === undefined).map(({ ref }) => ref);

export const isWhole = (members: readonly Member[], requests: number): boolean =>
  members.length === requests && members.every(({ state }) => state === 'ready');

export const lossOf = (members: readonly Member[]): SliceLoss | undefined =>
  members.find(({ state, loss }) => (state === 'lost' || state === 'gone') && loss)?.loss;

/** A slice repeats only its last news to a job that was reset, so later news than the pool's answer also shows that answer. */
export const isAllowed = ({ state, isAllowed: is, loss }: Member): boolean =>
  is === true || state === 'ready' || (loss !== undefined && loss.cause !== 'lease');

export function viewsOf(member: Member): readonly SliceView[] {
  const {
    loss: _,
    ownership: _ownership,
    others: _others,
    uid: _uid,
    isBeside: _beside,
    isAllowed: _allowed,
    isToldToEnd: _told,
    landlord: _landlord,
    ...view
  } = member;
  return slicesOf(member).map((slice) => ({ ...view, ...slice }));
}

/** The slices of one request, by their index in the job. `hosts` is empty until they were ready. */
export function slicesOf({
  index,
  ref,
  uid,
  hosts,
  others,
}: Member): readonly Pick<SliceView, 'index' | 'ref' | 'uid' | 'hosts'>[] {
  const machines = uid === undefined ? [] : machinesOfSlices({ uid, hosts, ...(others && { others }) });
  return slicesOfRequest(ref).map((slice, at) => ({ index: index + at, ref: slice, hosts: [], ...machines[at] }));
}
