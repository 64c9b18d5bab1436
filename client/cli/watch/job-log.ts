import type { JobClient } from '../../job-client.js';
import type { JobEvent } from '../../../workflows/messages.js';
import { ExitCode } from '../exit-codes.js';
import { isPassing, pause } from './watch-job.js';

/** As the store keeps them (activities/job-records.ts). */
export const eventLine = ({ at, text }: JobEvent): string => `${new Date(at).toISOString()} ${text}\n`;

/** Of an open job: what its workflow says, else what is stored, with a word on stderr. */
export async function jobLogText(client: Pick<JobClient, 'describe'>, id: string, stored: string): Promise<string> {
  try {
    const { events } = await client.describe(id);
    return events.map(eventLine).join('');
  } catch (error) {
    process.stderr.write(`no worker answers for ${id}, so this is what was stored last: ${(error as Error).message}\n`);
    return stored;
  }
}

/** Each look asks the job's workflow, which costs a worker some work: less often than a row. */
const LOOK_MS = 2_000;

/** Prints events as they come, until the job has an outcome. */
export async function followJobLog(client: JobClient, id: string, signal: AbortSignal): Promise<number> {
  let lastAt = 0;
  const told = new Set<string>();
  while (!signal.aborted) {
    try {
      const row = await client.row(id);
      const { events } = await client.describe(id);
      const fresh = events.filter((event) => event.at >= lastAt && !told.has(eventLine(event)));
      for (const event of fresh) {
        told.add(eventLine(event));
        lastAt = event.at;
        process.stdout.write(eventLine(event));
      }
      if (row.endedAt !== undefined) return ExitCode.Done;
    } catch (error) {
      if (!isPassing(error) && (error as Error).name !== 'QueryNotRegisteredError') throw error;
    }
    await pause(LOOK_MS, signal);
  }
  return ExitCode.Interrupted;
}
