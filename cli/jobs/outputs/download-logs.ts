import { join, resolve } from 'node:path';
import { isOfStore, type StoreReader } from '../../../cloud/store/port.js';
import { MOST_HOSTS } from '../../../domain/slice.js';
import { BUILD_STREAM, logPrefix } from '../../../domain/store-layout.js';
import { count } from '../../../domain/units.js';
import { JobNotFound } from '../../../client/errors.js';
import { JobLogReader, loggedAttempts, storedJobLog, storedStreams } from '../../../client/job-logs.js';
import type { JobRow } from '../../../client/job-rows.js';
import { hostsWithChunks } from '../../../cloud/store/log-chunks.js';
import { readSetUp } from '../../../client/job-records.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import type { HostChoice } from '../job-filter.js';
import type { OutputFlag } from '../../terminal/options.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { SafeFolder } from '../../terminal/safe-folder.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { type Copied, noteProblem, nothingCopied, reportCopied } from './download-file.js';

export interface LogChoice {
  /** Absent: all attempts. */
  readonly attempt?: number;
  /** Absent: all hosts. */
  readonly host?: HostChoice;
}

/** One log in the store. Its path on this computer consists of these checked words only. */
interface StoredLog {
  readonly attempt: number;
  readonly stream: string;
  readonly host: number;
}

/** Concurrent logs; each has some MiB in memory. */
const WIDTH = 4;

