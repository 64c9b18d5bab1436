import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, linkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolderSync } from '../../../cloud/folders.js';

/**
 * Identifies one process forever: the system reuses a pid sooner or later, but never the pair of pid and start. `start` is
 * opaque: the kernel's start tick and the boot's id on Linux, the start date that `ps` prints elsewhere.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
}

/** The process that has `pid` now, or undefined if there is none. A zombie does not count, because it runs nothing. */
export function identify(pid: number): ProcessIdentity | undefined {
  const start = process.platform === 'linux' ? linuxStart(pid) : psStart(pid);
  return start === undefined ? undefined : { pid, start };
}

/** Returns whether this exact process still runs; false for another one with the same pid. */
export function isAlive(known: ProcessIdentity): boolean {
  return identify(known.pid)?.start === known.start;
}

/** Identity of this process. */
export function ownIdentity(): ProcessIdentity {
  const own = identify(process.pid);
  if (own === undefined) throw new Error(`process ${process.pid}: cannot read its own start time from /proc or ps`);
  return own;
}

/**
 * Sends `signal` to the whole group that `leader` led at its start; returns false if the group is empty. The kernel reuses no pid
 * that still names a group, so another process with the leader's pid means an empty group, and nothing is sent.
 */
export function signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return !isPidOfStranger(leader) && send(-leader.pid, signal);
}

/** Returns whether a process of the group that `leader` led at its start still runs; zombies do not count. */
export function isGroupAlive(leader: ProcessIdentity): boolean {
  if (isPidOfStranger(leader)) return false;
  if (process.platform !== 'linux') return send(-leader.pid, 0);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    const fields = linuxStat(Number(pid));
    return fields !== undefined && fields[GROUP_FIELD] === String(leader.pid) && !isGone(fields);
  });
}

function isPidOfStranger(leader: ProcessIdentity): boolean {
  const now = identify(leader.pid);
  return now !== undefined && now.start !== leader.start;
}

/** Sends `signal` to this exact process; returns false if it no longer runs. */
export function signalProcess(known: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(known) && send(known.pid, signal);
}

function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw err;
  }
}

const STATE_FIELD = 0;
const GROUP_FIELD = 2;
const START_FIELD = 19;

function linuxStart(pid: number): string | undefined {
  const fields = linuxStat(pid);
  return fields === undefined || isGone(fields) ? undefined : `${fields[START_FIELD]}@${bootId()}`;
}

/** Fields 3 and on of /proc/PID/stat, proc(5). The name before them may hold spaces and `)`, so they follow the last `)`. */
function linuxStat(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function isGone(fields: readonly string[]): boolean {
  return fields[STATE_FIELD] === 'Z' || fields[STATE_FIELD] === 'X';
}

let boot: string | undefined;

/** The boot's id. Start ticks count from the boot, so two boots may give one pid and tick to two processes. */
function bootId(): string {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return boot;
}

function psStart(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    const [state = '', ...date] = line.split(/\s+/);
    return line === '' || state.startsWith('Z') ? undefined : date.join(' ');
  } catch {
    return undefined;
  }
}

/** A lock file that holds its holder's identity, so that the lock of a dead process is taken over. */
export interface FileLock {
  readonly path: string;
  release(): void;
}

interface LockWait {
  /** Time to wait for a living holder. */
  readonly timeoutMs: number;
  /** Called once if another process holds the lock. */
  readonly onWait?: (holder: ProcessIdentity) => void;
}

const POLL_MS = 50;
/** Age at which a guard was left by a crash: it is held for microseconds. */
const GUARD_IS_STALE_MS = 10_000;

/** Takes the lock, or throws if a living holder keeps it for `timeoutMs`. Not reentrant. */
export async function acquireLock(path: string, wait: LockWait): Promise<FileLock> {
  const deadline = Date.now() + wait.timeoutMs;
  for (let told = false; ;) {
    const lock = tryLock(path);
    if (lock !== undefined) return lock;
    const holder = holderOf(path);
    if (holder !== undefined && !told) {
      told = true;
      wait.onWait?.(holder);
    }
    if (Date.now() > deadline) throw new Error(heldMessage(path, holder, wait.timeoutMs));
    await sleep(POLL_MS);
  }
}

/** Takes the lock, or returns undefined while a living process holds it. The lock of a dead holder is taken over. */
export function tryLock(path: string): FileLock | undefined {
  makeFolderSync(dirname(path), 0o700);
  const holder = holderOf(path);
  if (holder !== undefined && !isAlive(holder)) removeStale(path, holder);
  return create(path, JSON.stringify(ownIdentity())) ? { path, release: () => release(path) } : undefined;
}

/** The holder of the lock, alive or dead; undefined if it is free. */
export function holderOf(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`lock ${path}: cannot be read; if nothing of jobctl runs, delete it`, { cause: err });
  }
}

let serial = 0;

/** Links a whole file into place: a reader never sees a lock without its holder. Returns false if the name is taken. */
function create(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}.${serial++}`;
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes the lock of a dead holder. Two processes may see the same dead holder; without the guard the slower one would
 * remove the lock that the faster one has just taken. Under the guard the holder is read again.
 */
function removeStale(path: string, dead: ProcessIdentity): void {
  const guard = `${path}.steal`;
  if (!create(guard, JSON.stringify(ownIdentity()))) {
    removeIfOld(guard);
    return;
  }
  try {
    const now = holderOf(path);
    if (now?.pid === dead.pid && now.start === dead.start) rmSync(path);
  } finally {
    rmSync(guard, { force: true });
  }
}

function removeIfOld(guard: string): void {
  const since = statSync(guard, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > GUARD_IS_STALE_MS) rmSync(guard, { force: true });
}

function release(path: string): void {
  const own = identify(process.pid);
  const holder = holderOf(path);
  if (holder?.pid === own?.pid && holder?.start === own?.start) rmSync(path, { force: true });
}

function heldMessage(path: string, holder: ProcessIdentity | undefined, timeoutMs: number): string {
  const who = holder === undefined ? 'another process' : `process ${holder.pid}`;
  return `lock ${path}: held by ${who} for more than ${timeoutMs / 1000} s; wait for it to end, or end it`;
}
