import type { StoreReader } from '../../cloud/store/port.js';
import { JobPhase } from '../../domain/job-state.js';
import { setUpText } from '../../domain/setup-record.js';
import type { JobRow } from '../job-rows.js';
import { nextSetUp } from '../set-up-records.js';
import { openReader } from './connect.js';
import type { CliContext } from './context.js';

/**
 * What the set-up of a job is at, from the record that its worker keeps in the store: one read, and nothing of it passes through
 * the job's workflow (docs/adr/0063). Undefined: the job is not being set up, or nothing is known of it yet.
 */
export async function setUpReason(store: Pick<StoreReader, 'read'>, row: JobRow): Promise<string | undefined> {
  if (row.phase !== JobPhase.SettingUp) return undefined;
  // One that is closed is of an attempt before Temporal was set back.
  const setUp = await nextSetUp(store, row);
  if (setUp === undefined || setUp.record.endedAt !== undefined) return undefined;
  return setUpText(setUp.record, { isAttended: row.isSetUpAttended !== false });
}

/** The row, with what its set-up is at in place of the modules' names. @param reason as `setUpReason` gives it */
export function withReason(row: JobRow, reason: string | undefined): JobRow {
  if (reason === undefined) return row;
  // Behind a semicolon stands what is wrong at the same time.
  const troubles = row.why?.split('; ').slice(1) ?? [];
  return { ...row, why: [reason, ...troubles].join('; ') };
}

/** One look. A store that cannot be read leaves the row as it is. */
export async function withSetUp(row: JobRow, { store }: CliContext): Promise<JobRow> {
  if (store === undefined || row.phase !== JobPhase.SettingUp) return row;
  const reason = await setUpReason(await openReader(store), row).catch(() => undefined);
  return withReason(row, reason);
}
