import type { StoreReader } from '../../../cloud/store/port.js';
import { findAccelerator } from '../../../domain/accelerators.js';
import { HOOKS } from '../../../domain/hooks.js';
import type { ShownEvent } from '../../../domain/job-events/event.js';
import { BUILD_STREAM, logPrefix, STACKS_STREAM } from '../../../domain/store-layout.js';
import type { EpochMs } from '../../../domain/units.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import { inTurns, JobLogReader, storedAttempts } from '../../../client/job-logs.js';
import { hostsWithChunks } from '../../../cloud/store/log-chunks.js';
import { logStart, type LogStart } from '../../../cloud/store/log-starts.js';
import { failedSteps, newestSetUp, readSetUp, type StoredSetUp } from '../../../client/job-records.js';
import { orGroup } from '../../jobs/groups/or-group.js';
import { openReader, withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext, type StorePlace, storeOf } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type HostChoice, lineMatcher } from '../../jobs/job-filter.js';
import type { OutputFlag } from '../../terminal/options.js';
import { lineSink, prefixedSink, rawSink, type Screen, PlainScreen } from '../../jobs/watch/screen.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { followJobLog, jobLogForm, openJobLog, openLog } from '../../jobs/watch/job-log.js';
import type { LogSink } from '../../../client/log-follower.js';
import { lookOf } from '../../terminal/render/look.js';
import { watchJob } from '../../jobs/watch/watch-job.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import { largest } from '../../../domain/extremes.js';

export interface LogsFlags extends ContextFlags, Partial<OutputFlag> {
  readonly follow?: true;
  readonly host?: HostChoice;
  readonly attempt?: number;
  readonly job?: true;
  readonly module?: string;
  readonly tail?: number;
  readonly since?: EpochMs;
  readonly grep?: string;
  readonly timestamps?: true;
  /** Index of a member, if the id is a group's. */
  readonly member?: number;
}

/** The selected output of a job. */
interface Selection {
  readonly row: JobRow;
  readonly stream: string;
  /** Absent: all hosts. */
  readonly hosts?: readonly number[];
  /** Number of the job's hosts. Absent: unknown. */
  readonly hostCount?: number;
  readonly isWanted?: (line: Buffer) => boolean;
  readonly flags: LogsFlags;
}

export async function logs(id: string, flags: LogsFlags): Promise<number> {
  const { member } = flags;
  return orGroup(
    () => (member === undefined ? logsOfJob(id, flags) : logsOfMember(id, member, flags)),
    async (group) => (await import('../../jobs/groups/members.js')).whichMember(group),
  );
}

async function logsOfMember(group: string, index: number, flags: LogsFlags): Promise<number> {
  const { memberJob } = await import('../../jobs/groups/members.js');
  return logsOfJob(await withClient(resolveContext(flags), (client) => memberJob(client, group, index)), flags);
}

async function logsOfJob(job: string, flags: LogsFlags): Promise<number> {
  const context = resolveContext(flags);
  const isWanted = flags.grep === undefined ? undefined : await lineMatcher(flags.grep);
  const place = storeOf(context, `the logs of ${job} cannot be read`);
  const store = await openReader(place);
  return withClient(context, async (client) => {
    const row = await client.row(job);
    if (flags.job === true) return printJobLog(client, store, row, flags);
    const { attempt } = flags;
    const setUp = await (attempt === undefined ? newestSetUp(store, row) : readSetUp(store, row.id, attempt));
    if (setUp) refuseUnknown(row, setUp, flags);
    const screen = new PlainScreen(process.stdout, process.stderr, lookOf(process.stdout, process.env));
    const selection: Selection = {
      row,
      stream: flags.module ?? 'command',
      flags,
      ...(flags.host === undefined || flags.host === 'all' ? {} : { hosts: flags.host }),
      ...(setUp && { hostCount: setUp.record.hosts }),
      ...(isWanted && { isWanted }),
    };
    if (flags.follow === true && row.endedAt === undefined) return follow(client, place, store, selection, screen);
    return printStored(store, selection, setUp, screen);
  });
}

/** Streams of the hooks at the job's end. Output of the hook `preemption` is in the command's stream. */
const HOOK_STREAMS = HOOKS.filter((name) => name !== 'preemption').map((name) => `hook-${name}`);

