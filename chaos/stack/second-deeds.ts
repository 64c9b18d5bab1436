import type { Client } from '@temporalio/client';
import type { JanitorInput, JanitorReport } from '../../contract/janitor.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { until } from '../../test/until.js';
import { type DeedDo, lasting } from './cloud-deeds.js';
import type { Stage } from './stage.js';
import { settleMs } from './tier.js';

const BESIDE = 'a second installation works beside';

/** Jobs of a second installation in the same Google project, and sweeps of both janitors while both have slices. */
export const SECOND_DEEDS: Readonly<Record<string, DeedDo>> = {
  [BESIDE]: async (stage, draws) => {
    const { second } = stage.stack;
    if (second === undefined) return false;
    await Promise.all(stage.theirs.map((job) => stage.submit(second.jobs, job)));
    // A sweep shows something only while the second installation has slices.
    const isThere = async (): Promise<boolean> =>
      (await stage.theirNodes()).length > 0 || (await stage.open('job', second.client)).length === 0;
    await until('the second installation has a slice', isThere, settleMs(stage.tier) / 2);
    await sweepBoth(stage);
    stage.endAfter(2 * lasting(stage, draws), () => sweepBoth(stage));
    return true;
  },
};

export const needsSecondInstallation = (kinds: readonly string[]): boolean => kinds.includes(BESIDE);

/** Starts a sweep of each janitor, and does not wait: the cloud may be down. The results are noted at the end. */
async function sweepBoth(stage: Stage): Promise<void> {
  const { client, second } = stage.stack;
  stage.note('fault', 'the janitors of both installations sweep');
  await sweep(stage, client, 'first');
  if (second !== undefined) await sweep(stage, second.client, 'second');
}

async function sweep(stage: Stage, client: Client, whose: 'first' | 'second'): Promise<void> {
  const handle = await client.workflow.start<(input: JanitorInput) => Promise<JanitorReport>>(WorkflowType.Janitor, {
    workflowId: `janitor-chaos-${Date.now()}`,
    taskQueue: stage.stack.taskQueue,
    args: [{ v: 1 }],
  });
  stage.atEnd(async () => {
    const { status } = await handle.describe();
    const text = status.name === 'COMPLETED' ? found(await handle.result()) : `is ${status.name}`;
    stage.note('note', `the janitor of the ${whose} installation, ${handle.workflowId}, ${text}`);
  });
}

const found = ({ resources, reclaimed, unknown }: JanitorReport): string =>
  `found ${resources} slices of its own, took back ${reclaimed.join(', ') || 'none'}, did not know ${unknown.join(', ') || 'none'}`;
