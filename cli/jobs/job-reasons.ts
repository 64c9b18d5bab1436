import type { StoreReader } from '../../cloud/store/port.js';
import { JobPhase } from '../../domain/job-state.js';
import { setUpText } from '../../domain/set-up-record.js';
import { type JobRow, isOver } from '../../client/job-rows.js';
import { nextSetUp } from '../../client/job-records.js';
import { openReader } from '../place/connect.js';
import type { CliContext } from '../place/context.js';
import type { JobView } from '../../contract/job.js';
import type { JobClient } from '../../client/job-client.js';

/**
 * Progress of a job's set-up, from the record that its worker keeps in the store. It costs one read, and nothing passes through
 * the job's workflow (docs/adr/0063). Undefined: the job is not being set up, or nothing is known yet.
 */
export async function setUpReason(store: Pick<StoreReader, 'read'>, row: JobRow): Promise<string | undefined> {
  if (row.phase !== JobPhase.SettingUp) return undefined;
  // A closed record belongs to an attempt before a reset of the workflow in Temporal.
  const setUp = await nextSetUp(store, row);
  if (setUp === undefined || setUp.record.endedAt !== undefined) return undefined;
  return setUpText(setUp.record, { isAttended: row.isSetUpAttended !== false });
}

/** The row, with the progress of its set-up in place of the modules' names. @param reason from `setUpReason` */
export function withReason(row: JobRow, reason: string | undefined): JobRow {
  if (reason === undefined) return row;
  // Text after a semicolon names problems at the same time.
  const troubles = row.why?.split('; ').slice(1) ?? [];
  return { ...row, why: [reason, ...troubles].join('; ') };
}

/** Adds the progress of the set-up, with one read. An unreadable store leaves the row unchanged. */
export async function withSetUp(row: JobRow, { store }: CliContext): Promise<JobRow> {
  if (store === undefined || row.phase !== JobPhase.SettingUp) return row;
  const reason = await setUpReason(await openReader(store), row).catch(() => undefined);
  return withReason(row, reason);
}

/** Facts that only the job's workflow knows, or the reason why they are missing. */
export type ViewOrReason = { readonly view: JobView } | { readonly missing: string };

/** Timeout of the view. A running worker answers in a fraction of it. */
const VIEW_TIMEOUT_MS = 5_000;

/** The job's view, or the reason why it is missing. Never rejects. */
export async function viewOf(client: Pick<JobClient, 'describe'>, id: string): Promise<ViewOrReason> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no worker answered within ${VIEW_TIMEOUT_MS / 1000} s`)),
      VIEW_TIMEOUT_MS,
    );
  });
  try {
    return { view: await Promise.race([client.describe(id), timeout]) };
  } catch (error) {
    return { missing: (error as Error).message };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The reason why a job that is over was never accepted, as `jobctl validate` would say it. Undefined: it was accepted, or is open.
 * @throws the client's error if the job was ended from outside
 */
export async function refusalOf(client: Pick<JobClient, 'wait'>, row: JobRow): Promise<string | undefined> {
  // A job that was never accepted has no outcome.
  if (!isOver(row) || row.outcome !== undefined) return undefined;
  try {
    await client.wait(row.id);
  } catch (error) {
    if ((error as Error).name === 'JobInvalid') return (error as Error).message;
    throw error;
  }
  return undefined;
}
