import type { StoreReader } from '../../cloud/store/port.js';
import { JobPhase } from '../../domain/job-state.js';
import { setUpText } from '../../domain/setup-record.js';
import type { JobRow } from '../../client/job-rows.js';
import { nextSetUp } from '../../client/set-up-records.js';
import { openReader } from './connect.js';
import type { CliContext } from './context.js';

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
