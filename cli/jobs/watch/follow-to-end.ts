import type { StoreReader } from '../../../cloud/store/port.js';
import { logPrefix } from '../../../domain/store-layout.js';
import { JobLogReader } from '../../../client/job-logs.js';
import { logStart } from '../../../cloud/store/log-starts.js';
import type { JobClient } from '../../../client/job-client.js';
import { type JobRow, resultOf } from '../../../client/job-rows.js';
import type { CliContext } from '../../place/context.js';
import { openReader } from '../../place/connect.js';
import { ExitCode, CliError } from '../../terminal/cli-error.js';
import { refusalLines } from '../submitting/first-verdict.js';
import { nextCommands } from '../../terminal/render/job-header.js';
import { summaryLines } from '../../terminal/render/progress.js';
import { isOutage } from '../../../client/errors.js';
import { prefixedSink, type Screen } from './screen.js';
import { openLog } from './job-log.js';
import { watchJob } from './watch-job.js';
import { printErr } from '../../terminal/print.js';

export interface FollowOptions {
  readonly client: JobClient;
  readonly context: CliContext;
  readonly id: string;
  readonly screen: Screen;
  /** The hosts whose lines are shown. Absent: no lines. */
  readonly lines?: ShownLines;
  /** True if the user was already told, where it applies, that no worker polls for the job. */
  readonly isVerdictTold?: boolean;
  /** Stops watching; the job continues. */
  readonly signal: AbortSignal;
  /** Called after `signal` aborted. It may throw, for example on a timeout. */
  readonly onAbort?: () => void;
}

/** The hosts whose lines are shown, counted over all slices. */
export interface ShownLines {
  /** Absent: all hosts. */
  readonly hosts?: readonly number[];
  readonly hostsOfSlice: number;
}

export interface Followed {
  readonly exitCode: number;
  /** The closed job. Absent if watching was interrupted. */
  readonly row?: JobRow;
}

/** Shows a job's phases and log lines until it ends, then its summary. `submit --wait` and `wait` do this. */
export async function followToEnd(options: FollowOptions): Promise<Followed> {
  const { client, context, id, screen, lines, signal, isVerdictTold = false } = options;
  const store = context.store && (await openReader(context.store));
  const selection = { job: id, stream: 'command', firstAttempt: 1, hosts: lines?.hosts };
  const logs =
    lines && context.store && store && (await openLog(context.store, store, selection, prefixedSink(screen)));
  if (lines && !store)
    screen.line(both(`${screen.look.symbols.note} no bucket is configured (--bucket), so no logs are shown`));
  const row = await watchJob({
    client,
    id,
    screen,
    signal,
    isVerdictTold,
    isServed: context.server !== undefined,
    ...(store && { store }),
    ...(logs && { logs }),
  });
  if (row === undefined) options.onAbort?.();
  if (row === undefined) return { exitCode: interrupted(id, screen) };
  // A refused or terminated job has no outcome. `client.wait` throws the reason.
  if (row.outcome === undefined) await client.wait(id).catch(throwRefusal(id));
  if (lines && store) await showFailing(store, row, lines, screen);
  for (const line of summaryLines(row, context.bucket?.bucket, screen.look)) screen.line(both(line));
  return { exitCode: exitCodeOf(row), row };
}

const LAST_LINES = 20;

/** Shows the last lines of the host that made the command fail, if they were not already shown. */
async function showFailing(
  store: StoreReader,
  { id, outcome }: JobRow,
  { hosts, hostsOfSlice }: ShownLines,
  screen: Screen,
): Promise<void> {
  const { slice = 0, host } = outcome?.cause ?? {};
  if (outcome === undefined || host === undefined || hosts === undefined) return;
  const number = slice * hostsOfSlice + host;
  if (hosts.includes(number)) return;
  try {
    const place = { attempt: outcome.attempts, stream: 'command' };
    const start = await logStart(store, logPrefix(id, place.attempt, place.stream), number, { tail: LAST_LINES });
    const reader = new JobLogReader(store, id, { ...place, hosts: [number], starts: new Map([[number, start]]) });
    const sink = prefixedSink(screen);
    screen.line(both(`${screen.look.symbols.note} the last lines of host ${number}, by which it failed:`));
    for await (const stretch of reader.unread()) await sink.stretch(stretch);
    await sink.attemptEnd(place.attempt);
  } catch (error) {
    if (!isOutage(error)) throw error;
  }
}

/** Throws the refusal: a job that was never accepted exits with 4, like any other refusal. */
const throwRefusal =
  (id: string) =>
  (error: Error): never => {
    throw error.name === 'JobInvalid' ? new CliError(ExitCode.Refused, ...refusalLines(id, error.message)) : error;
  };

/** Writes to stderr, because stdout may be a pipe that expects only the job's lines. */
export function interrupted(id: string, screen: Screen): number {
  screen.current(undefined);
  printErr(`\n${id} goes on. To come back to it:\n${nextCommands(id).join('\n')}\n`);
  return ExitCode.Interrupted;
}

const both = (text: string): { live: string; plain: string } => ({ live: text, plain: text });

/** The exit code of `wait` for a job that ended: that of the job's command if it failed with one, or else one of `ExitCode`. */
export function exitCodeOf(row: Pick<JobRow, 'phase' | 'outcome'>): number {
  switch (resultOf(row)) {
    case 'succeeded':
      return ExitCode.Done;
    case 'cancelled':
      return ExitCode.Interrupted;
    default:
      // A failed job may carry exit code 0, for example if a slice was refused after a successful attempt. This is not a success.
      return row.outcome?.exitCode || ExitCode.Failed;
  }
}
