import type { StoreReader } from '../../../cloud/store/port.js';
import { findAccelerator } from '../../../domain/accelerators.js';
import { HOOKS } from '../../../domain/hooks.js';
import type { SetUpRecord } from '../../../domain/setup-record.js';
import { setUpObject } from '../../../domain/store-layout.js';
import type { JobClient } from '../../job-client.js';
import type { JobRow } from '../../job-rows.js';
import { JobLogReader, storedAttempts, storedJobLog } from '../../job-logs.js';
import { openReader, withClient } from '../connect.js';
import { resolveContext, storeOf } from '../context.js';
import type { ContextFlags } from '../context.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { prefixedSink, rawSink } from '../watch/host-lines.js';
import { watchEnd } from '../watch/interruptions.js';
import { followJobLog, jobLogText } from '../watch/job-log.js';
import type { LogSink } from '../watch/log-follower.js';
import { LogFollower } from '../watch/log-follower.js';
import type { Screen } from '../watch/screen.js';
import { PlainScreen } from '../watch/screen.js';
import { lookOf } from '../render/look.js';
import { watchJob } from '../watch/watch-job.js';
import { asTyped } from '../typed-command.js';

export interface LogsFlags extends ContextFlags {
  readonly follow?: true;
  readonly host?: number;
  readonly attempt?: number;
  readonly job?: true;
  readonly module?: string;
}

export async function logs(job: string, flags: LogsFlags): Promise<number> {
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the logs of ${job} cannot be read`));
  return withClient(context, async (client) => {
    const row = await client.row(job);
    if (flags.job === true) return printJobLog(client, store, row, flags);
    const stream = flags.module ?? 'command';
    await refuseUnknown(store, row, flags);
    const screen = new PlainScreen(process.stdout, process.stderr, lookOf(process.stdout, process.env));
    const sink = isRaw(row, flags) ? rawSink(screen) : prefixedSink(screen);
    if (flags.follow === true && row.endedAt === undefined)
      return follow(client, store, row, stream, flags, screen, sink);
    return printStored(store, row, stream, flags, sink);
  });
}

/** What the hooks of its end printed; that of `preemption` is in the command's output. */
const HOOK_STREAMS = HOOKS.filter((name) => name !== 'preemption').map((name) => `hook-${name}`);

/** By what the set-up of the attempt noted. @throws CliError for a host or a module that the job has not */
async function refuseUnknown(store: StoreReader, { id, attempts }: JobRow, flags: LogsFlags): Promise<void> {
  const { host, module, attempt = attempts } = flags;
  if (attempt === 0 || (host === undefined && module === undefined)) return;
  const stored = await store.read(setUpObject(id, attempt));
  if (stored === undefined) return;
  const { hosts, modules } = JSON.parse(stored.toString()) as SetUpRecord;
  if (host !== undefined && host >= hosts) {
    const has = hosts === 1 ? 'it has one, with index 0' : `it has ${hosts}: 0 to ${hosts - 1}`;
    throw new CliError(ExitCode.NotFound, `--host ${host}: ${id} has no such host`, has);
  }
  const streams = [...modules, ...HOOK_STREAMS];
  if (module !== undefined && !streams.includes(module)) {
    const has = modules.length === 0 ? 'it has none' : `its modules are ${modules.join(', ')}`;
    throw new CliError(ExitCode.NotFound, `--module ${module}: ${id} has no such module`, has);
  }
}

/** One host's output is given byte for byte. */
function isRaw({ slice }: JobRow, { host }: LogsFlags): boolean {
  return host !== undefined || findAccelerator(slice)?.hosts === 1;
}

async function printStored(
  store: StoreReader,
  row: JobRow,
  stream: string,
  flags: LogsFlags,
  sink: LogSink,
): Promise<number> {
  const attempts = await storedAttempts(store, row.id, stream);
  const attempt = flags.attempt ?? attempts.at(-1);
  if (attempt === undefined || !attempts.includes(attempt)) {
    return nothingStored(row, stream, flags.attempt, attempts);
  }
  const place = { attempt, stream, host: flags.host };
  let isEmpty = true;
  for await (const { host, bytes } of new JobLogReader(store, row.id, place).unread()) {
    isEmpty = false;
    await sink.stretch(host, bytes);
  }
  await sink.attemptEnd(attempt);
  if (isEmpty) process.stderr.write(`attempt ${attempt} of ${row.id} has no output of host ${flags.host ?? '?'} yet\n`);
  return ExitCode.Done;
}

/** Nothing yet is no error; an attempt that never was is. */
function nothingStored(
  { id, phase, attempts }: JobRow,
  stream: string,
  asked: number | undefined,
  stored: readonly number[],
): number {
  if (asked !== undefined && asked > Math.max(attempts, ...stored, 0)) {
    const known = attempts === 0 ? 'none has begun' : `the last is ${attempts}`;
    throw new CliError(ExitCode.NotFound, `${id} has no attempt ${asked}: ${known}`, `it is ${phase}`);
  }
  const what = stream === 'command' ? 'its command has written nothing' : `module ${stream} has written nothing`;
  process.stderr.write(`${id} is ${phase}: ${what}${asked === undefined ? '' : ` in attempt ${asked}`}\n`);
  process.stderr.write(asTyped(`  \`jobctl logs ${id} --job\` shows what jobctl did for it\n`));
  return ExitCode.Done;
}

async function follow(
  client: JobClient,
  store: StoreReader,
  row: JobRow,
  stream: string,
  flags: LogsFlags,
  screen: Screen,
  sink: LogSink,
): Promise<number> {
  const selection = {
    job: row.id,
    stream,
    host: flags.host,
    firstAttempt: flags.attempt ?? Math.max(1, row.attempts),
    ...(flags.attempt === undefined ? {} : { lastAttempt: flags.attempt }),
  };
  const signal = watchEnd();
  const follower = new LogFollower(store, selection, noting(sink, row.id));
  const last = await watchJob({ client, id: row.id, screen, logs: follower, signal, isQuiet: true });
  return last === undefined ? ExitCode.Interrupted : ExitCode.Done;
}

/** Between two attempts a line on stderr: the hosts' own bytes stay as they are. */
function noting(sink: LogSink, job: string): LogSink {
  return {
    ...sink,
    attemptEnd: async (attempt) => {
      await sink.attemptEnd(attempt);
      process.stderr.write(`-- end of attempt ${attempt} of ${job} --\n`);
    },
  };
}

async function printJobLog(client: JobClient, store: StoreReader, row: JobRow, flags: LogsFlags): Promise<number> {
  const stored = async (): Promise<string> => (await storedJobLog(store, row.id)).toString('utf8');
  if (flags.follow === true && row.endedAt === undefined) return followJobLog(client, row.id, stored, watchEnd());
  // Of an open job the store has what the last attempt's start left there; the workflow has the rest.
  const text = row.endedAt === undefined ? await jobLogText(client, row.id, stored) : await stored();
  process.stdout.write(text);
  if (text === '') process.stderr.write(`${row.id} is ${row.phase}: jobctl has noted nothing of it\n`);
  return ExitCode.Done;
}
