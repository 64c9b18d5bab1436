import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * One process, for ever: a pid alone is given to another process sooner or later, the pair of pid and start is not.
 * `start` is opaque: the kernel's start tick and the boot's id on Linux, the start date that `ps` prints elsewhere.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
}

/** The process that has `pid` now, or undefined when there is none (a zombie counts as none: it runs nothing). */
export function identify(pid: number): ProcessIdentity | undefined {
  const start = process.platform === 'linux' ? linuxStart(pid) : psStart(pid);
  return start === undefined ? undefined : { pid, start };
}

/** Whether that very process still runs; false for another one that has got its pid. */
export function isAlive(known: ProcessIdentity): boolean {
  return identify(known.pid)?.start === known.start;
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  const own = identify(process.pid);
  if (own === undefined) throw new Error(`process ${process.pid}: cannot read its own start time from /proc or ps`);
  return own;
}

/**
 * Sends `signal` to the whole group that `leader` was started as the leader of; false when nothing of it is left.
 * The kernel gives a pid to nobody while it still names a group. So a stranger with the leader's pid means that the group
 * is empty, and then nothing is sent.
 */
export function signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals | 0): boolean {
  const now = identify(leader.pid);
  if (now !== undefined && now.start !== leader.start) return false;
  return send(-leader.pid, signal);
}

/** Sends `signal` to that very process; false when it does not run any more. */
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
const START_FIELD = 19;

/** Field 22 of /proc/PID/stat, proc(5); the name before it may hold spaces and parentheses, so count from the last `)`. */
function linuxStart(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const isGone = fields[STATE_FIELD] === 'Z' || fields[STATE_FIELD] === 'X';
  return isGone ? undefined : `${fields[START_FIELD]}@${bootId()}`;
}

let boot: string | undefined;

/** Start ticks count from the boot, so two boots may give one pid and tick to two processes. */
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
