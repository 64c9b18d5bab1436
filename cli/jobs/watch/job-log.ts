import type { JobClient } from '../../../client/job-client.js';
import type { JobEvent } from '../../../contract/job.js';
import { ExitCode } from '../../terminal/exit-codes.js';
import { isOutage, pause } from '../../../client/outage.js';
import { printErr, printOut } from '../../terminal/print.js';

/** An event line in the store's form (activities/job-records.ts). */
export const eventLine = ({ at, text }: JobEvent): string => `${new Date(at).toISOString()} ${text}\n`;

/** The log of an open job from its workflow, or else the stored one, with a note on stderr. */
export async function jobLogText(
  client: Pick<JobClient, 'describe'>,
  id: string,
  stored: () => Promise<string>,
): Promise<string> {
  try {
    const { events } = await client.describe(id);
    return events.map(eventLine).join('');
  } catch (error) {
    printErr(`no worker answers for ${id}, so this is what was stored last: ${(error as Error).message}\n`);
    return stored();
  }
}

/** Each look queries the job's workflow, which costs a worker some work, so looks are rarer than for a row. */
const LOOK_MS = 2_000;

/**
 * Prints the job's own log as it grows, until the job is closed.
 * @param stored the stored log; a closed job's log is read from it, which needs no worker
 */
export async function followJobLog(
  client: Pick<JobClient, 'row' | 'describe'>,
  id: string,
  stored: () => Promise<string>,
  signal: AbortSignal,
): Promise<number> {
  const told = new Set<string>();
  const tell = (lines: readonly string[]): void => {
    for (const line of lines.filter((each) => !told.has(each))) {
      told.add(line);
      printOut(line);
    }
  };
  while (!signal.aborted) {
    const { endedAt } = await client.row(id);
    if (endedAt !== undefined) {
      tell((await stored()).match(/(?<![^\n])[^\n]*\n/g) ?? []);
      return ExitCode.Done;
    }
    tell(await eventLines(client, id));
    await pause(LOOK_MS, signal);
  }
  return ExitCode.Interrupted;
}

/** Empty if no worker answers now, or the job has not been accepted yet: the next look gets the lines. */
async function eventLines(client: Pick<JobClient, 'describe'>, id: string): Promise<readonly string[]> {
  try {
    return (await client.describe(id)).events.map(eventLine);
  } catch (error) {
    if (isOutage(error) || (error as Error).name === 'QueryNotRegisteredError') return [];
    throw error;
  }
}
