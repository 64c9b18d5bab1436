import { fileErrorWords } from '../../../domain/errors.js';
import { count } from '../../../domain/units.js';
import { stat, readdir } from 'node:fs/promises';
import { posix, basename, join } from 'node:path';
import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asksSeveral, type HostChoice, parseHostChoice } from '../../jobs/job-filter.js';
import { fetchPaths, isFolder } from '../../jobs/hosts/remote-files.js';
import { type HostResult, onEachHost, type Reach, type ReachFlags, reachHosts } from '../../jobs/hosts/reach.js';
import { fileSource, NoRoom } from '../../terminal/file-on-disk.js';
import type { OutputFlag } from '../../terminal/options.js';
import { UnsafePath } from '../../terminal/safe-folder.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { printErr, printOut } from '../../terminal/print.js';
import { existsSync } from 'node:fs';

export type CpFlags = ReachFlags & OutputFlag;

/** Copied files of one host; `error` if one of them could not be copied. */
interface Copied {
  readonly copied: number;
  readonly unchanged: number;
  readonly bytes: number;
  readonly error?: string;
}

/** Copies files. Exit code 1: a file could not be copied; all others were. */
export async function cp(source: string, more: readonly string[], flags: CpFlags): Promise<number> {
  const plan = copyPlan([source, ...more]);
  const signal = watchEnd();
  try {
    return plan.kind === 'put' ? await put(plan, flags, signal) : await get(plan, flags, signal);
  } catch (error) {
    if (signal.aborted) return ExitCode.Interrupted;
    throw error;
  }
}

async function put(
  { sources, target }: CopyPlan & { kind: 'put' },
  flags: CpFlags,
  signal: AbortSignal,
): Promise<number> {
  const files = await localFiles(sources);
  if (files.length === 0) throw new CliError(ExitCode.Usage, `cp: ${sources.join(', ')}: no file in it`);
  // Hashed once, regardless of the number of hosts.
  const contents = await Promise.all(files.map(async (file) => ({ file, source: await fileSource(file.path) })));
  const reach = await reachHosts(target.job, target.hosts ?? 'all', flags);
  const results = await onEachHost(reach, signal, async (connection) => {
    const isInto = await goesInto(connection, target.path, sources, signal);
    const done = { copied: 0, unchanged: 0, bytes: 0 };
    try {
      for (const { file, source } of contents) {
        const path = placeFor(file, target.path, isInto);
        const answer = await connection.putFile(source, path, { mode: file.mode, signal });
        if (answer === 'unchanged') done.unchanged += 1;
        else done.copied += 1;
        done.bytes += answer === 'unchanged' ? 0 : source.size;
      }
      return done;
    } catch (error) {
      return { ...done, error: fileTrouble(error, sources.join(', ')) };
    }
  });
  return report(reach, results, 'to', flags);
}

/** Whether to copy into the target, decided like `cp`: it is a folder or ends with a slash, or there are several sources. */
async function goesInto(
  connection: HostConnection,
  path: string,
  sources: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  return sources.length > 1 || path.endsWith('/') || isFolder(connection, path, signal);
}

/** A folder that is copied to a new name gets that name. */
function placeFor({ name }: LocalFile, target: string, isInto: boolean): string {
  if (isInto) return posix.join(target, name);
  const below = name.split('/').slice(1);
  return posix.join(target, ...below);
}

async function get(
  { sources, target }: CopyPlan & { kind: 'get' },
  flags: CpFlags,
  signal: AbortSignal,
): Promise<number> {
  const [first] = sources as readonly [RemotePlace];
  const choice = first.hosts ?? [0];
  if (sources.some(({ hosts }) => JSON.stringify(hosts ?? [0]) !== JSON.stringify(choice)))
    throw new CliError(ExitCode.Usage, 'cp: from different hosts at once', 'copy from one after the other');
  const reach = await reachHosts(first.job, choice, flags);
  const isInto = (await stat(target).catch(() => undefined))?.isDirectory() ?? false;
  const isSeveral = asksSeveral(choice);
  const isNamed = !isSeveral && !isInto && sources.length === 1 && !target.endsWith('/');
  const paths = sources.map(({ path }) => path);
  const results = await onEachHost(reach, signal, async (connection, { number }) => {
    const done = { copied: 0, unchanged: 0, bytes: 0 };
    try {
      await fetchPaths(connection, paths, { target, isNamed, below: isSeveral ? `host-${number}` : '', done }, signal);
      return done;
    } catch (error) {
      return { ...done, error: fileTrouble(error, target) };
    }
  });
  return report(reach, results, 'from', flags);
}

/**
 * The error of the host or of this computer. Any other error is thrown: it does not concern a single file.
 * @param here the local file
 */
function fileTrouble(error: unknown, here: string): string {
  if (error instanceof HostFileError || error instanceof UnsafePath || error instanceof NoRoom) return error.message;
  const { syscall, path = here } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  return `${path} on this computer: ${fileErrorWords(error)}`;
}

