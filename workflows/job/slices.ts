import type { ReadySlice } from '../../contract/job-activities.js';
import type { SliceView } from '../../contract/job.js';
import type { SliceLossReason, SliceNews } from '../../contract/slice.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { type MachinePlan, type MachineRef, requestCount, slicesOfRequest } from '../../domain/machines.js';
import {
  machinesOfSlices,
  type Ownership,
  type SliceHost,
  type SliceMachines,
  type SlicesMachines,
} from '../../domain/slice.js';
import { durationText } from '../markdown.js';

/** `late`: nothing happened to the slice; `timeouts.provision` is over. */
export type SliceLoss = { readonly index: number } & (
  SliceLossReason | { readonly cause: 'late'; readonly message: string }
);

/**
 * One request of a job, with what proves that it is the job's. `index` is that of its first slice, and so are `uid` and `hosts`:
 * a job asks for each slice alone, or for all of them at once (docs/adr/0054).
 */
export interface SliceCarry extends SliceView {
  readonly ownership: Ownership;
  readonly loss?: SliceLoss;
  /** Of the request's other slices, in their order. */
  readonly others?: readonly SliceMachines[];
}

type Member = { -readonly [Key in keyof SliceCarry]: SliceCarry[Key] };

/** The slices of a job as their workflows reported them. State only: `Gang` starts them and tells them to go. */
export class Slices {
  /** How many requests the job makes for its slices. */
  readonly requests: number;
  readonly #members: Member[];

  constructor(spec: Pick<JobSpec, 'slices' | 'atomic'>, carry: readonly SliceCarry[] = []) {
    this.requests = requestCount(spec);
    this.#members = carry.map((slice) => ({ ...slice }));
  }

  get views(): readonly SliceView[] {
    return this.#members.flatMap((member) => {
      const { loss: _, ownership: _ownership, others: _others, uid: _uid, ...view } = member;
      return slicesOf(member).map((slice) => ({ ...view, ...slice }));
    });
  }

  /** Requests that may still exist in the cloud. */
  get present(): readonly MachineRef[] {
    return this.#members.filter(({ state }) => state !== 'gone').map(({ ref }) => ref);
  }

  /** Those among them that are for any of these slices. */
  presentFor(indexes: readonly number[]): readonly MachineRef[] {
    const names = new Set(indexes.map((index) => this.nameOf(index)));
    return this.present.filter(({ name }) => names.has(name));
  }

  get ready(): readonly ReadySlice[] {
    return this.#members.flatMap((member) => {
      const { state, ownership } = member;
      return slicesOf(member).flatMap(({ index, ref, uid, hosts }) =>
        state === 'ready' && uid !== undefined ? [{ index, ref, ownership, uid, hosts }] : [],
      );
    });
  }

  /** All slices are ready. */
  get isWhole(): boolean {
    return this.#members.length === this.requests && this.#members.every(({ state }) => state === 'ready');
  }

  /** The generation to create of a request that is not there. Undefined: it is there, or lost and not yet seen gone. */
  missingGeneration(index: number): number | undefined {
    const member = this.#members[index];
    return member === undefined || member.state === 'gone' ? (member?.generation ?? 0) + 1 : undefined;
  }

  /** Of the first request that is lost or gone. */
  get loss(): SliceLoss | undefined {
    return this.#members.find(({ state, loss }) => (state === 'lost' || state === 'gone') && loss)?.loss;
  }

  /** First slices of what the provider refused and that is not seen gone. */
  get refused(): readonly number[] {
    return this.#members.flatMap(({ index, state, loss }) =>
      state === 'lost' && loss?.cause === 'refused' ? [index] : [],
    );
  }

  /** What a job says that gave a slice `seconds` (`timeouts.provision`) to be ready. */
  late(seconds: number): SliceLoss {
    const { index = 0, detail = '' } = this.#members.find(({ state }) => state === 'starting') ?? {};
    return { index, cause: 'late', message: `${detail}, after ${durationText(seconds)} (timeouts.provision)` };
  }

  starting(index: number, generation: number, { ref, ownership }: MachinePlan): void {
    const detail = `asking ${ref.zone}`;
    this.#members[index] = { index, generation, ref, ownership, state: 'starting', hosts: [], detail };
  }

  /** Takes the news of the slice of that name. News of other generations is old. */
  hear(name: string, news: SliceNews): void {
    const member = this.#members.find(({ ref }) => ref.name === name);
    if (!member || member.state === 'gone') return;
    switch (news.kind) {
      case 'progress':
        if (member.state === 'starting') member.detail = news.detail;
        return;
      case 'ready':
        if (member.state !== 'starting') return;
        if (machinesOfSlices(news).length !== (member.ref.slices ?? 1)) return this.hear(name, OLDER_WORKER);
        Object.assign(member, { ...machinesIn(news), state: 'ready', detail: 'ready' });
        return;
      case 'lost': {
        const { kind: _, ...reason } = news;
        Object.assign(member, { state: 'lost', detail: news.message, loss: { index: member.index, ...reason } });
        return;
      }
      case 'gone':
        member.state = 'gone';
        member.detail = 'gone';
        member.loss ??= { index: member.index, cause: 'failed', message: 'the slice was deleted' };
        return;
    }
  }

  /** By the hosts' own word, where it is not what the provider's list said. */
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

  /** `slice 2`, or what stands for all slices of one request. */
  textOf(index: number): string {
    const { ref: { slices } = {} } = this.#memberOf(index) ?? {};
    return slices === undefined ? `slice ${index}` : `the request for ${slices} slices`;
  }

  /** The name of the request for this slice. */
  nameOf(index: number): string {
    return this.#memberOf(index)?.ref.name ?? '';
  }

  #memberOf(index: number): Member | undefined {
    return this.#members.find(({ index: first, ref }) => index >= first && index < first + (ref.slices ?? 1));
  }

  /** To be carried over a continue-as-new. */
  carry(): readonly SliceCarry[] {
    return this.#members.map((slice) => ({ ...slice }));
  }
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

const machinesIn = ({ uid, hosts, others }: SlicesMachines): SlicesMachines => ({
  uid,
  hosts,
  ...(others && { others }),
});
