import {
  CancellationScope,
  CancelledFailure,
  defineQuery,
  defineSignal,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobInput, JobNotice, Outcome } from 'jobctl/contract';

export interface SweepInput {
  /** The jobs of the sweep, each with the id that it is to have. */
  readonly jobs: readonly { readonly id: string; readonly input: JobInput }[];
  /** The queue of jobctl's workers. A child that names no queue would wait on the queue of its parent for ever. */
  readonly jobQueue: string;
}

export interface JobEnd {
  readonly job: string;
  /** `terminated`: an operator ended it over its head, and it could tell nobody. */
  readonly result: JobNotice['result'] | 'terminated';
}

/** jobctl's signal to this workflow, once for each job: its name is ours to choose, its argument is the contract's. */
const jobEnded = defineSignal<[JobNotice]>('jobEnded');
/** The jobs that have ended so far, in the order in which they did. */
export const endedQuery = defineQuery<readonly JobNotice[]>('ended');

/**
 * Runs jobs as children at the same time, and knows of each end when it comes. Whatever ends this workflow, terminate
 * included, ends its jobs too, and jobctl gives their slices back.
 */
export async function sweep({ jobs, jobQueue }: SweepInput): Promise<readonly JobEnd[]> {
  const notices: JobNotice[] = [];
  setHandler(endedQuery, () => notices);
  setHandler(jobEnded, (notice) => {
    // A job that an operator reset may tell its end a second time.
    if (!notices.some(({ job, run }) => job === notice.job && run === notice.run)) notices.push(notice);
  });
  const notify = { to: { workflow: { id: workflowInfo().workflowId, signal: jobEnded.name } } };
  const children = await Promise.all(
    jobs.map(({ id, input }) =>
      startChild<(input: JobInput) => Promise<Outcome>>('job', {
        workflowId: id,
        taskQueue: jobQueue,
        args: [{ ...input, job: { ...(input.job as object), notify } }],
        parentClosePolicy: 'REQUEST_CANCEL',
      }),
    ),
  );
  // The notice comes first and the result a moment later. A parent that closed in between would cancel its child.
  await Promise.allSettled(children.map((child) => child.result()));
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('the sweep was cancelled');
  return jobs.map(({ id }) => ({ job: id, result: notices.find(({ job }) => job === id)?.result ?? 'terminated' }));
}
