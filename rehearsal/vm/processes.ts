import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Facts from /proc about this computer's processes. Each holds for one instant: a moment later a process may be gone, or its
 * number given to another. If that matters, keep the start time with the number.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks since boot. Distinguishes a process from a later one with the same number. */
  readonly startTicks: string;
}

/** The identity of the process that now has this pid, or undefined if there is none or it is a zombie. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const fields = statFields(pid);
  const startTicks = fields?.[19];
  return startTicks === undefined || fields?.[0] === 'Z' ? undefined : { pid, startTicks };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.startTicks === identity.startTicks;
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** Children of `parent`, which must be a process of one thread; zombies included. */
export function childrenOf(parent: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8');
    return children.split(' ').flatMap((pid) => (/^\d+$/.test(pid) ? [Number(pid)] : []));
  } catch {
    // There is no such process, or its kernel does not keep the list.
  }
  return allPids().filter((pid) => statFields(pid)?.[1] === String(parent));
}

/** Processes of the PID namespace whose init is `init`, including the init. */
export function membersOfNamespace(init: number): readonly number[] {
  const namespace = namespaceOf(init);
  return namespace === undefined ? [] : allPids().filter((pid) => namespaceOf(pid) === namespace);
}

/**
 * Processes outside the PID namespace of `init` that are parents of processes in it: each nsenter that entered it. An nsenter
 * stops itself when its child is stopped, and then neither reports how the child ended nor lets the namespace go.
 */
export function entrantsOf(init: number): readonly number[] {
  const members = new Set(membersOfNamespace(init));
  const parents = [...members].flatMap((pid) => (pid === init ? [] : Number(statFields(pid)?.[1] ?? 0)));
  return [...new Set(parents)].filter((pid) => pid > 1 && !members.has(pid));
}

/** Processes that were started with `mark` (`NAME=value`) in their environment. */
export function carriersOf(mark: string): readonly number[] {
  return allPids().filter((pid) => environmentOf(pid).includes(mark));
}

/** Sends `signal`. False if there is no such process (or group, for a negative number). */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function allPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/** The fields of /proc/PID/stat after the command's name (which may hold spaces and brackets): [0] is the state, field 3. */
function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
