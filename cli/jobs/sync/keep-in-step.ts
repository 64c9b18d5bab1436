import { setTimeout as sleep } from 'node:timers/promises';
import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { count } from '../../../domain/units.js';
import { withClient } from '../../place/connect.js';
import { resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { printErr } from '../../terminal/print.js';
import { sizeText } from '../../terminal/render/quantities.js';
import type { HostChoice } from '../job-filter.js';
import type { JobHost } from '../hosts/job-hosts.js';
import { onEachHost, type ReachFlags, reachHosts } from '../hosts/reach.js';
import { type Change, makeChanges, type Made, sumsOnHost } from './host-folder.js';
import type { FolderLook, SyncedFolder } from './synced-folder.js';

export interface Sync {
  readonly folder: SyncedFolder;
  readonly job: string;
  readonly hosts: HostChoice;
  /** The folder on the hosts: absolute, or below the login user's home. */
  readonly path: string;
  readonly flags: ReachFlags;
  /** Brings the hosts into step once, and ends. */
  readonly isOnce: boolean;
}

type Reached = Awaited<ReturnType<typeof reachHosts>>;

/** Content and mode that a host has of each file, as far as they came from here. */
type Held = Map<string, { readonly sha256: string; readonly mode: number }>;

/** Least and most pause between two looks at the folder. A large folder is looked at for a tenth of the time. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [1_000, 10_000];
/** So often the job is asked for its hosts when nothing changes: after a preemption they are others, with empty disks. */
const HOSTS_EVERY_MS = 20_000;
/** Names of changed files in one line. */
const SHOWN_NAMES = 3;

/**
 * Brings a folder of a job's hosts into step with one of this computer, again after each change here, until the job ends or
 * `signal` aborts. Hosts that a preemption brings get all files. What others changed on a host is never lost: it is kept beside,
 * or left in place, and named.
 * @returns the exit code: failed if something that changed here is not on a host
 * @throws CliError, JobNotFound ..: before anything is sent
 */
export async function keepInStep(sync: Sync, signal: AbortSignal): Promise<ExitCode> {
  const held = new Map<string, Held>();
  const says = new Sayings();
  let reached: Reached | undefined = await reachHosts(sync.job, sync.hosts, sync.flags);
  let askedAt = Date.now();
  let isBehind = true;
  while (!signal.aborted) {
    const began = Date.now();
    const look = await sync.folder.look();
    for (const problem of look.problems) says.once(`${problem}; it stays behind`);
    if (reached === undefined || began - askedAt > HOSTS_EVERY_MS) {
      const answer = await hostsNow(sync, says);
      if (answer === 'ended') return says.ended(sync, isBehind);
      [reached, askedAt] = [answer, began];
    }
    if (reached !== undefined) {
      isBehind = !(await bringAll(sync, { reached, look, held, says }, signal));
      // It may have lost its machine.
      if (isBehind) reached = undefined;
    }
    if (sync.isOnce) return isBehind || look.problems.length > 0 ? ExitCode.Failed : ExitCode.Done;
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, 10 * (Date.now() - began)));
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
  return ExitCode.Interrupted;
}

/** Undefined: it has none now, or nobody can say. */
async function hostsNow({ job, hosts, flags }: Sync, says: Sayings): Promise<Reached | 'ended' | undefined> {
  try {
    return await reachHosts(job, hosts, flags);
  } catch (error) {
    const row = await withClient(resolveContext(flags), (client) => client.row(job)).catch(() => undefined);
    if (row?.endedAt !== undefined) return 'ended';
    if (error instanceof CliError && (error.exitCode === ExitCode.Usage || error.exitCode === ExitCode.NotFound))
      throw error;
    says.once(`${(error as Error).message.split('\n')[0]}; trying again`);
    return undefined;
  }
}

interface Bringing {
  readonly reached: Reached;
  readonly look: FolderLook;
  readonly held: Map<string, Held>;
  readonly says: Sayings;
}

