import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, ownIdentity } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';

/** A lock file that holds its holder's identity, so that the lock of a dead process is taken over. */
export interface FileLock {
  readonly path: string;
  release(): void;
}

export interface LockWait {
  /** Time to wait for a living holder. */
  readonly timeoutMs: number;
  /** Called once if another process holds the lock. */
  readonly onWait?: (holder: ProcessIdentity) => void;
}

const POLL_MS = 50;
/** A guard is held for microseconds; one of this age was left by a crash. */
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
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
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
