import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { readPages } from '../../../quota/published-state.js';
import type { Holder } from '../../../contract/quota.js';
import { holdersQuery } from '../../../contract/quota.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import type { HeldLease, JobFate } from './leaks.js';

/** A lookup of many jobs is bounded: the server limits calls a second. */
const LOOKUPS_AT_A_TIME = 8;

/** What Temporal says of these chains of runs, by `jobKey`. */
export async function jobFates(
  temporal: Client,
  jobs: ReadonlyMap<string, { readonly job: string; readonly run: string }>,
): Promise<ReadonlyMap<string, JobFate>> {
  const { WorkflowNotFoundError } = await import('@temporalio/common');
  const fates = new Map<string, JobFate>();
  const queue = [...jobs];
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [key, { job, run }] = next;
      try {
        fates.set(key, await fateOf(temporal, job, run));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        fates.set(key, { kind: 'unknown' });
      }
    }
  };
  await Promise.all(Array.from({ length: LOOKUPS_AT_A_TIME }, lane));
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

/** The leases of all pools, as their quota workflows count them. Rejects where no worker answers. */
export async function heldLeases(temporal: Client): Promise<readonly HeldLease[]> {
  const query = `WorkflowType = '${WorkflowType.Quota}' AND ExecutionStatus = 'Running'`;
  const leases: HeldLease[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query }))
    for (const one of await leasesOf(temporal, workflowId)) leases.push(one);
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

/** Of one page: a worker that lost the pool from its cache reads thousands of rows first. */
const QUERY_TIMEOUT_MS = 15_000;
