import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { OnUnread } from '../../../cloud/machines/audited-resource.js';
import { eachOf } from '../../../domain/each-of.js';
import { readPages } from '../../../quota/published-state.js';
import type { Holder } from '../../../contract/quota.js';
import { holdersQuery } from '../../../contract/quota.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import type { HeldLease, JobFate } from './leaks.js';

/** Lookups of many jobs or pools are bounded: the server limits calls a second. */
const LOOKUPS_AT_A_TIME = 8;

/** Temporal's answers about these chains of runs, by `jobKey`. */
export async function jobFates(
  temporal: Client,
  jobs: ReadonlyMap<string, { readonly job: string; readonly run: string }>,
  onUnread: OnUnread,
): Promise<ReadonlyMap<string, JobFate>> {
  const { WorkflowNotFoundError } = await import('@temporalio/common');
  const fates = new Map<string, JobFate>();
  await eachOf([...jobs], LOOKUPS_AT_A_TIME, async ([key, { job, run }]) => {
    const failed = (error: Error): JobFate => {
      if (error instanceof WorkflowNotFoundError) return { kind: 'unknown' };
      onUnread(`job ${job} in Temporal`, error);
      return { kind: 'unanswered' };
    };
    fates.set(key, await fateOf(temporal, job, run).catch(failed));
  });
  return fates;
}

async function fateOf(temporal: Client, job: string, run: string): Promise<JobFate> {
  const latest = await temporal.workflow.getHandle(job).describe();
  // A later job of the same name is another job; the chain that is meant is then closed, and its own run says when.
  const first = latest.raw.workflowExecutionInfo?.firstRunId;
  const isOfChain = !first || first === run;
  return fate(isOfChain ? latest : await temporal.workflow.getHandle(job, run).describe());
}

function fate({ status, closeTime }: WorkflowExecutionDescription): JobFate {
  if (status.name === 'RUNNING') return { kind: 'open' };
  return { kind: 'closed', at: closeTime?.getTime() ?? 0 };
}

/** The leases of all pools whose quota workflows answer, as they count them. */
export async function heldLeases(temporal: Client, onUnread: OnUnread): Promise<readonly HeldLease[]> {
  const pools: string[] = [];
  const query = `WorkflowType = '${WorkflowType.Quota}' AND ExecutionStatus = 'Running'`;
  try {
    for await (const { workflowId } of temporal.workflow.list({ query })) pools.push(workflowId);
  } catch (error) {
    onUnread('the list of pools', error as Error);
  }
  const leases: HeldLease[] = [];
  await eachOf(pools, LOOKUPS_AT_A_TIME, async (pool) => {
    try {
      for (const lease of await leasesOf(temporal, pool)) leases.push(lease);
    } catch (error) {
      onUnread(`the leases of ${pool}`, error as Error);
    }
  });
  return leases;
}

/** @param quotaWorkflow id of a pool's workflow */
export async function leasesOf(temporal: Client, quotaWorkflow: string): Promise<readonly HeldLease[]> {
  const pool = temporal.workflow.getHandle(quotaWorkflow);
  const page = (number: number) =>
    temporal.connection.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () => pool.query(holdersQuery, number));
  const holders = (await readPages(page, `the leases of ${quotaWorkflow}`)) as readonly Holder[];
  return holders.flatMap(toHeldLease);
}

function toHeldLease({ lease, state, slices, stuck = {} }: Holder): readonly HeldLease[] {
  if (state === 'waiting') return [];
  const told = Object.entries(stuck).map(([slice, { answer }]) => `${slice}: ${answer}`);
  return [{ lease, state, slices: slices.map(({ name }) => name), ...(told.length > 0 && { stuck: told }) }];
}

/** Time for one page: a worker that lost the pool from its cache reads thousands of rows first. */
const QUERY_TIMEOUT_MS = 15_000;
