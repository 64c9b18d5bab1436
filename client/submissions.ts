import { randomBytes } from 'node:crypto';
import { contentHash } from '../domain/content-hash.js';
import {
  isValidJobId,
  isValidUser,
  jobIdFor,
  JOB_ID_RULE,
  MAX_JOB_ID,
  SUFFIX_BYTES,
  suffixFrom,
  USER_RULE,
} from '../domain/identity.js';
import { type AfterSpec, idsAfter } from '../domain/after.js';
import { eachOf } from '../domain/semaphore.js';
import type { JobArray } from '../domain/array/array.js';
import type { JobSpec } from '../domain/job-spec.js';
import { inputSizeProblem } from '../domain/bounds.js';
import { formatProblems, showValue } from '../domain/problem.js';
import { isMapping } from '../domain/job-file/plain-tree.js';
import { REFUSED_PHASE } from '../domain/temporal-server.js';
import type { JobAuthorization } from '../contract/authorization.js';
import type { JobInput, JobMemo } from '../contract/job.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { JobInvalid, JobNameTaken } from './errors.js';
import { jobStart, keywords } from '../contract/job-start.js';
import { describeGroup, startGroup } from './groups.js';
import { describeJob, isGroup, isJob, readable, type TemporalAccess } from './job-executions.js';
import type { LocalContents, UploadFiles } from './uploads.js';

export interface Submission {
  /** The job file as plain JSON. */
  readonly job: unknown;
  /** The spec of `job`, if the caller has already resolved it (`jobctl serve`). */
  readonly spec?: JobSpec;
  /** The array of `job`, if already resolved. `spec` is then that of its first member. */
  readonly array?: JobArray | undefined;
  /** The exact job id, and an idempotency key. Absent: the file's name with a random suffix. */
  readonly name?: string;
  /** Text of the file, kept with the job. */
  readonly source?: string;
  readonly user?: string;
  readonly files?: LocalContents;
  /** Files that the store already has: path -> SHA-256. */
  readonly uploaded?: Readonly<Record<string, string>>;
  /** Signs the input under the job's future id; set by `jobctl serve` (docs/adr/0080). */
  readonly authorize?: (id: string, input: JobInput) => JobAuthorization;
  /** Fingerprint (`SHA256:..`) of the local `ssh.private_key` file. A worker that finds another key there refuses the job. */
  readonly sshKey?: string;
  /** Fingerprints of identities: path as in the job -> fingerprint. */
  readonly identityKeys?: Readonly<Record<string, string>>;
}

export interface Submitted {
  readonly id: string;
  readonly spec: JobSpec;
  /** False if an identical job was submitted under this name before. */
  readonly isNew: boolean;
  /** The number of jobs of an array, whose group has this id. Absent: it is a single job. */
  readonly members?: number;
  /** Warnings of a `jobctl serve`, for people. */
  readonly warnings?: readonly string[];
}

interface SubmissionParts extends TemporalAccess {
  readonly taskQueue: string;
  readonly upload: UploadFiles;
}

interface Start {
  readonly id: string;
  readonly spec: JobSpec;
  readonly input: JobInput;
  readonly hash: string;
}

interface GroupSubmission {
  readonly name: string | undefined;
  readonly spec: JobSpec;
  readonly array: JobArray;
  readonly hash: string;
  readonly inputOf: (id: string) => JobInput;
}

/** Turns a job file into a running workflow: checks it, stores its local files, and starts it once under its name. */
export class Submissions {
  readonly #parts: SubmissionParts;

  constructor(parts: SubmissionParts) {
    this.#parts = parts;
  }

