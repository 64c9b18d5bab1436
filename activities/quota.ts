import { Context, heartbeat, log } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { JobPhase } from '../domain/job-state.js';
import type { LeaseId } from '../domain/lease.js';
import type { SliceRef } from '../domain/slice.js';
import {
  grantedSignal,
  type JobMemo,
  leaseAnswerSignal,
  releaseSliceSignal,
  restateSignal,
  type SliceInput,
  type SliceMemo,
  sliceWorkflowId,
  WorkflowType,
} from '../workflows/messages.js';
import type {
  Deliveries,
  DeliveryReport,
  HolderAnswer,
  HolderQuestion,
  OpenSlice,
  OpenWork,
  QuotaActivities,
} from './contract.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { listOwnedEverywhere } from './google-projects.js';
import { LeaseOutbox } from './lease-outbox.js';
import { describe, eachOf, isChainOpen, isWorkflowOpen, type WorkflowClient } from './workflow-lookup.js';

const client = (): WorkflowClient => Context.current().client;

export function quotaActivities(dependencies: ActivityDependencies): QuotaActivities {
  const { installation, quota } = dependencies;
  const outbox = new LeaseOutbox(installation.taskQueue);
  return {
    sendLease: (message) => outbox.send(client(), message),
    deliver: (batch) => deliver(client(), installation, batch),
    loadPool: async (pool) => ({ ...(await quota.load(pool)), timings: installation.timings }),
    readOpenWork: (pool) => readOpenWork(client(), dependencies, pool),
    inspectHolders: (questions) => inspectHolders(client(), questions),
  };
}

// Carrying decisions out -------------------------------------------------------------------------------------------

/** Signals at one time. The server's own limit per namespace is far above it. */
const WIDTH = 20;

async function deliver(
  temporal: WorkflowClient,
  installation: Installation,
  batch: Deliveries,
): Promise<DeliveryReport> {
  const closedJobs: LeaseId[] = [];
  const { epoch } = batch;
  await eachOf(batch.grants, WIDTH, async (lease) => {
    const wasHeard = await signalIfOpen(() =>
      temporal.workflow.getHandle(lease.job).signal(grantedSignal, { run: lease.run, number: lease.number, epoch }),
    );
    // A grant to a job that has ended is no error: the lease comes back (facts/production.md 2, the first of two bugs).
    if (!wasHeard) closedJobs.push(lease);
  });
  await eachOf(batch.answers, WIDTH, async ({ slice, isHeld }) => {
    await signalIfOpen(() =>
      temporal.workflow.getHandle(sliceWorkflowId(slice)).signal(leaseAnswerSignal, { epoch, isHeld }),
    );
  });
  await eachOf(batch.releases, WIDTH, async ({ slice, reason }) => {
    await signalIfOpen(() =>
      temporal.workflow.getHandle(sliceWorkflowId(slice)).signal(releaseSliceSignal, { reason }),
    );
  });
  await eachOf(batch.restate, WIDTH, async ({ id }) => {
    await signalIfOpen(() => temporal.workflow.getHandle(id).signal(restateSignal, { epoch }));
  });
  await eachOf(batch.reclaims, WIDTH, ({ lease, ref }) => startReclaim(temporal, installation, lease, ref));
  return { closedJobs };
}

/** False: the workflow is closed, or unknown. */
async function signalIfOpen(send: () => Promise<void>): Promise<boolean> {
  heartbeat();
  try {
    await send();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** One slice workflow per name: an open one is told to go, a closed or unknown one is started anew to find what is left. */
export async function startReclaim(
  temporal: WorkflowClient,
  installation: Installation,
  lease: LeaseId,
  ref: SliceRef,
): Promise<void> {
  const ownership = { owner: installation.owner, job: lease.job, run: lease.run, generation: 0, spec: '' };
  const input: SliceInput = { v: 1, task: { kind: 'reclaim', ref, ownership }, lease, timings: installation.timings };
  log.info(`reclaiming ${ref.name}`, { lease });
  await temporal.workflow.signalWithStart(WorkflowType.Slice, {
    workflowId: sliceWorkflowId(ref.name),
    taskQueue: installation.taskQueue,
    args: [input],
    signal: releaseSliceSignal,
    signalArgs: [{ reason: 'its workflow was closed before it was seen gone' }],
    staticSummary: `reclaims ${ref.name}, left behind by ${lease.job}`,
  });
}

// Reading the world ------------------------------------------------------------------------------------------------

async function inspectHolders(temporal: WorkflowClient, questions: readonly HolderQuestion[]): Promise<HolderAnswer[]> {
  const answers: HolderAnswer[] = [];
  await eachOf(questions, WIDTH, async ({ lease, slices }) => {
    const isJobOpen = await isChainOpen(temporal, { id: lease.job, run: lease.run });
    const openSlices: string[] = [];
    for (const { name } of slices) if (await isWorkflowOpen(temporal, sliceWorkflowId(name))) openSlices.push(name);
    answers.push({ lease, isJobOpen, openSlices });
  });
  return answers;
}

/** Cloud first, then workflows: what was created in between has an open workflow that the second listing shows. */
async function readOpenWork(
  temporal: WorkflowClient,
  dependencies: ActivityDependencies,
  pool: string,
): Promise<OpenWork> {
  const { owned } = await listOwnedEverywhere(dependencies);
  const jobs = await openJobs(temporal, pool);
  const slices = await openSlices(temporal, pool);
  const known = new Set(slices.map(({ ref }) => ref.name));
  await eachOf(
    [...new Map(owned.map((resource) => [resource.ref.name, resource.ref])).values()],
    WIDTH,
    async (ref) => {
      if (known.has(ref.name)) return;
      const memo = await sliceMemo(temporal, ref.name);
      if (memo?.lease.pool === pool) slices.push({ ...memo, ref, isWorkflowOpen: false });
    },
  );
  return { jobs, slices };
}

async function openJobs(temporal: WorkflowClient, pool: string): Promise<OpenWork['jobs']> {
  const jobs = [];
  const query = `WorkflowType = '${WorkflowType.Job}' AND ExecutionStatus = 'Running' AND JobPool = '${quoted(pool)}'`;
  for await (const { workflowId, memo, searchAttributes } of temporal.workflow.list({ query, pageSize: PAGE })) {
    const run = (memo as JobMemo | undefined)?.run;
    if (run === undefined) continue;
    jobs.push({ job: { id: workflowId, run }, isQueued: searchAttributes['JobPhase']?.[0] === JobPhase.Queued });
  }
  return jobs;
}

async function openSlices(temporal: WorkflowClient, pool: string): Promise<OpenSlice[]> {
  const slices = [];
  const query = `WorkflowType = '${WorkflowType.Slice}' AND ExecutionStatus = 'Running' AND JobPool = '${quoted(pool)}'`;
  for await (const { memo } of temporal.workflow.list({ query, pageSize: PAGE })) {
    const known = memo as SliceMemo | undefined;
    if (known?.lease) slices.push({ lease: known.lease, demand: known.demand, ref: known.ref, isWorkflowOpen: true });
  }
  return slices;
}

/** Large pages, few calls: visibility allows 10 calls a second by default (facts/production.md 1). */
const PAGE = 1000;

const quoted = (text: string): string => text.replaceAll("'", "''");

async function sliceMemo(temporal: WorkflowClient, name: string): Promise<SliceMemo | undefined> {
  const execution = await describe(temporal, sliceWorkflowId(name));
  const memo = execution?.memo as SliceMemo | undefined;
  return memo?.lease ? memo : undefined;
}
