import type { UpdateDefinition } from '@temporalio/common';
import { type CancelNote, cancelNoteSignal } from '../contract/job.js';
import { type EditCall, JOB_UPDATES, type JobCall, type JobVerb } from '../contract/job-requests.js';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { SliceDeletion, StuckDeletion } from '../domain/lease.js';
import type { Asker } from '../domain/job-state.js';
import { sliceWorkflowId } from '../contract/workflow-ids.js';
import { JobInvalid, JobNotFound, JobRefused } from './errors.js';
import type { TemporalAccess } from './job-executions.js';
import { updateAnswer, type UpdateErrors } from './temporal-calls.js';
import type { LocalContents, UploadFiles } from './uploads.js';

/** A new job file for later attempts of an open job. Changes that it may not make are refused (docs/job-states.md). */
export interface JobEdit {
  /** Host name of the caller's computer. */
  readonly from?: string;
  /** The whole file, as plain JSON. Absent: `set` changes the file in force. */
  readonly job?: unknown;
  readonly set?: NonNullable<EditCall['set']>;
  /** Text of the file, kept with the attempt. */
  readonly source?: string;
  /** Content of each local file that the new file names, keyed by the path as written. */
  readonly files?: LocalContents;
  /** Files that the store already has: path -> SHA-256. */
  readonly uploaded?: Readonly<Record<string, string>>;
  /** See `Submission`. */
  readonly identityKeys?: Readonly<Record<string, string>>;
}

/** The request that a person sends with a verb (contract/job-requests.ts). An edit comes with the contents of its files. */
export type JobWish<Verb extends JobVerb> = 'identityKeys' extends keyof JobCall<Verb>
  ? JobEdit & Omit<JobCall<Verb>, keyof EditCall>
  : Omit<JobCall<Verb>, 'v' | 'by'>;

export interface JobCallsOptions extends TemporalAccess {
  readonly upload: UploadFiles;
  readonly polls: UpdateErrors['polls'];
}

/**
 * Cancels an open workflow of jobctl. It first sends who cancels, and then Temporal's own request. The latter reaches a
 * workflow without a worker but has no name (docs/adr/0060).
 * @returns `done` if the workflow has ended meanwhile
 */
export async function cancelOpen(
  { temporal, calls }: Pick<TemporalAccess, 'temporal' | 'calls'>,
  workflowId: string,
  asker: Asker | undefined,
): Promise<'cancelling' | 'done'> {
  const { WorkflowNotFoundError } = await import('@temporalio/common');
  const handle = temporal.workflow.getHandle(workflowId);
  try {
    if (asker !== undefined) {
      const { by, from, verb } = asker;
      const note: CancelNote = {
        v: 1,
        by,
        ...(from === undefined ? {} : { from }),
        ...(verb === undefined ? {} : { verb }),
      };
      await calls.bounded(() => handle.signal(cancelNoteSignal, note));
    }
    await calls.bounded(() => handle.cancel());
    return 'cancelling';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'done';
    throw error;
  }
}

/** Requests of people to one open job, sent as updates of its workflow. Each returns a sentence once the job has noted it. */
export class JobCalls {
  readonly #options: JobCallsOptions;

  constructor(options: JobCallsOptions) {
    this.#options = options;
  }

  async tell<Verb extends JobVerb>(id: string, verb: Verb, by: string, wish: JobWish<Verb>): Promise<string> {
    const { files = {}, uploaded: before, ...others } = wish as JobEdit;
    const uploaded = { ...before, ...(await this.#options.upload(files)) };
    const call = { v: 1, by, ...others, ...(Object.keys(uploaded).length === 0 ? {} : { files: uploaded }) };
    const update = JOB_UPDATES[verb] as unknown as UpdateDefinition<{ readonly message: string }, [unknown]>;
    return updateAnswer(this.#options.calls, () => this.#handle(id).executeUpdate(update, { args: [call] }), {
      whom: `job ${id}`,
      seenBy: `jobctl status ${id}`,
      polls: this.#options.polls,
      refused: (why) => new JobRefused(id, why),
      invalid: (why) => new JobInvalid(why),
      notFound: () => new JobNotFound(id, this.#options.where),
    });
  }

  /** Those of the given slices whose workflows are still open: their machines are being deleted in the cloud. */
  async deletions(names: readonly string[]): Promise<readonly SliceDeletion[]> {
    const { WorkflowNotFoundError } = await import('@temporalio/common');
    const { calls } = this.#options;
    const look = async (slice: string): Promise<SliceDeletion | undefined> => {
      try {
        const execution = await calls.bounded(() => this.#handle(sliceWorkflowId(slice)).describe());
        return execution.status.name === 'RUNNING' ? { slice, ...(await this.#lastBeat(execution)) } : undefined;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    };
    return (await Promise.all(names.map(look))).filter((deletion) => deletion !== undefined);
  }

  /** The last heartbeat of the activity that deletes (activities/giving-back.ts). */
  async #lastBeat({ raw }: WorkflowExecutionDescription): Promise<StuckDeletion | undefined> {
    const deletes = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'deleteUntilGone');
    const payloads = deletes?.heartbeatDetails?.payloads;
    if (!payloads?.length) return undefined;
    const { decodeArrayFromPayloads } = await import('@temporalio/common/lib/internal-non-workflow/index.js');
    const { loadedDataConverter } = this.#options.temporal.options;
    // An earlier build's heartbeat has another form; one that cannot be decrypted counts as absent.
    const decoded = await decodeArrayFromPayloads(loadedDataConverter, payloads).catch(() => []);
    const { deletionForm } = await import('../contract/lease-forms.js');
    return deletionForm().safeParse(decoded[0]).data;
  }

  #handle(workflowId: string) {
    return this.#options.temporal.workflow.getHandle(workflowId);
  }
}
