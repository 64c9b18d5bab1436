import { Context } from '@temporalio/activity';
import type { OwnedResource } from '../cloud/tpu/port.js';
import { judgeResource, MOST_DELETIONS_PER_SWEEP } from '../domain/janitor.js';
import {
  quotaStart,
  quotaWorkflowId,
  type SliceMemo,
  sliceWorkflowId,
  wakeSignal,
  WorkflowType,
} from '../workflows/messages.js';
import type { JanitorActivities, JanitorReport } from './contract.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { listOwnedEverywhere } from './google-projects.js';
import { startReclaim } from './quota.js';
import { describe, isChainOpen, type WorkflowClient } from './workflow-lookup.js';

export function janitorActivities(dependencies: ActivityDependencies): JanitorActivities {
  return {
    sweep: async () => {
      const report = await sweep(Context.current().client, dependencies);
      dependencies.meter.swept(report);
      return report;
    },
  };
}

/** Lists the cloud first, then asks about each workflow: what was created in between is not seen and so not judged. */
async function sweep(temporal: WorkflowClient, dependencies: ActivityDependencies): Promise<JanitorReport> {
  const { installation } = dependencies;
  const { owned, unlisted } = await listOwnedEverywhere(dependencies);
  const byName = [...new Map(owned.map((resource) => [resource.ref.name, resource])).values()];
  const verdicts = [];
  for (const resource of byName) verdicts.push({ resource, ...(await judge(temporal, resource)) });
  const orphans = verdicts.filter(({ verdict }) => verdict === 'reclaim');
  const unknown = verdicts.filter(({ verdict }) => verdict === 'report').map(({ resource }) => resource.ref.name);
  const wokenPools = await wakePools(temporal, installation);
  if (orphans.length > MOST_DELETIONS_PER_SWEEP) {
    const stopped = `${orphans.length} resources look orphaned, more than ${MOST_DELETIONS_PER_SWEEP}: nothing was deleted; look with 'jobctl audit leaks'`;
    return { resources: byName.length, reclaimed: [], unknown, wokenPools, unlisted, stopped };
  }
  for (const { resource, memo } of orphans)
    await startReclaim(temporal, installation, memo?.lease ?? leaseOf(resource), resource.ref);
  const reclaimed = orphans.map(({ resource }) => resource.ref.name);
  return { resources: byName.length, reclaimed, unknown, wokenPools, unlisted };
}

async function judge(temporal: WorkflowClient, { ref, ownership }: OwnedResource) {
  const execution = await describe(temporal, sliceWorkflowId(ref.name));
  const slice = execution === undefined ? 'unknown' : execution.status.name === 'RUNNING' ? 'open' : 'closed';
  const isJobOpen = await isChainOpen(temporal, { id: ownership.job, run: ownership.run });
  const memo = execution?.memo as SliceMemo | undefined;
  return { verdict: judgeResource({ slice, isJobOpen }), memo: memo?.lease ? memo : undefined };
}

/** A resource whose slice workflow's memo is no more: its lease, if any is left, is of the pool `default`. */
function leaseOf({ ownership }: OwnedResource) {
  return { pool: 'default', job: ownership.job, run: ownership.run, number: 1 };
}

/** A pool whose quota workflow is gone comes back by itself with the next message; where jobs only wait, here. */
async function wakePools(temporal: WorkflowClient, installation: Installation): Promise<string[]> {
  const pools = new Set<string>();
  // Another installation in this namespace has a janitor of its own; its pools must not come back on our queue.
  const query = `WorkflowType = '${WorkflowType.Job}' AND ExecutionStatus = 'Running' AND TaskQueue = '${installation.taskQueue}'`;
  for await (const { searchAttributes } of temporal.workflow.list({ query, pageSize: 1000 })) {
    const pool = searchAttributes['JobPool']?.[0];
    if (typeof pool === 'string') pools.add(pool);
  }
  const woken = [];
  for (const pool of pools) {
    if ((await describe(temporal, quotaWorkflowId(pool)))?.status.name === 'RUNNING') continue;
    await temporal.workflow.signalWithStart(WorkflowType.Quota, {
      ...quotaStart(pool, installation.taskQueue),
      signal: wakeSignal,
    });
    woken.push(pool);
  }
  return woken;
}
