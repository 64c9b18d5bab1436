import { Context, log } from '@temporalio/activity';
import type { OwnedResource } from '../cloud/machines/port.js';
import { judgeResource, MOST_DELETIONS_PER_SWEEP, type ResourceVerdict } from '../domain/janitor.js';
import type { LeaseId } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import { quotaStart, wakeSignal } from '../contract/quota.js';
import type { SliceMemo } from '../contract/slice.js';
import { type JobRef, quotaWorkflowId, sliceWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import type { JanitorActivities, JanitorReport, FailingWorkflows } from '../contract/janitor.js';
import { failingWorkflowsObject } from '../domain/store-layout.js';
import { eachOf } from '../domain/semaphore.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { listOwnedEverywhere, type Log, type OwnedEverywhere } from './accounts.js';
import { startReclaim } from './quota.js';
import { describe, describeChain, isChainOpen, type WorkflowClient } from './workflow-lookup.js';

export function janitorActivities(dependencies: ActivityDependencies): JanitorActivities {
  return {
    sweep: async () => {
      const found = await listOwnedEverywhere(dependencies, 'passed over');
      const report = await sweep(Context.current().client, dependencies, found);
      // A janitor that does not see its own account counts as a silent one, once it has done the rest.
      if (found.ownFailure !== undefined) throw found.ownFailure;
      dependencies.meter.swept(report);
      return report;
    },
  };
}

/** Everything of this installation that a sweep may have to see to. */
interface Look {
  readonly resources: number;
  readonly judged: readonly Judged[];
  readonly failing: readonly string[];
  /** Pools with open jobs whose workflow is not open. */
  readonly sleepingPools: readonly string[];
  readonly unlisted: readonly string[];
}

/**
 * Finds what a sweep has to do, and changes only the record of workflows that stand still. The cloud is listed first and each
 * workflow is asked about later, so a resource that was created in between is not seen, and not judged.
 */
async function lookAround(
  temporal: WorkflowClient,
  dependencies: ActivityDependencies,
  { owned, unlisted }: OwnedEverywhere,
  log: Log,
): Promise<Look> {
  const { installation } = dependencies;
  const slices = [...owned.map(ofResource), ...(await openSlices(temporal, installation))];
  const judged: Judged[] = [];
  // The cloud's entry comes first: a reclaim has to find its labels again.
  for (const slice of new Map(slices.toReversed().map((each) => [each.ref.name, each])).values())
    judged.push(await judge(temporal, slice, installation));
  return {
    resources: new Set(owned.map(({ ref }) => ref.name)).size,
    judged,
    failing: await findFailingWorkflows(temporal, dependencies, log),
    sleepingPools: await findSleepingPools(temporal, installation),
    unlisted,
  };
}

const named = ({ judged }: Pick<Look, 'judged'>, ...verdicts: readonly ResourceVerdict[]): readonly Judged[] =>
  judged.filter(({ verdict }) => verdicts.includes(verdict));

/**
 * Looks around as a sweep does, outside of an activity (docs/adr/0152).
 * @returns whether a sweep has something to do or to report
 */
export async function isSweepNeeded(
  temporal: WorkflowClient,
  dependencies: ActivityDependencies,
  log: Log,
): Promise<boolean> {
  const found = await listOwnedEverywhere(dependencies, 'passed over', log);
  if (found.ownFailure !== undefined) return true;
  const look = await lookAround(temporal, dependencies, found, log);
  const isOdd = look.judged.some(({ verdict }) => verdict !== 'keep');
  return isOdd || [look.failing, look.sleepingPools, look.unlisted].some((each) => each.length > 0);
}

async function sweep(
  temporal: WorkflowClient,
  dependencies: ActivityDependencies,
  found: OwnedEverywhere,
): Promise<JanitorReport> {
  const { installation } = dependencies;
  const { resources, unlisted, failing, sleepingPools, ...look } = await lookAround(temporal, dependencies, found, log);
  const stuck = named(look, 'replace', 'report-slow').map(({ slice, why }) => `${slice.ref.name}: ${why}`);
  for (const text of stuck) log.warn(`a slice outlived its job: ${text}`);
  for (const pool of sleepingPools) await startPool(temporal, installation, pool);
  const unknown = named(look, 'report').map(({ slice }) => slice.ref.name);
  const report = { resources, unknown, stuck, failing, wokenPools: sleepingPools, unlisted };
  const orphans = named(look, 'reclaim', 'replace');
  if (orphans.length > MOST_DELETIONS_PER_SWEEP) {
    const stopped = `${orphans.length} resources look orphaned, more than ${MOST_DELETIONS_PER_SWEEP}: nothing was deleted; look with 'jobctl audit leaks'`;
    return { ...report, reclaimed: [], stopped };
  }
  for (const orphan of orphans) await reclaim(temporal, installation, orphan);
  return { ...report, reclaimed: orphans.map(({ slice }) => slice.ref.name) };
}

/** A slice as the cloud or its open workflow names it. */
interface FoundSlice {
  readonly ref: MachineRef;
  readonly job: JobRef;
  readonly isInCloud: boolean;
}

interface Judged {
  readonly slice: FoundSlice;
  readonly verdict: ResourceVerdict;
  /** Run of the slice's workflow. */
  readonly runId?: string;
  readonly memo?: SliceMemo;
  /** The reason, as a sentence for people. */
  readonly why: string;
}

const ofResource = ({ ref, ownership }: OwnedResource<MachineRef>): FoundSlice => ({
  ref,
  job: { id: ownership.job, run: ownership.run },
  isInCloud: true,
});

/** Open slices of this installation: a slice without a resource, not yet or no longer, may be wedged too and holds its lease. */
async function openSlices(temporal: WorkflowClient, { taskQueue }: Installation): Promise<FoundSlice[]> {
  const found: FoundSlice[] = [];
  const query = `WorkflowType = '${WorkflowType.Slice}' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue}'`;
  for await (const { memo } of temporal.workflow.list({ query, pageSize: 1000 })) {
    const { lease, ref } = (memo ?? {}) as Partial<SliceMemo>;
    if (lease && ref) found.push({ ref, job: { id: lease.job, run: lease.run }, isInCloud: false });
  }
  return found;
}

async function judge(temporal: WorkflowClient, slice: FoundSlice, { timings }: Installation): Promise<Judged> {
  const execution = await describe(temporal, sliceWorkflowId(slice.ref.name));
  const status = execution === undefined ? 'unknown' : execution.status.name === 'RUNNING' ? 'open' : 'closed';
  const chain = await describeChain(temporal, slice.job);
  const jobClosedForMs = chain.closedAt === undefined ? undefined : Date.now() - chain.closedAt;
  const taskAttempts = execution?.raw.pendingWorkflowTask?.attempt ?? 0;
  const facts = { isInCloud: slice.isInCloud, slice: status, isJobOpen: chain.isOpen, taskAttempts } as const;
  const patience = { wedgedMs: timings.wedgedSliceMs, slowMs: timings.wedgedSliceMs + timings.createSettleMs };
  const memo = execution?.memo as SliceMemo | undefined;
  const closed = jobClosedForMs === undefined ? '' : ` ${Math.round(jobClosedForMs / 60_000)} min ago`;
  return {
    slice,
    verdict: judgeResource({ ...facts, ...(jobClosedForMs === undefined ? {} : { jobClosedForMs }) }, patience),
    ...(execution ? { runId: execution.runId } : {}),
    ...(memo?.lease ? { memo } : {}),
    why: `its job ${slice.job.id} closed${closed}; attempt ${taskAttempts} of its workflow task`,
  };
}

/** A wedged workflow hears no signal, so it is ended first. If this worker dies in between, the next sweep finds it closed. */
async function reclaim(temporal: WorkflowClient, installation: Installation, judged: Judged): Promise<void> {
  const { slice, verdict, runId, memo, why } = judged;
  if (verdict === 'replace') {
    // Checked again: an operator may have reset the job since.
    if (await isChainOpen(temporal, slice.job)) return;
    await temporal.workflow.getHandle(sliceWorkflowId(slice.ref.name), runId).terminate(`janitor: ${why}`);
  }
  await startReclaim(temporal, installation, memo?.lease ?? leaseOf(slice), slice.ref);
}

/** For a resource whose slice workflow's memo is gone: its lease, if any is left, counts in the pool `default`. */
function leaseOf({ job }: FoundSlice): LeaseId {
  return { pool: 'default', job: job.id, run: job.run, number: 1 };
}

/** A pool whose quota workflow is gone gets a new one with the next message. If its jobs only wait, no message comes. */
async function findSleepingPools(temporal: WorkflowClient, { taskQueue }: Installation): Promise<string[]> {
  const pools = new Set<string>();
  // Another installation in this namespace has its own janitor. Its pools must not come back on this queue.
  const query = `WorkflowType = '${WorkflowType.Job}' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue}'`;
  for await (const { searchAttributes } of temporal.workflow.list({ query, pageSize: 1000 })) {
    const pool = searchAttributes['JobPool']?.[0];
    if (typeof pool === 'string') pools.add(pool);
  }
  const sleeping = [];
  for (const pool of pools)
    if ((await describe(temporal, quotaWorkflowId(pool)))?.status.name !== 'RUNNING') sleeping.push(pool);
  return sleeping;
}

async function startPool(temporal: WorkflowClient, { taskQueue }: Installation, pool: string): Promise<void> {
  await temporal.workflow.signalWithStart(WorkflowType.Quota, { ...quotaStart(pool, taskQueue), signal: wakeSignal });
}

/**
 * Attempt of a workflow task from which it counts as failing. One attempt fails if a worker is killed in the middle; a second
 * failure is no such accident.
 */
const FAILING_FROM_ATTEMPT = 3;
/** Calls at one time: 10,000 open workflows take seconds, and no server limits calls this low. */
const LOOKUPS_AT_A_TIME = 8;
/** Limit of workflows in the list that people read, and that `list` asks about. */
const MOST_NAMED = 100;

/**
 * Finds the open workflows of this installation that stand still. A server before 1.30 does not list them, so each is described.
 * The result is kept in the store, where `jobctl list` looks which jobs to ask about.
 * @returns `ID: attempt N of its workflow task`
 */
async function findFailingWorkflows(
  temporal: WorkflowClient,
  { installation, store }: Pick<ActivityDependencies, 'installation' | 'store'>,
  log: Log,
): Promise<readonly string[]> {
  const open: string[] = [];
  const query = `ExecutionStatus = 'Running' AND TaskQueue = '${installation.taskQueue}'`;
  for await (const { workflowId } of temporal.workflow.list({ query, pageSize: 1000 })) open.push(workflowId);
  const attempts = new Map<string, number>();
  await eachOf(open, LOOKUPS_AT_A_TIME, async (id) => {
    const attempt = (await describe(temporal, id))?.raw.pendingWorkflowTask?.attempt ?? 0;
    if (attempt >= FAILING_FROM_ATTEMPT) attempts.set(id, Number(attempt));
  });
  const found = [...attempts].toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST_NAMED);
  const content: FailingWorkflows = { v: 1, at: Date.now(), ids: found.map(([id]) => id) };
  // A sweep matters more than its record.
  await store
    .replace(failingWorkflowsObject, JSON.stringify(content))
    .catch((error: unknown) => void log.warn('could not store which workflows stand still', { error }));
  for (const [id, attempt] of found) log.warn(`workflow ${id} stands still: attempt ${attempt} of its workflow task`);
  return found.map(([id, attempt]) => `${id}: attempt ${attempt} of its workflow task`);
}
