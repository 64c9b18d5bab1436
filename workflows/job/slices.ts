import type { ReadySlice } from '../../contract/job-activities.js';
import type { Landlord, LentSlice } from '../../contract/lodging.js';
import type { SliceView } from '../../contract/job.js';
import type { SliceNews } from '../../contract/slice.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { type MachinePlan, type MachineRef, requestCount } from '../../domain/machines.js';
import { machinesOfSlices, type SliceHost } from '../../domain/slice.js';
import { durationText } from '../../domain/units.js';
import { type RivalCarry, Rivals } from './rivals.js';
import {
  copied,
  isWhole,
  lossOf,
  type Member,
  presentOf,
  say,
  type SliceCarry,
  type SliceLoss,
  slicesOf,
  viewsOf,
} from './slice-members.js';

export interface SlicesCarry {
  readonly slices: readonly SliceCarry[];
  /** Absent: none. */
  readonly rivals?: readonly RivalCarry[];
  /** The last generation that was asked for, by index, if it is not that of `slices`. Absent: it is. */
  readonly generations?: readonly number[];
  /** See `wasReady`. Absent: false. */
  readonly wasReady?: true;
}

/** The slices of a job as their workflows reported them. State only: `Gang` starts them and tells them to end. */
export class Slices {
  /** Number of requests that the job makes for its slices. */
  readonly requests: number;
  /** Requests beside the job's own. */
  readonly rivals: Rivals;
  #wasReady: boolean;
  #members: Member[];
  readonly #generations: number[];

  constructor(spec: Pick<JobSpec, 'slices' | 'atomic'>, carry: SlicesCarry = { slices: [] }) {
    this.requests = requestCount(spec);
    this.#members = copied(carry.slices);
    this.#wasReady = carry.wasReady ?? false;
    this.rivals = new Rivals(this.requests, carry.rivals);
    this.#generations = [...(carry.generations ?? carry.slices.map(({ generation }) => generation))];
  }

  get views(): readonly SliceView[] {
    return this.#members.flatMap(viewsOf);
  }

  /** Whether any slice that was made for the job has been ready. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  get #all(): readonly Member[] {
    return [...this.#members, ...this.rivals.members];
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

  /** Whether something has happened that changes how the slices are brought up. */
  get isNews(): boolean {
    const { unshown, ready, lost } = this.rivals;
    return this.isWhole || [this.loss, unshown, ready, lost].some((each) => each !== undefined);
  }

  /** Makes the rival's requests the job's own. @returns the former own requests that still exist, which have to be told to end */
  follow(zoneTry: number, formerTry: number): readonly MachineRef[] {
    const former = this.#members;
    this.#members = this.rivals.exchange(zoneTry, { zoneTry: formerTry, members: former });
    return presentOf(former);
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
    const members = rivalTry === undefined ? this.#members : this.rivals.membersOf(rivalTry);
    members[index] = member;
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
        this.#wasReady = true;
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
        this.rivals.forgetGone();
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
    const rivals = this.rivals.carry();
    const isUsual = this.#members.every(({ generation }, index) => generation === this.#generations[index]);
    return {
      slices: copied(this.#members),
      ...(rivals.length === 0 ? {} : { rivals }),
      ...(isUsual ? {} : { generations: this.#generations }),
      ...(this.#wasReady && { wasReady: true }),
    };
  }
}

/** A worker that knows no atomic jobs reads a request for several slices as one for a single slice. */
const OLDER_WORKER = {
  kind: 'lost',
  cause: 'failed',
  message: 'a worker of an older jobctl asked for one slice alone; update all workers',
} as const satisfies SliceNews;
