import { setTimeout as pause } from 'node:timers/promises';
import { inItsTurn } from '../contract/early-query.js';
import type { QueryDefinition } from '@temporalio/common';
import { JobPhase } from '../domain/job-state.js';
import { leaseKey, type LeaseId } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import { poolStateObject } from '../domain/store-layout.js';
import { type PackedPoolState, unpackState, readPages, type TextPage } from '../quota/published-state.js';
import type { JobMemo } from '../contract/job.js';
import { type Holder, holdersQuery } from '../contract/quota.js';
import type { SliceMemo } from '../contract/slice.js';
import { quotaWorkflowId, sliceWorkflowId, WorkflowType, type JobRef } from '../contract/workflow-ids.js';
import type { Admission, OpenSlice, OpenWork, StrayHolders } from '../contract/quota-activities.js';
import { eachOf } from '../domain/semaphore.js';
import { queryText } from '../domain/temporal-server.js';
import type { ActivityDependencies } from './dependencies.js';
import { listOwnedEverywhere } from './accounts.js';
import { describe, isChainOpen, isWorkflowOpen, type WorkflowClient } from './workflow-lookup.js';

/** Calls at one time. The server's own limit per namespace is far above it. */
const WIDTH = 20;

/** Lists the cloud first, then workflows: resources created in between have an open workflow that the second listing shows. */
export async function readOpenWork(
  temporal: WorkflowClient,
  dependencies: ActivityDependencies,
  pool: string,
): Promise<OpenWork> {
  const { owned } = await listOwnedEverywhere(dependencies);
  const jobs = await openJobs(temporal, pool);
  const inCloud = new Set(owned.map(({ ref }) => ref.name));
  const slices = (await openSlices(temporal, pool)).map((slice) => ({
    ...slice,
    isInCloud: inCloud.has(slice.ref.name),
  }));
  const known = new Set(slices.map(({ ref }) => ref.name));
  await eachOf(
    [...new Map(owned.map((resource) => [resource.ref.name, resource.ref])).values()],
    WIDTH,
    async (ref) => {
      if (known.has(ref.name)) return;
      const memo = await sliceMemo(temporal, ref.name);
      if (memo?.lease.pool === pool) slices.push({ ...memo, ref, isWorkflowOpen: false, isInCloud: true });
    },
  );
  const admission = await publishedAdmission(dependencies, pool);
  return { jobs, slices, ...(admission === undefined ? {} : { admission }) };
}

/**
 * A pool that was frozen stays frozen when its workflow loses its memory. If the published state cannot be read, the pool is
 * open, as it was before it was ever frozen.
 */
async function publishedAdmission({ store }: ActivityDependencies, pool: string): Promise<Admission | undefined> {
  const content = await store.read(poolStateObject(pool));
  if (content === undefined) return undefined;
  try {
    const state = unpackState(JSON.parse(content.toString('utf8')) as PackedPoolState);
    const { admission: kind, admissionReason: reason, admissionSet: set } = state;
    return { kind, ...(reason === undefined ? {} : { reason }), ...(set === undefined ? {} : { set }) };
  } catch {
    return undefined;
  }
}

async function openJobs(temporal: WorkflowClient, pool: string): Promise<OpenWork['jobs']> {
  const jobs = [];
  const query = `WorkflowType = '${WorkflowType.Job}' AND ExecutionStatus = 'Running' AND JobPool = ${queryText(pool)}`;
  for await (const { workflowId, memo, searchAttributes } of temporal.workflow.list({ query, pageSize: PAGE })) {
    const run = (memo as JobMemo | undefined)?.run;
    if (run === undefined) continue;
    const phase = searchAttributes['JobPhase']?.[0];
    // A released job waits for a person. It holds as little as a queued one, and has nothing to report.
    jobs.push({ job: { id: workflowId, run }, isQueued: phase === JobPhase.Queued || phase === JobPhase.Released });
  }
  return jobs;
}

