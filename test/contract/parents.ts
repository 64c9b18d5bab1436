import { condition, defineSignal, setHandler, sleep, startChild } from '@temporalio/workflow';
import type { JobInput, JobNotice } from '../../contract/job.js';

/** A parent that starts one job under this policy and lives until somebody ends it. Read by the contract's tests. */
export async function parent(input: ParentInput): Promise<void> {
  await startChild('job', {
    workflowId: input.id,
    taskQueue: input.jobQueue,
    args: [input.job],
    ...(input.policy === undefined ? {} : { parentClosePolicy: input.policy }),
  });
  await sleep('1 hour');
}

export interface ParentInput {
  readonly id: string;
  readonly jobQueue: string;
  readonly job: JobInput;
  /** Absent: Temporal's default. */
  readonly policy?: 'TERMINATE' | 'REQUEST_CANCEL' | 'ABANDON';
}

/** Returns what it was told, for as many notices as asked for. */
export async function listener(count: number): Promise<readonly JobNotice[]> {
  const notices: JobNotice[] = [];
  setHandler(defineSignal<[JobNotice]>('jobEnded'), (notice) => void notices.push(notice));
  await condition(() => notices.length >= count);
  return notices;
}
