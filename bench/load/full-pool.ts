import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { eachOf } from '../../domain/semaphore.js';
import { until } from '../../test/until.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import type { LoadStack } from './load-stack.js';

/** The pool that the stack's quota file limits. */
export const FULL_POOL = 'default';
const HOLDER = 'load-holder';
/** Submits or cancellations in flight, as from a busy service. */
const WIDTH = 50;
const LOOK_EVERY_MS = 3_000;

const TPU = { allocation_mode: 'queued-resources', accelerator: 'v5litepod-8', zone: 'us-central1-a', pricing: 'spot' };

/** Submits one real job that takes all chips of the pool, and waits until it runs. */
export async function fillPool({ jobs }: LoadStack): Promise<void> {
  await jobs.submit({ job: { name: 'holder', tpu: TPU, command: { run: 'sleep 86400' } }, name: HOLDER });
  await until('the pool is full', async () => (await jobs.row(HOLDER)).phase === 'running', 120_000);
}

/** Submits jobs that all wait, because one job holds all chips. */
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

/** Waits until the pool's own status text counts them all. The text may be some seconds old; `poolHistory` has the exact time. */
export async function untilPoolKnows({ temporal }: LoadStack, count: number): Promise<void> {
  const handle = temporal.workflow.getHandle(quotaWorkflowId(FULL_POOL));
  const known = async (): Promise<boolean> => {
    const { currentDetails } = await handle.query<{ readonly currentDetails: string }>('__temporal_workflow_metadata');
    return Number(/(\d+) waiting/.exec(currentDetails)?.[1]) >= count;
  };
  // Seldom, because each look is a task of the workflow that is measured. A busy worker may not answer in time.
  while (!(await known().catch(() => false))) await sleep(LOOK_EVERY_MS);
}

/** Cancels all queued jobs, then the holder. Resolves when no job is open. */
export async function cancelAll({ jobs }: LoadStack, ids: readonly string[]): Promise<void> {
  await eachOf(ids, WIDTH, async (id) => void (await jobs.cancel(id)));
  await jobs.cancel(HOLDER);
  const isOver = async (): Promise<boolean> => (await jobs.list({ limit: 1 })).open === 0;
  while (!(await isOver().catch(() => false))) await sleep(LOOK_EVERY_MS);
}
