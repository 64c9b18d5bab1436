import type { ReadySlice } from '../../contract/job-activities.js';
import type { Landlord, LentSlice } from '../../contract/lodging.js';
import type { SliceView } from '../../contract/job.js';
import type { SliceLossReason, SliceNews } from '../../contract/slice.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { type MachinePlan, type MachineRef, requestCount, slicesOfRequest } from '../../domain/machines.js';
import { machinesOfSlices, type Ownership, type SliceHost, type SliceMachines } from '../../domain/slice.js';
import { durationText } from '../../domain/units.js';

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

type Member = { -readonly [Key in keyof SliceCarry]: SliceCarry[Key] };

/** Requests for the whole gang in another zone, beside the first (docs/adr/0101). */
export interface RivalCarry {
  /** The try of a zone (`Zones`) for which these are requested. */
  readonly zoneTry: number;
  readonly slices: readonly SliceCarry[];
  /** It was told to end, and is not seen gone. */
  readonly isLeaving?: true;
  /** The job's user was told of it. */
  readonly isShown?: true;
}

interface Rival {
  readonly zoneTry: number;
  members: Member[];
  isLeaving: boolean;
  isShown: boolean;
}

export interface SlicesCarry {
  readonly slices: readonly SliceCarry[];
  /** Absent: none. */
  readonly rivals?: readonly RivalCarry[];
  /** The last generation that was asked for, by index, if it is not that of `slices`. Absent: it is. */
  readonly generations?: readonly number[];
}

/** The slices of a job as their workflows reported them. State only: `Gang` starts them and tells them to end. */
export class Slices {
  /** Number of requests that the job makes for its slices. */
  readonly requests: number;
  #members: Member[];
  #rivals: Rival[];
  readonly #generations: number[];

