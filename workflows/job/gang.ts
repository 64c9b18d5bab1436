import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdReusePolicy,
} from '@temporalio/common';
import { sliceNewsForm } from '../../contract/job-forms.js';
import { type JobSettings, sliceNewsSignal } from '../../contract/job.js';
import { attachSignal, releaseSliceSignal, type SliceMemo } from '../../contract/slice.js';
import { sliceWorkflowId } from '../../contract/workflow-ids.js';
import { sliceName } from '../../domain/identity.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { LostSlice } from '../../domain/recovery/facts.js';
import type { JobSearchAttribute } from '../../domain/temporal-server.js';
import {
  askedMachines,
  formatSlices,
  kindOfJob,
  machineKind,
  type MachinePlan,
  type MachineRef,
} from '../../domain/machines.js';
import type { EpochMs } from '../../domain/units.js';
import { inShort } from '../activity-options.js';
import type { Inbox } from '../inbox.js';
import type { slice } from '../slice.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { Slices } from './slices.js';
import { chainRunId, type JobStory } from './story.js';
import { Zones, type ZonesCarry } from './zones.js';

export interface GangParts {
  /** Read anew for each slice, so that the next slices use an image that was built, or a changed file. */
  readonly file: JobFile;
  readonly settings: JobSettings;
  readonly slices: Slices;
  readonly lease: LeaseHold;
  readonly story: JobStory;
}

/**
 * The gang of a job: its slices, all in one zone and, while they are waited for, the same in other zones (`ZoneRace`). It starts
 * a slice workflow per request and generation (a request is for one slice, or for all slices of an atomic job, docs/adr/0054) and
 * tells slices to end. It deletes nothing itself, and counts a slice as gone only when the slice's workflow says so.
 */
export class Gang {
  readonly #parts: GangParts;
  /** Zones in which it is asked for. */
  readonly zones: Zones;

  constructor(parts: GangParts, zoneTry = 0, zones?: ZonesCarry) {
    this.#parts = parts;
    this.zones = new Zones(parts.file, zoneTry, zones);
    parts.lease.onOrder = (order) => this.zones.advise(order);
  }

  listen(inbox: Inbox): void {
    inbox.on(sliceNewsSignal, sliceNewsForm, ({ name, run, news }) => {
      if (run !== chainRunId()) return;
      this.#parts.slices.hear(name, news);
      this.changed();
    });
  }

  get zone(): string {
    return this.zones.zone;
  }

  /** Starts the slices that are missing, one after the other, until they are no longer wanted. */
  async startMissing(isUnwanted: () => boolean): Promise<void> {
    const { slices } = this.#parts;
    for (let index = 0; index < slices.requests && !isUnwanted(); index++) {
      const generation = slices.missingGeneration(index);
      if (generation !== undefined) await this.#start(index, generation);
    }
  }

  /** Asks for the whole gang in another zone, beside the first. */
  async startRival(zoneTry: number): Promise<void> {
    const { slices } = this.#parts;
    for (let index = 0; index < slices.requests; index++)
      await this.#start(index, slices.nextGeneration(index), zoneTry);
  }

  /**
   * Tells slices of the job to end, and waits. Without `indexes`, these are all slices in every zone, and they must be seen gone.
   * With `indexes`, these are the named slices and those that were asked for together with them; the wait also ends if another
   * zone has all slices.
   * @param until end of the wait; it may change meanwhile
   */
  async evict(reason: string, indexes?: readonly number[], until?: () => EpochMs | undefined): Promise<void> {
    const { slices } = this.#parts;
    if (slices.landlord !== undefined) {
      // A lodger deletes nothing. It leaves all of them, and asks its pool next.
      slices.leave();
      return this.changed();
    }
    const leaving = indexes === undefined ? slices.present : slices.presentFor(indexes);
    if (indexes === undefined) for (const rival of slices.rivals.tries) slices.rivals.drop(rival);
    await this.tellToGo(leaving, reason);
    const isGone = (): boolean => !slices.present.some(({ name }) => leaving.some((ref) => ref.name === name));
    const isOver = (): boolean => isGone() || slices.rivals.ready !== undefined;
    while (!isOver()) {
      const end = until?.();
      const isNews = (): boolean => isOver() || until?.() !== end;
      if (end === undefined) await condition(isNews);
      else if (!(await condition(isNews, Math.max(1, end - Date.now()), { summary: 'timeouts.queue' }))) return;
    }
  }

