import { Context } from '@temporalio/activity';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
import type { FiringActivities, StartedFiring, StartFiringInput } from '../contract/schedule.js';
import { groupStart, jobStart, keywords } from '../contract/job-start.js';
import type { JobInput, JobMemo } from '../contract/job.js';
import { groupWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { type JobArray, memberIndexes } from '../domain/array/array.js';
import { contentHash } from '../domain/content-hash.js';
import { resolveJob } from '../domain/job-file/resolve.js';
import type { JobSpec } from '../domain/job-spec.js';
import { objectOfFile } from '../domain/local-files.js';
import { formatProblems } from '../domain/problem.js';
import { type Firing, firingJobId } from '../domain/schedule/schedule.js';
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
  const input: JobInput = { ...submission, firing };
  const resolved = resolveJob(input.job, { mayBeArray: true });
  if (!resolved.ok) return notStarted(formatProblems(resolved.problems));
  const { type, options, hash, other } = startOf(input, firing, resolved);
  const id = options.workflowId;
  const of = { type, schedule: firing.schedule, hash };
  const known = await describe(client, id);
  if (isCancelled === true && !isOfFiring(known, of))
    return { kind: 'skipped', why: 'it was cancelled before its job was started' };
  if (known === undefined) {
    // Verbs would not know which of the two is meant.
    const taken = await describe(client, other);
    if (taken !== undefined) return notStarted(`another ${taken.type} has the id ${firingJobId(firing)}`);
    // A missing file would show only on a slice that is paid for.
    const missing = await missingFiles(store, input);
    if (missing !== undefined) return notStarted(missing);
  }
  try {
    const { taskQueue } = installation;
    await client.workflow.start(type, {
      ...{ ...options, memo: { ...options.memo }, taskQueue, workflowIdReusePolicy: 'REJECT_DUPLICATE' },
    });
    return { kind: 'started' };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return startedBefore(client, id, of);
  }
}

/** The workflow of a firing's job, or of its group, as a client starts it. Members share what the columns of their group show. */
function startOf(
  input: JobInput,
  firing: Firing,
  { spec, array }: { readonly spec: JobSpec; readonly array?: JobArray },
) {
  const id = firingJobId(firing);
  const hash = contentHash({ job: input.job, files: input.files ?? {} });
  if (array !== undefined) {
    const memo = {
      name: spec.name,
      contentHash: hash,
      members: memberIndexes(array).length,
      schedule: firing.schedule,
    };
    const options = groupStart(id, { v: 1, submission: input }, memo, spec);
    return { type: WorkflowType.Group, options, hash, other: id } as const;
  }
  const { memo, attributes, summary } = jobStart(spec, input, hash);
  const options = {
    ...{ workflowId: id, args: [input], memo, typedSearchAttributes: keywords(attributes) },
    ...{ workflowIdConflictPolicy: 'FAIL' as const, staticSummary: summary },
  };
  return { type: WorkflowType.Job, options, hash, other: groupWorkflowId(id) } as const;
}

const notStarted = (why: string): StartedFiring => ({ kind: 'not-started', why });

/** This activity ran before, and its answer was lost: then the job of that id is the firing's. Any other is somebody else's. */
async function startedBefore(client: WorkflowClient, id: string, of: OfFiring): Promise<StartedFiring> {
  const execution = await describe(client, id);
  if (isOfFiring(execution, of)) return { kind: 'started' };
  return notStarted(`another ${execution?.type ?? 'workflow'} has the id ${id}`);
}

interface OfFiring {
  readonly type: string;
  readonly schedule: string;
  readonly hash: string;
}

function isOfFiring(execution: Awaited<ReturnType<typeof describe>>, { type, schedule, hash }: OfFiring): boolean {
  const memo = (execution?.memo ?? {}) as Partial<JobMemo>;
  return execution?.type === type && memo.schedule === schedule && memo.contentHash === hash;
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
