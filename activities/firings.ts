import { Context } from '@temporalio/activity';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
import type { FiringActivities, StartedFiring, StartFiringInput } from '../contract/schedule.js';
import { jobStart, keywords } from '../contract/job-start.js';
import type { JobInput, JobMemo } from '../contract/job.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { contentHash } from '../domain/content-hash.js';
import { resolveJob } from '../domain/job-file/resolve.js';
import { objectOfFile } from '../domain/local-files.js';
import { formatProblems } from '../domain/problem.js';
import { firingJobId } from '../domain/schedule/schedule.js';
import { isShownAgain } from '../domain/schedule/wall-clock.js';
import { eachOf } from '../domain/semaphore.js';
import type { ActivityDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { describe, type WorkflowClient } from './workflow-lookup.js';

type Means = Pick<ActivityDependencies, 'store'> & {
  readonly installation: Pick<ActivityDependencies['installation'], 'taskQueue'>;
};

/** Activities of the workflow `firing` (docs/adr/0159). */
export const firingActivities = (means: Means): FiringActivities => ({
  startFiring: (input) => translated(() => startFiring(Context.current().client, means, input)),
  readRefusal: ({ id }) => readRefusal(Context.current().client, id),
});

/** See `FiringActivities`. */
export async function startFiring(
  client: WorkflowClient,
  { store, installation }: Means,
  { firing, submission, wallClock, isCancelled }: StartFiringInput,
): Promise<StartedFiring> {
  if (wallClock !== undefined && isShownAgain(wallClock, firing.at))
    return { kind: 'skipped', why: `the clock of ${wallClock} was put back, and showed this time before` };
  const resolved = resolveJob(submission.job);
  if (!resolved.ok) return notStarted(formatProblems(resolved.problems));
  const id = firingJobId(firing);
  const input: JobInput = { ...submission, firing };
  const hash = contentHash({ job: input.job, files: input.files ?? {} });
  const known = await describe(client, id);
  if (isCancelled === true && !isOfFiring(known, { schedule: firing.schedule, hash }))
    return { kind: 'skipped', why: 'it was cancelled before its job was started' };
  if (known === undefined) {
    // A missing file would show only on a slice that is paid for.
    const missing = await missingFiles(store, input);
    if (missing !== undefined) return notStarted(missing);
  }
  const { memo, attributes, summary } = jobStart(resolved.spec, input, hash);
  try {
    await client.workflow.start(WorkflowType.Job, {
      workflowId: id,
      taskQueue: installation.taskQueue,
      args: [input],
      memo: { ...memo },
      typedSearchAttributes: keywords(attributes),
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      staticSummary: summary,
    });
    return { kind: 'started' };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return startedBefore(client, id, { schedule: firing.schedule, hash });
  }
}

const notStarted = (why: string): StartedFiring => ({ kind: 'not-started', why });

/** This activity ran before, and its answer was lost: then the job of that id is the firing's. Any other is somebody else's. */
async function startedBefore(client: WorkflowClient, id: string, of: JobOfFiring): Promise<StartedFiring> {
  const execution = await describe(client, id);
  if (isOfFiring(execution, of)) return { kind: 'started' };
  return notStarted(`another ${execution?.type ?? 'workflow'} has the id ${id}`);
}

interface JobOfFiring {
  readonly schedule: string;
  readonly hash: string;
}

function isOfFiring(execution: Awaited<ReturnType<typeof describe>>, { schedule, hash }: JobOfFiring): boolean {
  const memo = (execution?.memo ?? {}) as Partial<JobMemo>;
  return execution?.type === WorkflowType.Job && memo.schedule === schedule && memo.contentHash === hash;
}

/** Calls at one time. */
const WIDTH = 20;
/** Most files that a sentence names. */
const MOST_NAMED = 3;

async function missingFiles(store: Pick<StorePort, 'stat'>, { files = {} }: JobInput): Promise<string | undefined> {
  const missing: string[] = [];
  await eachOf(Object.entries(files), WIDTH, async ([path, sha256]) => {
    if ((await store.stat(objectOfFile(path, sha256))) === undefined) missing.push(path);
  });
  if (missing.length === 0) return undefined;
  const more = missing.length > MOST_NAMED ? ` and ${missing.length - MOST_NAMED} more` : '';
  return (
    `the bucket no longer has ${missing.slice(0, MOST_NAMED).join(', ')}${more}, uploaded when the schedule was created\n` +
    '  delete the schedule, and create it again from its file'
  );
}

/** See `FiringActivities`. */
export async function readRefusal(client: WorkflowClient, id: string): Promise<{ readonly why?: string }> {
  const { why } = ((await describe(client, id))?.memo ?? {}) as Partial<JobMemo>;
  return why === undefined ? {} : { why };
}
