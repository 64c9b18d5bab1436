import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { eachOf } from '../../domain/semaphore.js';
import { until } from '../../test/until.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import type { LoadStack } from './load-stack.js';

/** The pool of the stack's quota file. */
export const FULL_POOL = 'default';
const HOLDER = 'load-holder';
/** Submits or cancels in flight, as of a service that has many to do. */
const WIDTH = 50;
const LOOK_EVERY_MS = 3_000;

const TPU = { allocation_mode: 'queued-resources', accelerator: 'v5litepod-8', zone: 'us-central1-a', pricing: 'spot' };

/** One real job takes all that the pool has. */
export async function fillPool({ jobs }: LoadStack): Promise<void> {
  await jobs.submit({ job: { name: 'holder', tpu: TPU, command: { run: 'sleep 86400' } }, name: HOLDER });
  await until('the pool is full', async () => (await jobs.row(HOLDER)).phase === 'running', 120_000);
}

/** All of them wait: what they ask for is held. */
export async function submitQueue(
  { jobs }: LoadStack,
  count: number,
): Promise<{ readonly ids: readonly string[]; readonly startsPerSecond: number }> {
  const ids: string[] = [];
  const users = ['ann', 'bob', 'carol', 'dave'];
  const start = performance.now();
  await eachOf(
    Array.from({ length: count }, (_, index) => index),
    WIDTH,
    async (index) => {
      const job = { name: `train-${index}`, tpu: TPU, command: { run: 'true' } };
      ids.push((await jobs.submit({ job, user: users[index % users.length] as string })).id);
    },
  );
  return { ids, startsPerSecond: (count * 1000) / (performance.now() - start) };
}

/** Until the pool's own headline names them. It is some seconds old: for the moment itself see `poolHistory`. */
export async function untilPoolKnows({ temporal }: LoadStack, count: number): Promise<void> {
  const handle = temporal.workflow.getHandle(quotaWorkflowId(FULL_POOL));
  const known = async (): Promise<boolean> => {
    const { currentDetails } = await handle.query<{ readonly currentDetails: string }>('__temporal_workflow_metadata');
    return Number(/(\d+) waiting/.exec(currentDetails)?.[1]) >= count;
  };
  // Seldom: each look is a task of the very workflow that is measured. A worker that is busy may not answer in time.
  while (!(await known().catch(() => false))) await sleep(LOOK_EVERY_MS);
}

/** All that were queued, then the holder; returns when none is open. */
export async function cancelAll({ jobs }: LoadStack, ids: readonly string[]): Promise<void> {
  await eachOf(ids, WIDTH, async (id) => void (await jobs.cancel(id)));
  await jobs.cancel(HOLDER);
  const isOver = async (): Promise<boolean> => (await jobs.list({ limit: 1 })).open === 0;
  while (!(await isOver().catch(() => false))) await sleep(LOOK_EVERY_MS);
}