/** `download JOB [DIR] --logs`: the output of every module on every host, as plain files; and the job's own log, as `job.log`. */
export async function downloadLogs(
  job: string,
  directory: string | undefined,
  flags: LogChoice & ContextFlags & OutputFlag,
): Promise<number> {
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the logs of ${job} cannot be read`));
  const row = await knownRow(context, job);
  const { logs, notes } = await chosenLogs(store, job, flags);
  const isAll = flags.attempt === undefined && flags.host === undefined;
  const jobLog = isAll ? await storedJobLog(store, job) : Buffer.alloc(0);
  if (logs.length === 0 && jobLog.length === 0) throw nothing(job, flags, row);
  const root = resolve(directory ?? job);
  const copying = { store, job, folder: new SafeFolder(root), done: nothingCopied(), signal: watchEnd() };
  await copying.folder.folder('');
  if (jobLog.length > 0) await lay(copying, 'job.log', [jobLog]);
  await layAll(copying, logs, flags.attempt === undefined);
  return report({ ...copying, root, logs, notes: [...unfinished(job, row), ...notes] }, flags);
}

interface Copying {
  readonly store: StoreReader;
  readonly job: string;
  readonly folder: SafeFolder;
  readonly done: Copied;
  readonly signal: AbortSignal;
}

/** The job's row. Undefined: Temporal has forgotten the job, or never knew it. Its stored logs may still exist. */
const knownRow = (context: CliContext, job: string): Promise<JobRow | undefined> =>
  withClient(context, (client) =>
    client.row(job).catch((error: unknown) => {
      if (error instanceof JobNotFound) return undefined;
      throw error;
    }),
  );

/** The stored logs of a choice, by their objects' names. Other names are skipped: hosts may write to the bucket too. */
async function chosenLogs(
  store: StoreReader,
  job: string,
  { attempt: chosen, host }: LogChoice,
): Promise<{ readonly logs: readonly StoredLog[]; readonly notes: readonly string[] }> {
  const logs: StoredLog[] = [];
  const notes: string[] = [];
  for (const attempt of chosen === undefined ? await loggedAttempts(store, job) : [chosen]) {
    const most = (await readSetUp(store, job, attempt))?.record.hosts ?? MOST_HOSTS;
    for (const stream of await storedStreams(store, job, attempt)) {
      const stored = await hostsWithChunks(store, logPrefix(job, attempt, stream));
      // Host numbers of a build are its tries.
      const real = stored.filter((number) => number < (stream === BUILD_STREAM ? MOST_HOSTS : most));
      if (real.length < stored.length)
        notes.push(`attempt ${attempt}, ${stream}: logs of hosts that the job has not (${most} and more) are left out`);
      const wanted = host === undefined || host === 'all' ? real : real.filter((number) => host.includes(number));
      for (const number of wanted) logs.push({ attempt, stream, host: number });
    }
  }
  const missing =
    host === undefined || host === 'all' ? [] : host.filter((one) => !logs.some((log) => log.host === one));
  if (missing.length > 0 && logs.length > 0) notes.push(`nothing is stored of host ${missing.join(', ')}`);
  return { logs, notes };
}

/** Writes all logs. A log that cannot be written does not stop the others. @param isAll separate folders for several attempts */
async function layAll(copying: Copying, logs: readonly StoredLog[], isAll: boolean): Promise<void> {
  const isSeveral = isAll && new Set(logs.map(({ attempt }) => attempt)).size > 1;
  const line = new TransferLine('downloading');
  let sent = 0;
  const onBytes = (bytes: number): void => line.show({ path: copying.job, sent: (sent += bytes), size: Infinity });
  const queue = logs.values();
  const work = async (): Promise<void> => {
    for (const log of queue) {
      if (copying.signal.aborted) return;
      const name = `${isSeveral ? `attempt-${log.attempt}/` : ''}${log.stream}/host-${log.host}.log`;
      await lay(copying, name, bytesOf(copying, log, onBytes));
    }
  };
  try {
    await Promise.all(Array.from({ length: WIDTH }, work));
  } finally {
    line.end();
  }
}

/** Yields the stored pieces one by one, followed by jobctl's note about output that was not stored. */
async function* bytesOf(
  { store, job, signal }: Copying,
  { attempt, stream, host }: StoredLog,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const { bytes } of new JobLogReader(store, job, { attempt, stream, hosts: [host] }).unread()) {
    signal.throwIfAborted();
    onBytes(bytes.length);
    yield bytes;
  }
}

async function lay(
  { folder, done, signal }: Copying,
  name: string,
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  let bytes = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      bytes += piece.length;
      yield piece;
    }
  }
  try {
    const end = await folder.grow(name, counted());
    done[end === 'done' ? 'copied' : 'unchanged'] += 1;
    if (end === 'done') done.bytes += bytes;
  } catch (error) {
    if (signal.aborted) return;
    if (isOfStore(error)) throw error;
    noteProblem(done, error, join(folder.root, name), bytes);
  }
}

function report(
  {
    job,
    root,
    logs,
    notes,
    done,
    signal,
  }: Copying & { readonly root: string; readonly logs: readonly StoredLog[]; readonly notes: readonly string[] },
  flags: OutputFlag,
): number {
  const attempts = [...new Set(logs.map(({ attempt }) => attempt))];
  const hosts = [...new Set(logs.map(({ host }) => host))].toSorted((a, b) => a - b);
  const what = logs.length === 0 ? `of ${job}` : `of ${count(hosts.length, 'host')}, ${attemptsText(attempts)}`;
  const facts = { job, attempts, hosts, notes };
  return reportCopied({ facts, noun: 'log', what, root, notes, done, isCut: signal.aborted }, flags);
}

const attemptsText = (attempts: readonly number[]): string =>
  attempts.length === 1 ? `attempt ${attempts[0]}` : `${count(attempts.length, 'attempt')} up to ${attempts.at(-1)}`;

const unfinished = (job: string, row: JobRow | undefined): string[] =>
  row === undefined || row.endedAt !== undefined
    ? []
    : [`${job} is ${row.phase}: this is what is stored so far; the same command brings the rest`];

function nothing(job: string, { attempt, host }: LogChoice, row: JobRow | undefined): CliError {
  const of = [
    ...(host === undefined || host === 'all' ? [] : [`host ${host.join(', ')}`]),
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
  ].join(', ');
  if (row === undefined)
    return new CliError(
      ExitCode.NotFound,
      `no job '${job}', and no logs of it are stored`,
      '`jobctl list` shows the jobs that are there',
    );
  return new CliError(
    ExitCode.NotFound,
    `${job} has no stored logs${of === '' ? '' : ` of ${of}`}${row.endedAt === undefined ? ` yet: it is ${row.phase}` : ''}`,
    `what jobctl did for it: jobctl logs ${job} --job`,
  );
}
