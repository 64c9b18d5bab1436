import type { JobClient } from '../../../client/job-client.js';
import { storedEvents, storedJobLog } from '../../../client/job-logs.js';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { ShownEvent } from '../../../domain/job-events/event.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { isOutage, pause } from '../../../client/errors.js';
import { printErr, printOut } from '../../terminal/print.js';
import { type FollowedLog, LogFollower, type LogSelection, type LogSink } from '../../../client/log-follower.js';
import { openMarks } from '../../place/connect.js';
import type { StorePlace } from '../../place/context.js';

/** The form of a printed log. */
interface JobLogForm {
  line(event: ShownEvent): string;
  /** The stored log; a closed job's log is read from it, which needs no worker. */
  stored(): Promise<string>;
}

/** Lines in the store's form (activities/job-records.ts), or events as JSON. */
export const jobLogForm = (store: StoreReader, id: string, isJson: boolean): JobLogForm =>
  isJson
    ? { line: jsonLine, stored: async () => (await storedEvents(store, id)).map(jsonLine).join('') }
    : {
        line: ({ at, text }) => `${new Date(at).toISOString()} ${text}\n`,
        stored: async () => (await storedJobLog(store, id)).toString('utf8'),
      };

const jsonLine = (event: ShownEvent): string => `${JSON.stringify(event)}\n`;

/** The events of an open job from its workflow, or else the stored ones, with a note on stderr. */
export async function openJobLog<T>(
  client: Pick<JobClient, 'describe'>,
  id: string,
  { known, stored }: { known(events: readonly ShownEvent[]): T; stored(): Promise<T> },
): Promise<T> {
  try {
    return known((await client.describe(id)).events);
  } catch (error) {
    printErr(`no worker answers for ${id}, so this is what was stored last: ${(error as Error).message}\n`);
    return stored();
  }
}

/**
 * Interval between looks. Each queries the job's workflow, which costs a worker some work, so they are rarer than reads of a
 * row.
 */
const LOOK_MS = 2_000;

/** Prints the job's own log as it grows, until the job is closed. */
export async function followJobLog(
  client: Pick<JobClient, 'row' | 'describe'>,
  id: string,
  { line, stored }: JobLogForm,
  signal: AbortSignal,
): Promise<number> {
  const told = new Set<string>();
  const tell = (lines: readonly string[]): void => {
    for (const each of lines.filter((one) => !told.has(one))) {
      told.add(each);
      printOut(each);
    }
  };
  while (!signal.aborted) {
    const { endedAt } = await client.row(id);
    if (endedAt !== undefined) {
      tell((await stored()).match(/(?<![^\n])[^\n]*\n/g) ?? []);
      return ExitCode.Done;
    }
    tell((await newEvents(client, id)).map(line));
    await pause(LOOK_MS, signal);
  }
  return ExitCode.Interrupted;
}

/** New events of the job. Empty if no worker answers now, or the job has not been accepted yet: the next look gets them. */
async function newEvents(client: Pick<JobClient, 'describe'>, id: string): Promise<readonly ShownEvent[]> {
  try {
    return (await client.describe(id)).events;
  } catch (error) {
    if (isOutage(error) || (error as Error).name === 'QueryNotRegisteredError') return [];
    throw error;
  }
}

/** Opens a growing log: from a server, or by listings of the bucket. */
export async function openLog(
  place: StorePlace,
  store: StoreReader,
  selection: LogSelection,
  sink: LogSink,
): Promise<FollowedLog> {
  if (!('server' in place)) return new LogFollower(store, selection, sink, openMarks(place));
  const [{ ServedLog }, { serverOptionsOf }] = await Promise.all([
    import('../../../client/http/served-log.js'),
    import('../../place/login/server-access.js'),
  ]);
  return new ServedLog(serverOptionsOf(place.server), selection, sink);
}
