import type { JobClient } from '../../client/job-client.js';
import { isOver, type JobRow } from '../../client/job-rows.js';

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