/** @returns whether all hosts have what changed */
async function bringAll(sync: Sync, bringing: Bringing, signal: AbortSignal): Promise<boolean> {
  const { reached, look, held, says } = bringing;
  const of = ({ target }: JobHost): string => `${target.uid} ${target.index}`;
  const behind = reached.hosts.filter((host) => {
    const has = held.get(of(host));
    return has === undefined || changesFor(has, look).length > 0;
  });
  if (behind.length === 0) return true;
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const replaced = `.jobctl/replaced/${stamp}`;
  let isDone = true;
  const names = new Set<string>();
  let bytes = 0;
  const results = await onEachHost({ ...reached, hosts: behind } as Reached, signal, async (connection, host) => {
    const has = held.get(of(host)) ?? (await heldBy(connection, sync.path, look, signal));
    held.set(of(host), has);
    const changes = changesFor(has, look);
    const made = await makeChanges(connection, sync.path, { changes, replaced }, signal).catch((error: unknown) => {
      if (!(error instanceof HostFileError)) throw error;
      says.once(`host ${host.number}: ${error.message}`);
      isDone = false;
      return [];
    });
    for (const [at, answer] of made.entries()) {
      const change = changes[at] as Change;
      if (!note(has, change, answer)) isDone = false;
      if (answer === 'done' || answer === 'kept') {
        names.add(change.to === undefined ? `${change.path} (removed)` : change.path);
        bytes += change.to?.source.size ?? 0;
      }
      says.answer(host.number, change, answer, `~/${replaced}`);
    }
  }).catch((error: unknown): readonly never[] => {
    if (signal.aborted) return [];
    throw error;
  });
  const lost = results.flatMap((result) => (result.kind === 'unreachable' ? [result] : []));
  for (const { host, message } of lost) says.once(`host ${host.number}: ${message}; trying again`);
  if (names.size > 0) says.brought([...names], bytes, behind.length - lost.length);
  else if (isDone && lost.length === 0) says.inStep(sync, look.files.size, reached.hosts.length);
  return isDone && lost.length === 0 && !signal.aborted;
}

async function heldBy(
  connection: HostConnection,
  folder: string,
  { files }: FolderLook,
  signal: AbortSignal,
): Promise<Held> {
  const sums = await sumsOnHost(connection, folder, [...files.keys()], signal);
  const same = [...files].filter(([path, { source }]) => sums.get(path) === source.sha256);
  return new Map(same.map(([path, { source, mode }]) => [path, { sha256: source.sha256, mode }]));
}

function changesFor(has: Held, { files }: FolderLook): readonly Change[] {
  const puts = [...files].flatMap(([path, { source, mode }]): Change[] => {
    const there = has.get(path);
    if (there?.sha256 === source.sha256 && there.mode === mode) return [];
    return [{ path, to: { source, mode }, ...(there !== undefined && { from: there.sha256 }) }];
  });
  const removals = [...has].flatMap(([path, { sha256 }]): Change[] =>
    files.has(path) ? [] : [{ path, from: sha256 }],
  );
  // A folder may come where a file was.
  return [...removals, ...puts];
}

/** Records a host's answer. @returns whether the change is made, or is none of ours any more */
function note(has: Held, { path, to }: Change, answer: Made): boolean {
  if (answer === 'cannot be written' || answer === 'a folder of this name is there') return false;
  if (to === undefined) has.delete(path);
  else has.set(path, { sha256: to.source.sha256, mode: to.mode });
  return true;
}

/** Lines for the person at the terminal. A problem that stays is said once. */
class Sayings {
  readonly #said = new Set<string>();
  #isInStep = false;

  once(line: string): void {
    this.#isInStep = false;
    if (this.#said.has(line)) return;
    this.#said.add(line);
    say(line);
  }

  answer(host: number, { path }: Change, answer: Made, replaced: string): void {
    if (answer === 'kept')
      say(`host ${host}: ${path} was changed there and is replaced; its version of before is ${replaced}/${path}`);
    if (answer === 'changed') say(`host ${host}: ${path} was changed there, so it is not removed`);
    if (answer === 'cannot be written' || answer === 'a folder of this name is there')
      this.once(`host ${host}: ${path}: ${answer}; trying again`);
  }

  brought(names: readonly string[], bytes: number, hosts: number): void {
    this.#said.clear();
    this.#isInStep = true;
    const more = names.length > SHOWN_NAMES ? ` and ${names.length - SHOWN_NAMES} more` : '';
    const size = bytes === 0 ? '' : `, ${sizeText(bytes)}`;
    say(
      `${count(names.length, 'file')}${size}, ${count(hosts, 'host')}: ${names.slice(0, SHOWN_NAMES).join(', ')}${more}`,
    );
  }

  inStep({ folder, job, path }: Sync, files: number, hosts: number): void {
    if (this.#isInStep) return;
    this.#isInStep = true;
    say(`${count(files, 'file')} of ${folder.path}: ${path} of ${job} is in step on ${count(hosts, 'host')}`);
  }

  ended({ job }: Sync, isBehind: boolean): ExitCode {
    say(`${job} has ended${isBehind ? ', and not all that changed here had reached its hosts' : ''}`);
    return isBehind ? ExitCode.Failed : ExitCode.Done;
  }
}

const say = (line: string): void => printErr(`${new Date().toLocaleTimeString('sv')}  ${line}\n`);