  /** Tells all slices to end and does not wait: their workflows and the lease see to the rest. */
  async dismiss(reason: string): Promise<void> {
    await this.tellToGo(this.#parts.slices.present, reason);
  }

  async tellToGo(refs: readonly MachineRef[], reason: string): Promise<void> {
    this.#parts.slices.toldToEnd(refs);
    this.#parts.story.changed();
    await Promise.all(refs.map((ref) => tellToGo(ref, reason)));
  }

  /** Marks slices as lost, because a worker has seen their loss. */
  markLost(lost: readonly LostSlice[]): void {
    const { slices } = this.#parts;
    for (const { index, cause, message } of lost) slices.hear(slices.nameOf(index), { kind: 'lost', cause, message });
    this.changed();
  }

  // ----------------------------------------------------------------------------------------------------------------

  /** Tells the pool and the job's story of a change of its slices. */
  changed(): void {
    const { slices, lease, story } = this.#parts;
    lease.chips(slices.isWhole ? this.zone : undefined, slices.loss?.cause === 'preempted');
    story.changed();
  }

  /** Starts a generation that never existed. After a reset the job counts from an earlier generation than its slices have. */
  async #start(index: number, generation: number, rivalTry?: number): Promise<void> {
    for (let next = generation; ; next++) if (await this.#startGeneration(index, next, rivalTry)) return;
  }

  /** False: that generation existed, and its workflow has ended. A closed workflow's id is not used again (docs/adr/0044). */
  async #startGeneration(index: number, generation: number, rivalTry?: number): Promise<boolean> {
    const { settings, slices, lease } = this.#parts;
    const { spec } = this.#parts.file;
    const plan = this.#plan(index, generation, rivalTry ?? this.zones.current);
    const { ref } = plan;
    slices.starting(index, generation, plan, rivalTry);
    this.changed();
    const { id, demand, tier } = lease;
    const memo: SliceMemo = { lease: id, demand, ref, ...(tier === undefined ? {} : { tier }) };
    const beside = rivalTry === undefined ? {} : ({ isBeside: true } as const);
    const label = settings.label === undefined ? '' : `${settings.label}: `;
    // Outside the reach of the user's cancel: the one cancel request of the slice's life must be the server's, when the
    // job closes (docs/facts.md, "Temporal").
    return CancellationScope.nonCancellable(async () => {
      try {
        const started = await startChild<typeof slice>('slice', {
          workflowId: sliceWorkflowId(ref.name),
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          args: [{ v: 1, task: { kind: 'create', plan }, lease: id, ...beside, timings: settings.timings }],
          parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
          memo: { ...memo },
          typedSearchAttributes: [{ key: POOL, value: id.pool }],
          staticSummary: inShort(`${label}${requested(spec)} in ${ref.zone} for ${id.job}, generation ${generation}`),
        });
        // If the slice's workflow is terminated before the pool hears of the slice, no book has it, and no reconciler looks for
        // its remains. So the job then tells the pool its slices again.
        started.result().catch(() => lease.sayAgain());
        return true;
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        // The job was reset: an open slice from before the reset goes on serving it.
        return attached(ref);
      }
    });
  }

  #plan(index: number, generation: number, zoneTry: number): MachinePlan {
    const { settings, lease, slices } = this.#parts;
    const { spec } = this.#parts.file;
    const job = workflowInfo().workflowId;
    const { name: prefix } = askedMachines(spec);
    const name = sliceName({
      ...(prefix === undefined ? {} : { prefix }),
      job,
      ...(spec.atomic ? { slices: spec.slices } : spec.slices > 1 ? { slice: index } : {}),
      generation,
    });
    const place = { ...settings, zone: this.zones.of(zoneTry), name, job, run: chainRunId(), generation };
    const adopting = slices.wasReady ? {} : ({ mayAdopt: true } as const);
    return machineKind(kindOfJob(spec)).plan(spec, { ...place, ...adopting, bought: lease.bought });
  }
}

/** The machines of one request, in words. */
const requested = (spec: JobSpec): string => (spec.atomic ? formatSlices(spec) : askedMachines(spec).accelerator);

/** Tells the slice's workflow that this job attached to it. False: that workflow is closed. */
async function attached({ name }: MachineRef): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(sliceWorkflowId(name)).signal(attachSignal);
    return true;
  } catch {
    return false;
  }
}

async function tellToGo({ name }: MachineRef, reason: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(sliceWorkflowId(name)).signal(releaseSliceSignal, { reason });
  } catch {
    // Its workflow is closed: either its 'gone' is on the way, or it was terminated and the quota workflow's reconciler
    // starts another that deletes what is left and reports to us.
  }
}

const POOL = defineSearchAttributeKey('JobPool' satisfies JobSearchAttribute, SearchAttributeType.KEYWORD);