/** Checks the flags against the attempt's set-up. @throws CliError for a host or a module that the job does not have */
function refuseUnknown({ id }: JobRow, { record: { hosts, modules } }: StoredSetUp, flags: LogsFlags): void {
  const { host = 'all', module } = flags;
  const absent = host === 'all' ? undefined : host.find((index) => index >= hosts);
  if (absent !== undefined) {
    const has = hosts === 1 ? 'it has one, with index 0' : `it has ${hosts}: 0 to ${hosts - 1}`;
    throw new CliError(ExitCode.NotFound, `--host ${absent}: ${id} has no such host`, has);
  }
  const streams = [...modules, BUILD_STREAM, STACKS_STREAM, ...HOOK_STREAMS];
  if (module !== undefined && !streams.includes(module)) {
    const has = modules.length === 0 ? 'it has none' : `its modules are ${modules.join(', ')}`;
    throw new CliError(ExitCode.NotFound, `--module ${module}: ${id} has no such module`, has);
  }
}

function sinkOf({ row, stream, hosts, isWanted, flags }: Selection, screen: Screen): LogSink {
  const isOneHost = hosts === undefined ? findAccelerator(row.slice)?.hosts === 1 : hosts.length === 1;
  const isJson = flags.output === 'json';
  const hasTimes = flags.timestamps === true;
  if (isJson || hasTimes || isWanted !== undefined)
    return lineSink(screen, { isJson, hasTimes, isOneHost, stream, isWanted });
  // One host's output is passed on byte for byte.
  return isOneHost ? rawSink(screen) : prefixedSink(screen);
}

/** The start position of each shown host's output. Undefined: from its beginning. */
async function startsOf(
  store: StoreReader,
  { row, stream, hosts, hostCount, isWanted, flags: { tail, since } }: Selection,
  attempt: number,
): Promise<{ readonly hosts: readonly number[]; readonly starts: ReadonlyMap<number, LogStart> } | undefined> {
  if (tail === undefined && since === undefined) return undefined;
  const prefix = logPrefix(row.id, attempt, stream);
  const all = hostCount === undefined ? undefined : Array.from({ length: hostCount }, (_, at) => at);
  const chosen = hosts ?? all ?? (await hostsWithChunks(store, prefix));
  const starts = await inTurns(
    chosen.map((host) => async () => [host, await logStart(store, prefix, host, { tail, since, isWanted })] as const),
  );
  return { hosts: chosen, starts: new Map(starts) };
}

async function printStored(
  store: StoreReader,
  asked: Selection,
  setUp: StoredSetUp | undefined,
  screen: Screen,
): Promise<number> {
  const { flags, row } = asked;
  const attempts = await storedAttempts(store, row.id, asked.stream);
  const failed = flags.module === undefined && setUp && failedSetUp(setUp, attempts);
  if (failed) {
    printErr(`${failed.note}\n`);
    if (failed.module === 'connect') return ExitCode.Done;
    const selection = { ...asked, stream: failed.module, hosts: asked.hosts ?? failed.hosts };
    return printAttempt(store, selection, setUp.attempt, screen);
  }
  if (attempts.length === 0 && flags.module === undefined && flags.attempt === undefined) {
    const [built] = await storedAttempts(store, row.id, BUILD_STREAM);
    if (built !== undefined) {
      printErr('the command has not started: this is the log of the build of its image\n');
      return printAttempt(store, { ...asked, stream: BUILD_STREAM }, built, screen);
    }
  }
  const attempt = flags.attempt ?? attempts.at(-1);
  if (attempt === undefined || !attempts.includes(attempt)) {
    return nothingStored(row, asked.stream, flags.attempt, attempts);
  }
  return printAttempt(store, asked, attempt, screen);
}

async function printAttempt(
  store: StoreReader,
  selection: Selection,
  attempt: number,
  screen: Screen,
): Promise<number> {
  const { row, stream, flags } = selection;
  const sink = sinkOf(selection, screen);
  const place = { attempt, stream, hosts: selection.hosts, ...(await startsOf(store, selection, attempt)) };
  let isEmpty = true;
  for await (const stretch of new JobLogReader(store, row.id, place).unread()) {
    isEmpty = false;
    await sink.stretch(stretch);
  }
  await sink.attemptEnd(attempt);
  const cut = cutText(row, attempt);
  if (cut !== undefined) printErr(`${cut}\n`);
  if (isEmpty && flags.tail !== 0) printErr(`attempt ${attempt} of ${row.id} has no output${emptyText(selection)}\n`);
  return ExitCode.Done;
}

