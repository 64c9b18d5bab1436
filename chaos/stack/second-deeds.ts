import type { Client } from '@temporalio/client';
import type { JanitorReport } from '../../contract/janitor.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { until } from '../../test/until.js';
import { type DeedDo, lasting } from './cloud-deeds.js';
import type { Stage } from './stage.js';
import { settleMs } from './tier.js';

const BESIDE = 'a second installation works beside';

/** Jobs of a second installation in this Google project, and sweeps of both janitors while slices of both are there. */
export const SECOND_DEEDS: Readonly<Record<string, DeedDo>> = {
  [BESIDE]: async (stage, draws) => {
    const { second } = stage.stack;
    if (second === undefined) return false;
    await Promise.all(stage.theirs.map((job) => stage.submit(second.jobs, job)));
    // A sweep that could not meet anything of theirs would show nothing.
    const isThere = async (): Promise<boolean> =>
      (await stage.theirNodes()).length > 0 || (await stage.open('job', second.client)).length === 0;
    await until('the second installation has a slice', isThere, settleMs(stage.tier) / 2);
    sweepBoth(stage);
    stage.endAfter(2 * lasting(stage, draws), async () => sweepBoth(stage));
    return true;
  },
};

export const needsSecondInstallation = (kinds: readonly string[]): boolean => kinds.includes(BESIDE);

/** Nothing waits for them: the cloud may be down. */
function sweepBoth(stage: Stage): void {
  const { client, second } = stage.stack;
  void sweep(stage, client, 'first');
  if (second !== undefined) void sweep(stage, second.client, 'second');
}

async function sweep(stage: Stage, client: Client, whose: 'first' | 'second'): Promise<void> {
  try {
    const { resources, reclaimed, unknown } = await client.workflow.execute<() => Promise<JanitorReport>>(
      WorkflowType.Janitor,
      {
        workflowId: `janitor-chaos-${Date.now()}`,
        taskQueue: stage.stack.taskQueue,
        args: [{ v: 1 }] as never,
        workflowRunTimeout: settleMs(stage.tier),
      },
    );
    const found = `finds ${resources} slices of its own, takes back ${reclaimed.join(', ') || 'none'}, does not know ${unknown.join(', ') || 'none'}`;
    stage.note('fault', `the janitor of the ${whose} installation ${found}`);
  } catch (error) {
    stage.note('note', `the janitor of the ${whose} installation: ${String(error)}`);
  }
}