  constructor(spec: Pick<JobSpec, 'slices' | 'atomic'>, carry: SlicesCarry = { slices: [] }) {
    this.requests = requestCount(spec);
    this.#members = copied(carry.slices);
    this.#rivals = (carry.rivals ?? []).map(({ zoneTry, slices, isLeaving, isShown }) => ({
      zoneTry,
      members: copied(slices),
      isLeaving: isLeaving ?? false,
      isShown: isShown ?? false,
    }));
    this.#generations = [...(carry.generations ?? carry.slices.map(({ generation }) => generation))];
  }

  get views(): readonly SliceView[] {
    return this.#members.flatMap(viewsOf);
  }

  /** Views of the requests beside the job's own, while they exist and the provider may have received them. */
  get rivalViews(): readonly SliceView[] {
    return this.#rivals.flatMap(({ members, isLeaving }) =>
      members
        .filter((member) => member.state !== 'gone' && (member.isBeside === undefined || isAllowed(member)))
        .map((member): Member => (isLeaving ? { ...member, state: 'lost', detail: 'told to go' } : member))
        .flatMap(viewsOf),
    );
  }

  get #all(): readonly Member[] {
    return [...this.#members, ...this.#rivals.flatMap(({ members }) => members)];
  }

  /** The job's requests that may still exist in the cloud. Lent slices are their landlord's. */
  get present(): readonly MachineRef[] {
    return presentOf(this.#all);
  }

  /**
   * Requests whose machines were there, and are not seen gone: also those that are lost, were told to end, or are lent by another
   * job (`isLent`).
   */
  get held(): readonly { readonly ref: MachineRef; readonly isLeaving: boolean; readonly isLent: boolean }[] {
    return this.#all
      .filter(({ state, uid }) => state !== 'gone' && uid !== undefined)
      .map(({ ref, state, isToldToEnd, landlord }) => ({
        ref,
        isLeaving: state === 'lost' || isToldToEnd === true,
        isLent: landlord !== undefined,
      }));
  }

  /** Call it when requests are told to end. */
  toldToEnd(refs: readonly MachineRef[]): void {
    for (const member of this.#all) if (refs.some(({ name }) => name === member.ref.name)) member.isToldToEnd = true;
  }

  /** The job's own requests that are for any of these slices. */
  presentFor(indexes: readonly number[]): readonly MachineRef[] {
    const names = new Set(indexes.map((index) => this.nameOf(index)));
    return presentOf(this.#members).filter(({ name }) => names.has(name));
  }

  /** Whether each of the job's own requests was made, and none of them is lost. */
  get isAsking(): boolean {
    const states = this.#members.map(({ state }) => state);
    return states.length > 0 && states.every((state) => state === 'starting' || state === 'ready');
  }

  /** Whether any of the job's own requests may still exist. */
  get hasOwn(): boolean {
    return presentOf(this.#members).length > 0;
  }

  // Beside the first -------------------------------------------------------------------------------------------------

  /** Tries of zones that are asked beside the first, in the order in which they began. */
  get rivals(): readonly number[] {
    return this.#waiting.map(({ zoneTry }) => zoneTry);
  }

  /**
   * Those of `rivals` of which the job's user was told. A full pool says no at each turn. Such a try is not shown, because no
   * provider is asked.
   */
  get shownRivals(): readonly number[] {
    return this.#waiting.filter(({ isShown }) => isShown).map(({ zoneTry }) => zoneTry);
  }

  /** The first rival that its pool has allowed and of which the job's user was not told. */
  get newRival(): number | undefined {
    return this.#waiting.find(({ members, isShown }) => !isShown && members.some(isAllowed))?.zoneTry;
  }

  /** Notes that the job's user was told of the rival. */
  show(zoneTry: number): void {
    for (const rival of this.#waiting) if (rival.zoneTry === zoneTry) rival.isShown = true;
  }

  get #waiting(): readonly Rival[] {
    return this.#rivals.filter(({ isLeaving }) => !isLeaving);
  }

  /** Whether requests that were told to end still exist. */
  get isLeaving(): boolean {
    return this.#rivals.some(({ isLeaving }) => isLeaving);
  }

  /** The rival all of whose slices are ready. */
  get readyRival(): number | undefined {
    return this.#waiting.find(({ members }) => isWhole(members, this.requests))?.zoneTry;
  }

  /** The first rival that is lost, with the reason. */
  get lostRival(): (SliceLoss & { readonly zoneTry: number }) | undefined {
    for (const { zoneTry, members } of this.#waiting) {
      const loss = lossOf(members);
      if (loss) return { ...loss, zoneTry };
    }
    return undefined;
  }

  /** Whether something has happened that changes how the slices are brought up. */
  get isNews(): boolean {
    const { newRival, readyRival, lostRival } = this;
    return this.isWhole || [this.loss, newRival, readyRival, lostRival].some((each) => each !== undefined);
  }

  /** Makes the rival's requests the job's own. @returns the former own requests that still exist, which have to be told to end */
  follow(zoneTry: number, formerTry: number): readonly MachineRef[] {
    const rival = this.#rivals.find((each) => each.zoneTry === zoneTry);
    if (rival === undefined) throw new TypeError(`no rival of try ${zoneTry}`);
    const former: Rival = { zoneTry: formerTry, members: this.#members, isLeaving: true, isShown: true };
    this.#members = rival.members;
    this.#rivals = [...this.#rivals.filter((each) => each !== rival), former];
    this.#forgetGone();
    return presentOf(former.members);
  }

  /** @returns the rival's requests that still exist, which have to be told to end */
  drop(zoneTry: number): readonly MachineRef[] {
    const rival = this.#rivals.find((each) => each.zoneTry === zoneTry && !each.isLeaving);
    if (rival === undefined) return [];
    rival.isLeaving = true;
    this.#forgetGone();
    return presentOf(rival.members);
  }

  #forgetGone(): void {
    this.#rivals = this.#rivals.filter(({ members, isLeaving }) => !isLeaving || presentOf(members).length > 0);
  }

  get ready(): readonly ReadySlice[] {
    return this.#members.flatMap((member) => {
      const { state, ownership, landlord } = member;
      return slicesOf(member).flatMap(({ index, ref, uid, hosts }) =>
        state === 'ready' && uid !== undefined
          ? [{ index, ref, ownership, uid, hosts, ...(landlord && { landlord }) }]
          : [],
      );
    });
  }

  // Lent by another job ----------------------------------------------------------------------------------------------

  /** The job whose slices these are. Undefined: they are the job's own, or it has none. */
  get landlord(): Landlord | undefined {
    return this.#members.find(({ landlord }) => landlord !== undefined)?.landlord;
  }

  /** Takes the slices of another job. Their generations are not this job's. */
  lodge(landlord: Landlord, lent: readonly LentSlice[]): void {
    this.#members = lent.map((slice) => ({ ...slice, landlord, state: 'ready', detail: 'lent', since: Date.now() }));
  }

  /** Leaves the slices of another job. */
  leave(): void {
    this.#members = [];
  }

  /** The job's own slices, for a job that runs on them next. */
  get lent(): readonly LentSlice[] {
    return this.#members.flatMap(({ index, generation, ref, ownership, uid, hosts, others }) =>
      uid === undefined ? [] : [{ index, generation, ref, ownership, uid, hosts, ...(others && { others }) }],
    );
  }

  /** Whether all slices are ready. */
  get isWhole(): boolean {
    return isWhole(this.#members, this.requests);
  }

  /** The generation to create of a missing request. Undefined: the request exists, or is lost and not yet seen gone. */
  missingGeneration(index: number): number | undefined {
    const member = this.#members[index];
    return member === undefined || member.state === 'gone' ? this.nextGeneration(index) : undefined;
  }

  /** A generation that no request of the job has had. */
  nextGeneration(index: number): number {
    return (this.#generations[index] ?? 0) + 1;
  }

  /** The loss of the first request that is lost or gone. */
  get loss(): SliceLoss | undefined {
    const loss = lossOf(this.#members);
    // This rival became the job's own before the pool had answered it. The lease is still valid, so the slice is asked for once
    // more.
    const isBeside = loss?.cause === 'lease' && this.#members.some(({ loss: own, isBeside: is }) => is && own === loss);
    return isBeside
      ? { index: loss.index, cause: 'refused', scope: 'moment', message: loss.message, isByPool: true }
      : loss;
  }

  /** The first slice of each request that the provider refused and that is not seen gone. */
  get refused(): readonly number[] {
    return this.#members.flatMap(({ index, state, loss }) =>
      state === 'lost' && (loss?.cause === 'refused' || loss?.cause === 'lease') ? [index] : [],
    );
  }

  /** The loss of a slice that was not ready in its zone after this time. */
  late(seconds: number): SliceLoss {
    const { index = 0, detail = '' } = this.#members.find(({ state }) => state === 'starting') ?? {};
    return { index, cause: 'late', message: `${detail}, after ${durationText(seconds)}` };
  }

  /** @param rivalTry try of a rival; absent: the job's own */
  starting(index: number, generation: number, { ref, ownership }: MachinePlan, rivalTry?: number): void {
    this.#generations[index] = Math.max(generation, this.#generations[index] ?? 0);
    const beside = rivalTry === undefined ? {} : ({ isBeside: true } as const);
    const member: Member = { index, generation, ref, ownership, state: 'starting', hosts: [], ...beside };
    say(member, `asking ${ref.zone}`);
    this.#membersOf(rivalTry)[index] = member;
  }

  #membersOf(rivalTry?: number): Member[] {
    if (rivalTry === undefined) return this.#members;
    const known = this.#rivals.find(({ zoneTry, isLeaving }) => zoneTry === rivalTry && !isLeaving);
    const rival = known ?? { zoneTry: rivalTry, members: [], isLeaving: false, isShown: false };
    if (known === undefined) this.#rivals.push(rival);
    return rival.members;
  }

  /** Takes the news of the slice of that name. News of other generations is old. */
  hear(name: string, news: SliceNews): void {
    const member = this.#all.find(({ ref }) => ref.name === name);
    if (!member || member.state === 'gone') return;
    switch (news.kind) {
      case 'allowed':
        member.isAllowed = true;
        return;
      case 'progress':
        if (member.state === 'starting') say(member, news.detail);
        return;
      case 'ready': {
        if (member.state !== 'starting') return;
        if (machinesOfSlices(news).length !== (member.ref.slices ?? 1)) return this.hear(name, OLDER_WORKER);
        const { kind: _, ...machines } = news;
        Object.assign(member, { ...machines, state: 'ready' });
        say(member, 'ready');
        return;
      }
      case 'lost': {
        const { kind: _, ...reason } = news;
        Object.assign(member, { state: 'lost', loss: { index: member.index, ...reason } });
        say(member, news.message);
        return;
      }
      case 'gone':
        member.state = 'gone';
        say(member, 'gone');
        member.loss ??= { index: member.index, cause: 'failed', message: 'the slice was deleted' };
        this.#forgetGone();
        return;
    }
  }

  /** Takes the hosts' own report, if it differs from the provider's list. */
  renumber(slices: readonly { readonly index: number; readonly hosts: readonly SliceHost[] }[]): void {
    for (const { index, hosts } of slices) {
      const member = this.#memberOf(index);
      if (member?.state !== 'ready') continue;
      if (index === member.index) member.hosts = hosts;
      else if (member.others)
        member.others = member.others.map((other, at) =>
          at + 1 === index - member.index ? { ...other, hosts } : other,
        );
    }
  }

  /** Number of slices of the request for this slice, if they were requested together. */
  requestedWith(index: number): number | undefined {
    return this.#memberOf(index)?.ref.slices;
  }

  /** The name of the request for this slice. */
  nameOf(index: number): string {
    return this.#memberOf(index)?.ref.name ?? '';
  }

  #memberOf(index: number): Member | undefined {
    return this.#members.find(({ index: first, ref }) => index >= first && index < first + (ref.slices ?? 1));
  }

  /** State to carry over a continue-as-new. */
  carry(): SlicesCarry {
    const rivals = this.#rivals.map(({ zoneTry, members, isLeaving, isShown }): RivalCarry => {
      const slices = copied(members);
      return { zoneTry, slices, ...(isLeaving && { isLeaving }), ...(isShown && { isShown }) };
    });
    const isUsual = this.#members.every(({ generation }, index) => generation === this.#generations[index]);
    return {
      slices: copied(this.#members),
      ...(rivals.length === 0 ? {} : { rivals }),
      ...(isUsual ? {} : { generations: this.#generations }),
    };
  }
}

function say(member: Member, detail: string): void {
  if (member.detail === detail && member.since !== undefined) return;
  Object.assign(member, { detail, since: Date.now() });
}

const copied = (members: readonly SliceCarry[]): Member[] => members.map((slice) => ({ ...slice }));

const presentOf = (members: readonly Member[]): readonly MachineRef[] =>
  members.filter(({ state, landlord }) => state !== 'gone' && landlord === undefined).map(({ ref }) => ref);

const isWhole = (members: readonly Member[], requests: number): boolean =>
  members.length === requests && members.every(({ state }) => state === 'ready');

const lossOf = (members: readonly Member[]): SliceLoss | undefined =>
  members.find(({ state, loss }) => (state === 'lost' || state === 'gone') && loss)?.loss;

/** A slice repeats only its last news to a job that was reset, so later news than the pool's answer also shows that answer. */
const isAllowed = ({ state, isAllowed: is, loss }: Member): boolean =>
  is === true || state === 'ready' || (loss !== undefined && loss.cause !== 'lease');

function viewsOf(member: Member): readonly SliceView[] {
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

/** A worker that knows no atomic jobs reads a request for several slices as one for a single slice. */
const OLDER_WORKER = {
  kind: 'lost',
  cause: 'failed',
  message: 'a worker of an older jobctl asked for one slice alone; update all workers',
} as const satisfies SliceNews;

/** The slices of one request, by their index in the job. `hosts` is empty until they were ready. */
function slicesOf({
  index,
  ref,
  uid,
  hosts,
  others,
}: Member): readonly Pick<SliceView, 'index' | 'ref' | 'uid' | 'hosts'>[] {
  const machines = uid === undefined ? [] : machinesOfSlices({ uid, hosts, ...(others && { others }) });
  return slicesOfRequest(ref).map((slice, at) => ({ index: index + at, ref: slice, hosts: [], ...machines[at] }));
}