/** Says that a terminated job's log may be cut anywhere: its worker learned of the end later and could not store the rest. */
export function cutText({ id, phase, endedAt, attempts }: JobRow, attempt: number): string | undefined {
  if (phase !== 'terminated' || endedAt === undefined || attempt < attempts) return undefined;
  const at = new Date(endedAt).toISOString();
  return `${id} was ended in Temporal from outside at ${at}: its log ends there. What its hosts printed after that is not stored, and what they printed shortly before may be missing`;
}

function emptyText({ hosts, flags: { since } }: Selection): string {
  const of = hosts === undefined ? '' : ` of host${hosts.length === 1 ? '' : 's'} ${hosts.join(', ')}`;
  return `${of}${since === undefined ? ' yet' : ` that was stored since ${new Date(since).toISOString()}`}`;
}

/** For an attempt whose command did not start: the failed module, its hosts, and a note. Undefined: the command started. */
function failedSetUp(
  { attempt, record }: StoredSetUp,
  started: readonly number[],
): { readonly module: string; readonly hosts: readonly number[]; readonly note: string } | undefined {
  const failed = started.some((number) => number >= attempt) ? undefined : failedSteps(record);
  if (failed === undefined) return undefined;
  const [{ module, step, host, code }] = failed;
  const hosts = [...new Set(failed.map((each) => each.host))].toSorted((a, b) => a - b);
  const how = module === 'connect' ? '' : `, step ${step}${code === undefined ? '' : `, code ${code}`}`;
  const note = `the command did not start in attempt ${attempt}: the set-up of ${module} failed on host ${host}${how}`;
  return { module, hosts, note: hosts.length === 1 ? note : `${note}, as on hosts ${hosts.join(', ')}` };
}

/** Reports that nothing is stored. That is no error yet, unless the attempt never existed. */
function nothingStored(
  { id, phase, attempts }: JobRow,
  stream: string,
  asked: number | undefined,
  stored: readonly number[],
): number {
  if (asked !== undefined && asked > largest(stored, attempts)) {
    const known = attempts === 0 ? 'none has begun' : `the last is ${attempts}`;
    throw new CliError(ExitCode.NotFound, `${id} has no attempt ${asked}: ${known}`, `it is ${phase}`);
  }
  // The output may have been purged, so it is unknown whether any was written.
  const what = `no output of ${stream === 'command' ? 'its command' : `module ${stream}`} is stored`;
  printErr(`${id} is ${phase}: ${what}${asked === undefined ? '' : ` in attempt ${asked}`}\n`);
  printErr(asTyped(`  \`jobctl logs ${id} --job\` shows what jobctl did for it\n`));
  return ExitCode.Done;
}

async function follow(
  client: JobClient,
  place: StorePlace,
  store: StoreReader,
  asked: Selection,
  screen: Screen,
): Promise<number> {
  const { row, stream, hosts, flags } = asked;
  const firstAttempt = flags.attempt ?? Math.max(1, row.attempts);
  const selection = {
    job: row.id,
    stream,
    hosts,
    firstAttempt,
    ...(flags.attempt === undefined ? {} : { lastAttempt: flags.attempt }),
    ...(await startsOf(store, asked, firstAttempt)),
  };
  const signal = watchEnd();
  const log = await openLog(place, store, selection, noting(sinkOf(asked, screen), row.id));
  const isServed = 'server' in place;
  const last = await watchJob({ client, id: row.id, screen, logs: log, signal, isServed, isQuiet: true });
  return last === undefined ? ExitCode.Interrupted : ExitCode.Done;
}

/** Prints a line to stderr between two attempts: the hosts' own bytes stay unchanged. */
function noting(sink: LogSink, job: string): LogSink {
  return {
    ...sink,
    attemptEnd: async (attempt) => {
      await sink.attemptEnd(attempt);
      printErr(`-- end of attempt ${attempt} of ${job} --\n`);
    },
  };
}

async function printJobLog(client: JobClient, store: StoreReader, row: JobRow, flags: LogsFlags): Promise<number> {
  const { line, stored } = jobLogForm(store, row.id, flags.output === 'json');
  if (flags.follow === true && row.endedAt === undefined)
    return followJobLog(client, row.id, { line, stored }, watchEnd());
  // For an open job, the store has the log up to the last attempt's start; the workflow has the rest.
  const known = (events: readonly ShownEvent[]): string => events.map(line).join('');
  const text = row.endedAt === undefined ? await openJobLog(client, row.id, { known, stored }) : await stored();
  printOut(text);
  if (text === '') printErr(`${row.id} is ${row.phase}: jobctl has noted nothing of it\n`);
  return ExitCode.Done;
}