async function report(
  { job }: Reach,
  results: readonly HostResult<Copied>[],
  direction: 'to' | 'from',
  flags: CpFlags,
): Promise<number> {
  const rows = results.map((result) =>
    result.kind === 'done'
      ? { host: result.host.number, ...result.value }
      : { host: result.host.number, copied: 0, unchanged: 0, bytes: 0, error: result.message },
  );
  const bad = rows.filter(({ error }) => error !== undefined);
  if (flags.output === 'json') printOut(`${JSON.stringify({ job, hosts: rows }, null, 2)}\n`);
  else {
    const sum = (key: 'copied' | 'unchanged' | 'bytes'): number => rows.reduce((total, row) => total + row[key], 0);
    const same = sum('unchanged') === 0 ? '' : `, ${sum('unchanged')} there already`;
    printErr(
      `${count(sum('copied'), 'file')} (${count(sum('bytes'), 'byte')}) ${direction} ${rows.length - bad.length} of ${count(rows.length, 'host')} of ${job}${same}\n`,
    );
    for (const { host, error } of bad) printErr(`host ${host}: ${error}\n`);
  }
  return bad.length === 0 ? ExitCode.Done : ExitCode.Failed;
}

/** A path on the hosts of a job. */
interface RemotePlace {
  readonly job: string;
  /** Absent: no hosts were named. */
  readonly hosts?: HostChoice;
  /** Absolute, or under the login user's home folder; `.` for that folder itself. */
  readonly path: string;
}

type CopyPlan =
  | { readonly kind: 'put'; readonly sources: readonly string[]; readonly target: RemotePlace }
  | { readonly kind: 'get'; readonly sources: readonly RemotePlace[]; readonly target: string };

const REMOTE = /^([a-z][a-z0-9-]*):(?:(all|[\d,-]+):)?(.*)$/s;

/**
 * `cp SRC.. DEST`, one side of it `JOB:[HOSTS:]PATH`. An argument with a slash before its colon, and an existing file, are local.
 * @throws CliError; nothing was done then
 */
export function copyPlan(places: readonly string[]): CopyPlan {
  const sources = places.slice(0, -1);
  const target = remotePlace(places.at(-1) ?? '');
  const remotes = sources.map(remotePlace);
  const from = remotes.filter((place) => place !== undefined);
  if (target !== undefined && from.length === 0) return { kind: 'put', sources, target };
  if (target === undefined && from.length === sources.length)
    return { kind: 'get', sources: ofOneJob(from), target: places.at(-1) ?? '' };
  throw new CliError(
    ExitCode.Usage,
    from.length === 0 ? 'cp: no side of it is a job' : 'cp: both sides are jobs, or the sources are of both kinds',
    'to hosts: jobctl cp FILE.. JOB:PATH      from a host: jobctl cp JOB:PATH.. FOLDER',
    'a file here whose name begins like a job: ./NAME',
  );
}

function ofOneJob(places: readonly RemotePlace[]): readonly RemotePlace[] {
  const [first] = places;
  if (places.every(({ job }) => job === first?.job)) return places;
  throw new CliError(
    ExitCode.Usage,
    `cp: from two jobs: ${[...new Set(places.map(({ job }) => job))].join(', ')}`,
    'copy from one after the other',
  );
}

/** A place on the hosts of a job; undefined for one on this computer. @throws CliError for hosts that are none */
export function remotePlace(text: string): RemotePlace | undefined {
  const [, job, hosts, path = ''] = REMOTE.exec(text) ?? [];
  if (job === undefined || existsSync(text)) return undefined;
  return {
    job,
    ...(hosts === undefined ? {} : { hosts: choiceIn(hosts, text) }),
    path: path === '' || path === '~' ? '.' : path,
  };
}

function choiceIn(hosts: string, place: string): HostChoice {
  try {
    return parseHostChoice(hosts);
  } catch {
    throw new CliError(
      ExitCode.Usage,
      `${place}: '${hosts}' are no hosts`,
      'JOB:0:PATH, JOB:0,2-3:PATH or JOB:all:PATH',
    );
  }
}

/** One file to send. */
export interface LocalFile {
  /** Path on this computer. */
  readonly path: string;
  /** Path below the target: `data/x.txt` for a folder `data`. */
  readonly name: string;
  /** Permission bits. */
  readonly mode: number;
}

/** The named files, and all files in named folders, links followed. @throws CliError if one does not exist */
export async function localFiles(sources: readonly string[]): Promise<readonly LocalFile[]> {
  const found = await Promise.all(sources.map((source) => filesAt(source, basename(join(process.cwd(), source)))));
  const files = found.flat();
  const twin = files.find(({ name }, at) => files.findIndex((other) => other.name === name) < at);
  if (twin !== undefined)
    throw new CliError(ExitCode.Usage, `cp: two of the sources would be ${twin.name}`, 'copy them one after the other');
  return files;
}

async function filesAt(path: string, name: string): Promise<readonly LocalFile[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new CliError(ExitCode.Usage, `${path}: cannot be read: ${fileErrorWords(error)}`);
  });
  if (!found.isDirectory()) {
    if (!found.isFile()) throw new CliError(ExitCode.Usage, `${path}: is neither a file nor a folder`);
    return [{ path, name, mode: found.mode & 0o777 }];
  }
  const entries = (await readdir(path)).toSorted();
  const below: LocalFile[] = [];
  for (const entry of entries) for (const one of await filesAt(join(path, entry), `${name}/${entry}`)) below.push(one);
  return below;
}
