import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import type { LostSlice, ReadySlice } from '../../activities/contract.js';
import { sliceName } from '../../domain/identity.js';
import type { JobSearchAttribute } from '../../domain/search-attributes.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { SliceRef } from '../../domain/slice.js';
import { slicePlan } from '../../domain/slice-plan.js';
import { inShort } from '../activity-options.js';
import {
  attachSignal,
  releaseSliceSignal,
  sliceNewsSignal,
  sliceWorkflowId,
  type JobSettings,
  type SliceMemo,
  type SliceNews,
  type SliceView,
} from '../messages.js';
import type { slice } from '../slice.js';
import { hoursText } from './keeping.js';
import type { LeaseHold } from './lease-hold.js';
import { chainRunId } from './story.js';

export interface GangLoss {
  readonly index: number;
  /** `late`: nothing happened to it; `timeouts.provision` is over. */
  readonly cause: Extract<SliceNews, { kind: 'lost' }>['cause'] | 'late';
  readonly message: string;
}

/**
 * The slices of a job, all in one zone. Starts a slice workflow per slice and generation, hears their news, tells them to
 * go. It deletes nothing itself, and believes a slice gone only when its workflow says so.
 */
export class Gang {
  readonly #spec: JobSpec;
  readonly #settings: JobSettings;
  readonly #lease: () => LeaseHold;
  readonly #onChange: () => void;
  readonly #slices: Member[];
  /** Position in the zones; counts on past their end, round by round. */
  #zoneTry = 0;

  constructor(context: GangContext, carry?: { readonly slices: readonly SliceView[]; readonly zoneTry: number }) {
    this.#spec = context.spec;
    this.#settings = context.settings;
    this.#lease = context.lease;
    this.#onChange = context.onChange;
    this.#slices = (carry?.slices ?? []).map((view) => ({ ...view }));
    this.#zoneTry = carry?.zoneTry ?? 0;
    setHandler(sliceNewsSignal, ({ name, run, news }) => {
      if (run !== chainRunId()) return;
      this.#onNews(name, news);
      this.#onChange();
    });
  }

  get views(): readonly SliceView[] {
    return this.#slices.map(({ loss: _, ...view }) => view);
  }

  get zoneTry(): number {
    return this.#zoneTry;
  }

  /** May still exist in the cloud. */
  get present(): readonly SliceRef[] {
    return this.#slices.filter(({ state }) => state !== 'gone').map(({ ref }) => ref);
  }

