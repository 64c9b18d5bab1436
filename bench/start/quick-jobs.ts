import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import { Inbox } from '../../workflows/inbox.js';
import { LeaseHold } from '../../workflows/job/lease.js';

export { quota } from '../../workflows/quota.js';

const { step } = proxyActivities<{ step(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** Runs three activities, under a lease of `pool` if one is named. Of a real job, only the lease code is here. */
export async function quickJob({ pool }: { readonly pool?: string }): Promise<void> {
  const demand = {
    project: 'bench',
    user: 'bench',
    priority: 3,
    submittedAt: workflowInfo().startTime.getTime(),
    units: { v4: 8 },
  };
  const lease = pool === undefined ? undefined : new LeaseHold(pool, demand, { present: [] });
  const inbox = new Inbox();
  lease?.listen(inbox);
  inbox.open();
  await lease?.acquire();
  for (let i = 0; i < 3; i++) await step();
  await lease?.letGo();
}

/** Does nothing: the least that the server and a worker need for a workflow. */
export async function emptyJob(): Promise<void> {}
