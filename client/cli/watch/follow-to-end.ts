import type { JobClient } from '../../job-client.js';
import type { JobRow } from '../../job-rows.js';
import type { CliContext } from '../context.js';
import { openReader } from '../connect.js';
import { ExitCode } from '../exit-codes.js';
import { nextCommands } from '../render/job-header.js';
import { summaryLines } from '../render/progress.js';
import { prefixedSink } from './host-sink.js';
import { exitCodeOf } from './job-exit.js';
import { LogFollower } from './log-follower.js';
import type { Screen } from './screen.js';
import { watchJob } from './watch-job.js';

export interface FollowOptions {
  readonly client: JobClient;
  readonly context: CliContext;
  readonly id: string;
  readonly screen: Screen;
  readonly withLogs: boolean;
  /** Ends the watching, not the job. */
  readonly signal: AbortSignal;
  /** What the signal means, where it is not Ctrl-C: throws. */
  readonly onAbort?: () => void;
}

export interface Followed {
  readonly exitCode: number;
  /** Of the closed job; undefined where the watching was interrupted. */
  readonly row?: JobRow;
}

/** `submit --wait` and `wait`: phases, lines, summary, exit code. An interrupted one leaves the job running. */
export async function followToEnd(options: FollowOptions): Promise<Followed> {
  const { client, context, id, screen, withLogs, signal } = options;
  const store = withLogs && context.store ? await openReader(context.store) : undefined;
  const selection = { job: id, stream: 'command', firstAttempt: 1 };
  const logs = store && new LogFollower(store, selection, prefixedSink(screen));
  if (withLogs && !store)
    screen.line(both(`${screen.look.symbols.note} no bucket is configured (--bucket), so no logs are shown`));
  const row = await watchJob({ client, id, screen, signal, ...(logs ? { logs } : {}) });
  if (row === undefined) options.onAbort?.();
  if (row === undefined) return { exitCode: interrupted(id, screen) };
  // A job that was refused, or ended from outside, has no outcome: the reason is what `wait` throws.
  if (row.outcome === undefined) await client.wait(id);
  for (const line of summaryLines(row, context.store?.bucket, screen.look)) screen.line(both(line));
  return { exitCode: exitCodeOf(row), row };
}

/** To stderr: stdout may be a pipe that takes lines of the job alone. */
function interrupted(id: string, screen: Screen): number {
  screen.current(undefined);
  process.stderr.write(`\n${id} goes on. To come back to it:\n${nextCommands(id).join('\n')}\n`);
  return ExitCode.Interrupted;
}

const both = (text: string): { live: string; plain: string } => ({ live: text, plain: text });
