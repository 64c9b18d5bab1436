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
/**
 * Longest pauses between tries of what failed, in ms, the first being a second. A file that a host cannot have is tried at once when
 * something changes here. Each try of it is a use of the workspace, and must not keep it for ever; a host that is not reached sees
 * none.
 */
const [MOST_MS_REFUSED, MOST_MS_UNREACHED] = [3_600_000, 30_000];
/** Names of changed files in one line. */
const SHOWN_NAMES = 3;

/**
 * Brings a folder of a job's hosts into step with one of this computer, again after each change here, until the job ends or
 * `signal` aborts. Hosts that a preemption brings get all files. What others changed on a host is never lost: it is kept beside,
 * or left in place, and named (docs/adr/0184).
 * @returns the exit code: failed if something that changed here is not on a host
 * @throws CliError, JobNotFound ..: before anything is sent
 */
export async function keepInStep(sync: Sync, signal: AbortSignal): Promise<ExitCode> {
  const held = new Map<string, Held>();
  const says = new Sayings();
  let reached: Reached | undefined = await reachHosts(sync.job, sync.hosts, sync.flags);
  let askedAt = Date.now();
  let look = await sync.folder.look();
  let brought: Brought = { refused: 0, unreached: 0 };
  let tries = { failed: 0, next: 0, version: look.version };
  for (;;) {
    const began = Date.now();
    for (const problem of look.problems) says.lasting(`${problem}; it stays behind`);
    if (reached === undefined || began - askedAt > HOSTS_EVERY_MS) {
      const answer = await hostsNow(sync, says);
      if (answer === 'ended') return says.ended(sync, brought.refused > 0 || look.version !== tries.version);
      [reached, askedAt] = [answer, began];
      if (answer?.hosts.some((host) => !held.has(idOf(host))) === true) tries = { ...tries, failed: 0, next: 0 };
    }
    if (reached !== undefined && (began >= tries.next || look.version !== tries.version)) {
      brought = await bringAll(sync, { reached, look, held, says }, signal);
      const failed = brought.refused + brought.unreached === 0 ? 0 : tries.failed + 1;
      const most = brought.refused > 0 ? MOST_MS_REFUSED : MOST_MS_UNREACHED;
      const wait = failed === 0 ? 0 : Math.min(most, LEAST_PAUSE_MS * 2 ** failed);
      tries = { failed, next: Date.now() + wait, version: look.version };
      // It may have lost its machine.
      if (brought.unreached > 0) reached = undefined;
    }
    if (signal.aborted) break;
    if (sync.isOnce)
      return brought.refused + brought.unreached + look.problems.length > 0 ? ExitCode.Failed : ExitCode.Done;
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, 10 * (Date.now() - began)));
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    // What is removed while it is listed is an error of that look.
    look = await sync.folder.look().catch((error: unknown) => {
      says.once(`${(error as Error).message.split('\n')[0]}; looking again`);
      return look;
    });
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

/** A new slice is another host. */
const idOf = ({ target }: JobHost): string => `${target.uid} ${target.index}`;

interface Bringing {
  readonly reached: Reached;
  readonly look: FolderLook;
  readonly held: Map<string, Held>;
  readonly says: Sayings;
}

/** Numbers of changes that hosts could not make, and of hosts that were not reached. */
interface Brought {
  readonly refused: number;
  readonly unreached: number;
}

async function bringAll(sync: Sync, bringing: Bringing, signal: AbortSignal): Promise<Brought> {
  const { reached, look, held, says } = bringing;
  const behind = reached.hosts.filter((host) => {
    const has = held.get(idOf(host));
    return has === undefined || changesFor(has, look).length > 0;
  });
  if (behind.length === 0) return { refused: 0, unreached: 0 };
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const replaced = `.jobctl/replaced/${stamp}`;
  let refused = 0;
  const names = new Set<string>();
  let bytes = 0;
  const results = await onEachHost({ ...reached, hosts: behind } as Reached, signal, async (connection, host) => {
    const refuse = (error: unknown): void => {
      if (!(error instanceof HostFileError)) throw error;
      says.once(`host ${host.number}: ${error.message}`);
      refused += 1;
    };
    const has = held.get(idOf(host)) ?? (await heldBy(connection, sync.path, look, signal).catch(refuse));
    if (has === undefined) return;
    held.set(idOf(host), has);
    // A file that is being written may differ from its sum when it is sent, and must not hold up the others.
    const all = changesFor(has, look);
    for (const changes of [
      all.filter(({ to }) => to?.isFresh !== true),
      all.filter(({ to }) => to?.isFresh === true),
    ]) {
      const made = await makeChanges(connection, sync.path, { changes, replaced }, signal).catch(refuse);
      for (const [at, answer] of (made ?? []).entries()) {
        const change = changes[at] as Change;
        if (!note(has, change, answer)) refused += 1;
        if (answer === 'done' || answer === 'kept') {
          names.add(change.to === undefined ? `${change.path} (removed)` : change.path);
          bytes += change.to?.source.size ?? 0;
        }
        says.answer(host.number, change, answer, `~/${replaced}`);
      }
    }
  }).catch((error: unknown): readonly never[] => {
    if (signal.aborted) return [];
    throw error;
  });
  const lost = results.flatMap((result) => (result.kind === 'unreachable' ? [result] : []));
  for (const { host, message } of lost) says.once(`host ${host.number}: ${message}; trying again`);
  if (names.size > 0) says.brought([...names], bytes, behind.length - lost.length);
  else if (refused === 0 && lost.length === 0) says.inStep(sync, look.files.size, reached.hosts.length);
  return { refused, unreached: lost.length };
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
  const puts = [...files].flatMap(([path, { source, mode, isFresh }]): Change[] => {
    const there = has.get(path);
    if (there?.sha256 === source.sha256 && there.mode === mode) return [];
    return [{ path, to: { source, mode, isFresh }, ...(there !== undefined && { from: there.sha256 }) }];
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
  readonly #lasting = new Set<string>();
  readonly #said = new Set<string>();
  #isInStep = false;

  /** A problem that stays with the folder. */
  lasting(line: string): void {
    if (!this.#lasting.has(line)) say(line);
    this.#lasting.add(line);
  }

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