  get ready(): readonly ReadySlice[] {
    return this.#slices.flatMap(({ index, generation, ref, state, nodeId, hosts }) =>
      state === 'ready' && nodeId !== undefined
        ? [{ index, ref, ownership: this.#plan(index, generation, ref.zone).ownership, nodeId, hosts }]
        : [],
    );
  }

  get zone(): string {
    const { zones } = this.#spec.tpu;
    return zones[this.#zoneTry % zones.length] as string;
  }

  /** All slices are ready. */
  get isWhole(): boolean {
    return this.#slices.length === this.#spec.slices && this.#slices.every(({ state }) => state === 'ready');
  }

  /**
   * Starts what is missing; resolves when all slices are ready, with the first loss, or when it is no longer wanted.
   * @param seconds `timeouts.provision`; without it there is no timer
   */
  async bringUp(isUnwanted: () => boolean, seconds: number | undefined): Promise<GangLoss | undefined> {
    for (let index = 0; index < this.#spec.slices && !isUnwanted(); index++) {
      const member = this.#slices[index];
      if (!member || member.state === 'gone') await this.#start(index, (member?.generation ?? 0) + 1);
    }
    const isDecided = (): boolean => this.#loss() !== undefined || this.isWhole || isUnwanted();
    if (seconds === undefined) await condition(isDecided);
    else if (!(await condition(isDecided, seconds * 1000, { summary: 'timeouts.provision' })))
      return this.#late(seconds);
    return this.#loss();
  }

  /** Tells these slices (all where none are named) to go, and waits until they are seen gone. */
  async evict(reason: string, indexes?: readonly number[]): Promise<void> {
    const leaving = this.#slices.filter(
      ({ index, state }) => state !== 'gone' && (indexes === undefined || indexes.includes(index)),
    );
    await Promise.all(leaving.map((member) => this.#tellToGo(member, reason)));
    await condition(() => leaving.every(({ state }) => state === 'gone'));
  }

  /** Tells all slices to go and does not wait: their workflows and the lease see to the rest. */
  async dismiss(reason: string): Promise<void> {
    await Promise.all(
      this.#slices.filter(({ state }) => state !== 'gone').map((member) => this.#tellToGo(member, reason)),
    );
  }

  /** The next slices are asked for in the next zone. */
  leaveZone(): void {
    this.#zoneTry += 1;
  }

  /** To the next zone, waiting before a new round through all of them, unless that is no longer wanted. */
  async nextZone(isUnwanted: () => boolean): Promise<void> {
    this.leaveZone();
    const count = this.#spec.tpu.zones.length;
    const round = Math.floor(this.#zoneTry / count);
    if (this.#zoneTry % count !== 0) return;
    const { zoneBackoffMs, zoneBackoffMaxMs } = this.#settings.timings;
    await condition(isUnwanted, Math.min(zoneBackoffMs * 2 ** (round - 1), zoneBackoffMaxMs), {
      summary: 'no capacity in any zone: waiting',
    });
  }

  markLost(lost: readonly LostSlice[]): void {
    for (const { index, cause, message } of lost)
      this.#onNews(this.#slices[index]?.ref.name ?? '', { kind: 'lost', cause, message });
    this.#onChange();
  }

  // ----------------------------------------------------------------------------------------------------------------

  async #start(index: number, generation: number): Promise<void> {
    const plan = this.#plan(index, generation, this.zone);
    const { ref } = plan;
    this.#slices[index] = { index, generation, ref, state: 'starting', hosts: [], detail: `asking ${ref.zone}` };
    this.#onChange();
    const { id: lease, demand, tier } = this.#lease();
    const memo: SliceMemo = { lease, demand, ref, ...(tier === undefined ? {} : { tier }) };
    const label = this.#settings.label === undefined ? '' : `${this.#settings.label}: `;
    // Outside the reach of the user's cancel: the one cancel request of the slice's life must be the server's, when the
    // job closes (facts/temporal.md, end).
    await CancellationScope.nonCancellable(async () => {
      try {
        await startChild<typeof slice>('slice', {
          workflowId: sliceWorkflowId(ref.name),
          args: [{ v: 1, task: { kind: 'create', plan }, lease, timings: this.#settings.timings }],
          parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
          memo: { ...memo },
          typedSearchAttributes: [{ key: POOL, value: lease.pool }],
          staticSummary: inShort(
            `${label}${plan.accelerator} in ${ref.zone} for ${lease.job}, generation ${generation}`,
          ),
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        // The job was reset: the slice of its former life goes on serving it.
        await getExternalWorkflowHandle(sliceWorkflowId(ref.name)).signal(attachSignal);
      }
    });
  }

  #plan(index: number, generation: number, zone: string) {
    const job = workflowInfo().workflowId;
    const name = sliceName({
      ...(this.#spec.tpu.name === undefined ? {} : { prefix: this.#spec.tpu.name }),
      job,
      ...(this.#spec.slices > 1 ? { slice: index } : {}),
      generation,
    });
    const place = { ...this.#settings, zone, name, job, run: chainRunId(), generation };
    return slicePlan(this.#spec, { ...place, bought: this.#lease().bought });
  }

  #onNews(name: string, news: SliceNews): void {
    const member = this.#slices.find(({ ref }) => ref.name === name);
    if (!member || member.state === 'gone') return;
    switch (news.kind) {
      case 'progress':
        Object.assign(member, { detail: news.detail });
        return;
      case 'ready':
        if (member.state === 'starting')
          Object.assign(member, { state: 'ready', nodeId: news.nodeId, hosts: news.hosts, detail: 'ready' });
        return;
      case 'lost':
        Object.assign(member, {
          state: 'lost',
          detail: news.message,
          loss: { index: member.index, cause: news.cause, message: news.message },
        });
        return;
      case 'gone':
        Object.assign(member, {
          state: 'gone',
          detail: 'gone',
          loss: member.loss ?? { index: member.index, cause: 'failed', message: 'the slice was deleted' },
        });
        return;
    }
  }

  #loss(): GangLoss | undefined {
    return this.#slices.find(({ state, loss }) => (state === 'lost' || state === 'gone') && loss)?.loss;
  }

  #late(seconds: number): GangLoss {
    const { index = 0, detail = '' } = this.#slices.find(({ state }) => state === 'starting') ?? {};
    return { index, cause: 'late', message: `${detail}, after ${hoursText(seconds)} (timeouts.provision)` };
  }

  async #tellToGo({ ref }: Member, reason: string): Promise<void> {
    try {
      await getExternalWorkflowHandle(sliceWorkflowId(ref.name)).signal(releaseSliceSignal, { reason });
    } catch {
      // Its workflow is closed: either its 'gone' is on the way, or it was terminated and the quota workflow's reconciler
      // starts another that deletes what is left and reports to us.
    }
  }
}

export interface GangContext {
  readonly spec: JobSpec;
  readonly settings: JobSettings;
  readonly lease: () => LeaseHold;
  /** Called when a slice has changed. */
  readonly onChange: () => void;
}

const POOL = defineSearchAttributeKey('JobPool' satisfies JobSearchAttribute, SearchAttributeType.KEYWORD);

interface Member extends SliceView {
  state: SliceView['state'];
  loss?: GangLoss;
}