async function openSlices(temporal: WorkflowClient, pool: string): Promise<Omit<OpenSlice, 'isInCloud'>[]> {
  const slices = [];
  const query = `WorkflowType = '${WorkflowType.Slice}' AND ExecutionStatus = 'Running' AND JobPool = ${queryText(pool)}`;
  for await (const { memo } of temporal.workflow.list({ query, pageSize: PAGE })) {
    const known = memo as SliceMemo | undefined;
    if (known?.lease) slices.push({ ...known, isWorkflowOpen: true });
  }
  return slices;
}

/** Rows per page. Pages are large, because visibility allows only 10 calls a second by default (docs/facts.md, "Temporal"). */
const PAGE = 1000;

async function sliceMemo(temporal: WorkflowClient, name: string): Promise<SliceMemo | undefined> {
  const execution = await describe(temporal, sliceWorkflowId(name));
  const memo = execution?.memo as SliceMemo | undefined;
  return memo?.lease ? memo : undefined;
}

// Comparing --------------------------------------------------------------------------------------------------------

/** Limit of strays in one answer, which is a payload of the pool's history. The next comparison finds the rest. */
const MOST_STRAYS = 500;

/**
 * Finds the holders of a pool's leases whose workflows are closed; for thousands of rows that takes a few calls. A workflow that
 * Temporal lists as open in this pool is open (or was a moment ago: the next comparison sees it). The list lags behind, so only
 * rows that are not in it are looked at one by one.
 */
export const findStrays = async (temporal: WorkflowClient, pool: string): Promise<StrayHolders> =>
  straysAmong(temporal, pool, await holdersOf(temporal, pool));

export const holdersOf = async (temporal: WorkflowClient, pool: string): Promise<readonly Holder[]> =>
  (await queryPages(temporal, quotaWorkflowId(pool), holdersQuery)) as readonly Holder[];

/** The leases and slices of these holders whose workflows are closed. */
export async function straysAmong(
  temporal: WorkflowClient,
  pool: string,
  holders: readonly Pick<Holder, 'lease' | 'slices'>[],
): Promise<StrayHolders> {
  const isLong = holders.length > WORTH_A_LIST;
  const jobs = new Set(isLong ? (await openJobs(temporal, pool)).map(({ job }) => refKey(job)) : []);
  const slices = new Set(isLong ? (await openSlices(temporal, pool)).map(({ ref }) => ref.name) : []);
  const closedJobs: LeaseId[] = [];
  const lostSlices: { lease: LeaseId; ref: MachineRef }[] = [];
  await eachOf(holders, WIDTH, async ({ lease, slices: refs }) => {
    const job = { id: lease.job, run: lease.run };
    if (!jobs.has(refKey(job)) && !(await isChainOpen(temporal, job))) closedJobs.push(lease);
    for (const ref of refs) {
      const isOpen = slices.has(ref.name) || (await isWorkflowOpen(temporal, sliceWorkflowId(ref.name)));
      if (!isOpen) lostSlices.push({ lease, ref });
    }
  });
  return {
    closedJobs: closedJobs.toSorted(byKey).slice(0, MOST_STRAYS),
    lostSlices: lostSlices.toSorted((a, b) => byKey(a.lease, b.lease)).slice(0, MOST_STRAYS),
  };
}

const byKey = (a: LeaseId, b: LeaseId): number => (leaseKey(a) < leaseKey(b) ? -1 : 1);

/**
 * Number of rows from which a listing is cheaper. For fewer rows, a look at each is exact and costs no more than two listings.
 */
const WORTH_A_LIST = 10;

const refKey = ({ id, run }: JobRef): string => `${id}/${run}`;

/** Reads a JSON value that a workflow answers in pages. */
export function queryPages(
  temporal: WorkflowClient,
  workflowId: string,
  query: QueryDefinition<TextPage, [page: number]>,
): Promise<unknown> {
  const handle = temporal.workflow.getHandle(workflowId);
  return readPages(
    (page) => inItsTurn(() => handle.query(query, page), pause),
    `query '${query.name}' of ${workflowId}`,
  );
}
