import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { NOTIFY_TEST_MS, type NoticesInput, type NoticesResult, notifyTestStart } from '../contract/notices.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import type { NotifyTarget } from '../domain/notify.js';
import { IS_A_WORKER_UP, NoWorkerAnswers, PoolRefused } from './errors.js';
import { innermost } from './update-answer.js';
import type { TemporalCalls } from './temporal-calls.js';

export interface NotifyTest {
  readonly pool: string;
  /** The quota project of the job. Empty: none. */
  readonly project: string;
  /** The user who asks, as the caller states it. */
  readonly by: string;
  readonly targets: readonly NotifyTarget[];
}

interface Place {
  readonly temporal: Client;
  readonly calls: TemporalCalls;
  readonly taskQueue: string;
}

/** Has a worker send each target one event, by the code and the rights that a job's events are sent by. */
export async function testNotify({ temporal, calls, taskQueue }: Place, test: NotifyTest): Promise<NoticesResult> {
  const id = randomUUID();
  const { pool, project, by, targets } = test;
  const told = { kind: 'notify-test', facts: { by } } as const;
  const event = { ...told, id: `test-${id}`, at: Date.now(), text: `${by} tests who is told of jobs` };
  const input: NoticesInput = {
    v: 1,
    about: { job: { id: 'notify-test', run: id }, name: 'notify-test', pool, project, user: by },
    notices: [{ number: 0, event, to: targets }],
    isTest: true,
  };
  const execute = () =>
    temporal.workflow.execute<(input: NoticesInput) => Promise<NoticesResult>>(
      WorkflowType.Notices,
      notifyTestStart(taskQueue, input, id),
    );
  try {
    return await calls.bounded(execute, NOTIFY_TEST_MS + 5_000);
  } catch (failure) {
    const [{ WorkflowFailedError }, { TimeoutFailure }] = await Promise.all([
      import('@temporalio/client'),
      import('@temporalio/common'),
    ]);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    if (failure.cause instanceof TimeoutFailure)
      throw new NoWorkerAnswers(`no worker told anybody within ${NOTIFY_TEST_MS / 1000} s`, IS_A_WORKER_UP);
    throw new PoolRefused(pool, innermost(failure).message);
  }
}