  /** See `JobClient.submit`. */
  async submit(submission: Submission): Promise<Submitted> {
    const { spec, array } = await resolved(submission);
    if (submission.name !== undefined && !isValidJobId(submission.name)) {
      throw new JobInvalid(`name: '${submission.name}' is not ${JOB_ID_RULE}`);
    }
    mustBeUser(submission.user);
    await this.#parts.calls.refuseOldServer();
    await this.#mustKnowOthers(spec.after ?? array?.after, submission.name);
    const input = await uploadedInput(submission, this.#parts.upload);
    const hash = contentHash({ job: submission.job, files: input.files ?? {} });
    const inputOf = (id: string): JobInput =>
      submission.authorize === undefined ? input : { ...input, authorization: submission.authorize(id, input) };
    const { name } = submission;
    if (array !== undefined) return this.#submitGroup({ name, spec, array, hash, inputOf });
    if (name !== undefined) return this.#startNamed(name, spec, inputOf(name), hash);
    for (;;) {
      const id = jobIdFor(spec, randomSuffix());
      if (await this.#start({ id, spec, input: inputOf(id), hash })) return { id, spec, isNew: true };
    }
  }

  /** @throws JobInvalid if a job that this one waits for does not exist; a repeated submit need not find it again */
  async #mustKnowOthers(after: AfterSpec | undefined, name: string | undefined): Promise<void> {
    if (after === undefined) return;
    const missing: string[] = [];
    await eachOf(idsAfter(after), 10, async (id) => {
      if (!(await isJob(this.#parts, id)) && !(await isGroup(this.#parts, id))) missing.push(id);
    });
    if (missing.length === 0) return;
    if (name !== undefined && ((await isJob(this.#parts, name)) || (await isGroup(this.#parts, name)))) return;
    const problems = missing.map((id) => ({
      ...{ path: ['after'], value: id },
      message: `Temporal knows no job or group '${id}' ${this.#parts.where}`,
      hint: '`jobctl list --all` shows those that there are; one that has ended is forgotten after the retention time of the namespace',
    }));
    throw new JobInvalid(formatProblems(problems));
  }

  async #startNamed(id: string, spec: JobSpec, input: JobInput, hash: string): Promise<Submitted> {
    const start = { id, spec, input, hash };
    // Verbs would not know which of the two is meant.
    if (await isGroup(this.#parts, id)) throw new JobNameTaken(id, 'group');
    if (await this.#start(start)) return { id, spec, isNew: true };
    const { memo, searchAttributes } = await describeJob(this.#parts, id);
    // Nothing was done or stored for a refused job. A job started under the name meanwhile does not close as failed at once.
    const isFree = searchAttributes['JobPhase']?.[0] === REFUSED_PHASE;
    if (isFree && (await this.#start(start, 'ALLOW_DUPLICATE_FAILED_ONLY'))) return { id, spec, isNew: true };
    if (readable(id, (memo as JobMemo | undefined)?.contentHash) !== hash) throw new JobNameTaken(id);
    return { id, spec, isNew: false };
  }

  /** Starts the group of an array. The group's workflow starts the members. */
  async #submitGroup({ name, spec, array, hash, inputOf }: GroupSubmission): Promise<Submitted> {
    const { memberIndexes } = await import('../domain/array/array.js');
    const { groupIdProblem } = await import('../domain/array/group-state.js');
    const members = memberIndexes(array).length;
    const wrong = (id: string): string | undefined => groupIdProblem(id, array.size, MAX_JOB_ID);
    if (name !== undefined && (await isJob(this.#parts, name))) throw new JobNameTaken(name);
    for (;;) {
      const id = name ?? jobIdFor(spec, randomSuffix());
      const problem = wrong(id);
      // A random suffix may look like that of a retry; then another one is drawn.
      if (problem !== undefined && name === undefined && wrong(`${id.slice(0, -1)}x`) === undefined) continue;
      if (problem !== undefined) throw new JobInvalid(`name: ${problem}`);
      const input = { v: 1, submission: inputOf(id) } as const;
      const start = { id, input, memo: { name: spec.name, contentHash: hash, members }, spec };
      if (await startGroup(this.#parts, start, 'REJECT_DUPLICATE')) return { id, spec, isNew: true, members };
      if (name === undefined) continue;
      const known = await describeGroup(this.#parts, id);
      if (readable(id, known?.contentHash) !== hash) throw new JobNameTaken(id, 'group');
      return { id, spec, isNew: false, members };
    }
  }

  /** Returns false if the id is in use, by an open or an ended job. */
  async #start(
    { id, spec, input, hash }: Start,
    workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY' = 'REJECT_DUPLICATE',
  ): Promise<boolean> {
    const { WorkflowExecutionAlreadyStartedError } = await import('@temporalio/common');
    const { memo, attributes, summary } = jobStart(spec, input, hash);
    const { temporal, calls, taskQueue } = this.#parts;
    try {
      await calls.bounded(() =>
        temporal.workflow.start(WorkflowType.Job, {
          workflowId: id,
          taskQueue,
          args: [input],
          memo: { ...memo },
          typedSearchAttributes: keywords(attributes),
          workflowIdReusePolicy,
          workflowIdConflictPolicy: 'FAIL',
          staticSummary: summary,
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    }
  }
}

/**
 * Stores the job's local files, and makes the input of its workflow, which nobody has signed yet.
 * @throws JobInvalid if it is too large
 */
export async function uploadedInput(submission: Submission, upload: UploadFiles): Promise<JobInput> {
  const files = { ...submission.uploaded, ...(await upload(submission.files ?? {})) };
  const input: JobInput = {
    v: 1,
    job: submission.job,
    ...(submission.source === undefined ? {} : { source: submission.source }),
    ...(submission.user === undefined ? {} : { user: submission.user }),
    ...(submission.sshKey === undefined ? {} : { sshKey: submission.sshKey }),
    ...(submission.identityKeys === undefined ? {} : { identityKeys: submission.identityKeys }),
    ...(Object.keys(files).length === 0 ? {} : { files }),
  };
  const size = inputSizeProblem(input);
  if (size !== undefined) throw new JobInvalid(size);
  return input;
}

/** The user becomes a search attribute, which people's terminals print, before a worker has checked it. @throws JobInvalid */
export function mustBeUser(user: string | undefined): void {
  if (user !== undefined && !isValidUser(user))
    throw new JobInvalid(`user: ${showValue(user)} is no user\n  ${USER_RULE}`);
}

interface Resolved {
  /** With an array: the spec of its first member. */
  readonly spec: JobSpec;
  readonly array?: JobArray;
}

/** @throws JobInvalid with every problem */
export async function resolved({ job, spec, array }: Submission): Promise<Resolved> {
  if (spec !== undefined && (array !== undefined || !isArray(job))) return { spec, ...(array && { array }) };
  // Loaded here, because list, status and wait need no schema, and loading it takes half as long as starting Node.js.
  const { resolveJob } = await import('../domain/job-file/resolve.js');
  const found = resolveJob(job, { mayBeArray: true });
  if (found.ok) return { spec: found.spec, ...(found.array && { array: found.array }) };
  throw new JobInvalid(formatProblems(found.problems));
}

const isArray = (job: unknown): boolean => isMapping(job) && (job['array'] ?? undefined) !== undefined;

const randomSuffix = (): string => suffixFrom(randomBytes(SUFFIX_BYTES.random));
