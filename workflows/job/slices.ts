import type { ReadySlice } from '../../contract/job-activities.js';
import type { SliceView } from '../../contract/job.js';
import type { SliceLossReason, SliceNews } from '../../contract/slice.js';
import type { MachinePlan, MachineRef } from '../../domain/machines.js';
import type { Ownership, SliceHost } from '../../domain/slice.js';
import { durationText } from '../markdown.js';

/** `late`: nothing happened to the slice; `timeouts.provision` is over. */
export type SliceLoss = { readonly index: number } & (
  SliceLossReason | { readonly cause: 'late'; readonly message: string }
);

/** One slice of a job, with what proves that it is the job's. */
export interface SliceCarry extends SliceView {
  readonly ownership: Ownership;
  readonly loss?: SliceLoss;
}

type Member = { -readonly [Key in keyof SliceCarry]: SliceCarry[Key] };

/** The slices of a job as their workflows reported them. State only: `Gang` starts them and tells them to go. */
export class Slices {
  readonly #wanted: number;
  readonly #members: Member[];

  /** @param wanted how many slices the job has */
  constructor(wanted: number, carry: readonly SliceCarry[] = []) {
    this.#wanted = wanted;
    this.#members = carry.map((slice) => ({ ...slice }));
  }

  get views(): readonly SliceView[] {
    return this.#members.map(({ loss: _, ownership: _ownership, ...view }) => view);
  }

  /** Slices that may still exist in the cloud. */
  get present(): readonly MachineRef[] {
    return this.#members.filter(({ state }) => state !== 'gone').map(({ ref }) => ref);
  }

  get ready(): readonly ReadySlice[] {
    return this.#members.flatMap(({ index, ref, state, ownership, uid, hosts }) =>
      state === 'ready' && uid !== undefined ? [{ index, ref, ownership, uid, hosts }] : [],
    );
  }

  /** All slices are ready. */
  get isWhole(): boolean {
    return this.#members.length === this.#wanted && this.#members.every(({ state }) => state === 'ready');
  }

  /** The generation to create of a slice that is not there. Undefined: it is there, or lost and not yet seen gone. */
  missingGeneration(index: number): number | undefined {
    const member = this.#members[index];
    return member === undefined || member.state === 'gone' ? (member?.generation ?? 0) + 1 : undefined;
  }

  /** The first slice that is lost or gone. */
  get loss(): SliceLoss | undefined {
    return this.#members.find(({ state, loss }) => (state === 'lost' || state === 'gone') && loss)?.loss;
  }

  /** Slices that the provider refused and that are not seen gone. */
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
        member.detail = news.detail;
        return;
      case 'ready':
        if (member.state !== 'starting') return;
        Object.assign(member, { state: 'ready', uid: news.uid, hosts: news.hosts, detail: 'ready' });
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
      const member = this.#members[index];
      if (member?.state === 'ready') member.hosts = hosts;
    }
  }

  nameOf(index: number): string {
    return this.#members[index]?.ref.name ?? '';
  }

  /** To be carried over a continue-as-new. */
  carry(): readonly SliceCarry[] {
    return this.#members.map((slice) => ({ ...slice }));
  }
}
