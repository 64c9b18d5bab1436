import { boundedLine } from '../outside-text.js';

/** Current calls of the processes of a job's command, as its hosts report them (docs/adr/0127). */

/** A call in py-spy's terms. */
export interface Frame {
  readonly function: string;
  /** A path on the host, or a name such as `<frozen runpy>`. */
  readonly file: string;
  readonly line: number;
}

export interface ThreadStack {
  readonly name: string;
  /** Innermost call first. */
  readonly frames: readonly Frame[];
}

export interface ProcessStacks {
  readonly pid: number;
  /** Name in the kernel: the program's, or one that the process gave itself. */
  readonly name: string;
  /** Letter of proc(5): R runs, S sleeps, D waits for a device and cannot be interrupted, T is stopped. */
  readonly state: string;
  /** Function of the kernel in which it sleeps. Absent: it runs, or the kernel does not say. */
  readonly waitsIn?: string;
  /** Its rank on its host, from its environment (torchrun, Open MPI, Slurm). Absent: it has no rank. */
  readonly localRank?: number;
  /** The main thread first. Absent: the process is not Python, or `problem` says why its threads are not known. */
  readonly threads?: readonly ThreadStack[];
  /** The reason why its threads are not known. Only for a Python process. */
  readonly problem?: string;
}

export interface HostStacks {
  /** Position among all hosts of the attempt. */
  readonly host: number;
  /** Ordered by process id. */
  readonly processes: readonly ProcessStacks[];
  /** The reason why some processes, or all, are missing. Absent: none is. */
  readonly problem?: string;
}

/** Bounds for a host's report. Anything beyond them is left out. */
export const MOST_PROCESSES = 128;
const MOST_THREADS = 64;
const MOST_FRAMES = 256;
const MOST_NAME = 120;
const MOST_FILE = 300;
const MOST_PROBLEM = 400;
const MOST_LINE = 10_000_000;

/** Makes a frame from a host's report, which may be hostile: one line that can be shown, without the ` (` that ends the name. */
export function frameOf(name: string, file: string, line: number): Frame {
  return {
    function: boundedLine(name, MOST_NAME).replaceAll(' (', '(') || '?',
    file: boundedLine(file, MOST_FILE) || '?',
    line: Number.isInteger(line) && line >= 0 && line <= MOST_LINE ? line : 0,
  };
}

export const threadOf = (name: string, frames: readonly Frame[]): ThreadStack => ({
  name: boundedLine(name, MOST_NAME),
  frames: frames.slice(0, MOST_FRAMES),
});

/** @param said a host's report, which may contain anything */
export function processOf(said: ProcessStacks): ProcessStacks {
  const { pid, name, state, waitsIn, localRank, threads, problem } = said;
  return {
    pid,
    name: boundedLine(name, MOST_NAME) || '?',
    state: /^[A-Za-z]$/.test(state) ? state : '?',
    ...(waitsIn !== undefined && /^[A-Za-z_][\w.]{0,63}$/.test(waitsIn) && { waitsIn }),
    ...(localRank !== undefined && { localRank }),
    ...(threads && { threads: threads.slice(0, MOST_THREADS) }),
    ...(problem !== undefined && { problem: problemOf(problem) }),
  };
}

export const problemOf = (text: string): string => boundedLine(text, MOST_PROBLEM) || 'unknown';

export const isPython = ({ threads, problem }: ProcessStacks): boolean =>
  threads !== undefined || problem !== undefined;

/** Calls of the main thread. */
export const framesOf = ({ threads }: ProcessStacks): readonly Frame[] => threads?.[0]?.frames ?? [];

const fileName = ({ file }: Frame): string => file.slice(file.lastIndexOf('/') + 1) || file;

/** `all_reduce (distributed_c10d.py:2501)`. */
export const frameText = (frame: Frame): string => `${frame.function} (${fileName(frame)}:${frame.line})`;

/**
 * The stacks of one host as text for people. It is stored beside the host's logs, and `parseStacks` reads it back.
 *
 * ```text
 * process 4711: python3 (state S, in futex_do_wait, local rank 0)
 *   thread MainThread
 *     all_reduce (/home/u/train.py:120)
 * process 4712: trainer (state R)
 * ```
 */
export function stacksText({ processes, problem }: Pick<HostStacks, 'processes' | 'problem'>): string {
  const lines = processes.flatMap((process) => [
    `process ${process.pid}: ${process.name} (${stateText(process)})`,
    ...(process.threads ?? []).flatMap(({ name, frames }) => [
      `  thread ${name}`,
      ...frames.map((frame) => `    ${frame.function} (${frame.file}:${frame.line})`),
    ]),
    ...(process.problem === undefined ? [] : [`  no stack: ${process.problem}`]),
  ]);
  return [...lines, ...(problem === undefined ? [] : [`incomplete: ${problem}`])].map((line) => `${line}\n`).join('');
}

/** Bound for one host: a training program does not have so many processes and threads. */
const MOST_STORED = 4_000_000;

/** The same text as it is stored: without the last processes, if it would be too long. */
export function storedStacksText({ processes, problem }: Pick<HostStacks, 'processes' | 'problem'>): string {
  let length = 0;
  const kept = processes.filter((process) => (length += stacksText({ processes: [process] }).length) <= MOST_STORED);
  if (kept.length === processes.length) return stacksText({ processes, ...(problem !== undefined && { problem }) });
  return stacksText({
    processes: kept,
    problem: 'its stacks are too long: those of the last processes are not stored',
  });
}

/** `state S, in futex_do_wait, local rank 0`. */
export function stateText({ state, waitsIn, localRank }: ProcessStacks): string {
  const parts = [
    `state ${state}`,
    ...(waitsIn === undefined ? [] : [`in ${waitsIn}`]),
    ...(localRank === undefined ? [] : [`local rank ${localRank}`]),
  ];
  return parts.join(', ');
}

interface Draft {
  readonly head: Pick<ProcessStacks, 'pid' | 'name' | 'state' | 'waitsIn' | 'localRank'>;
  threads?: { readonly name: string; readonly frames: Frame[] }[];
  problem?: string;
}

/** Reads the text that `stacksText` wrote. Hosts may write into the store too: other lines are skipped. */
export function parseStacks(text: string, host: number): HostStacks {
  const drafts: Draft[] = [];
  let problem: string | undefined;
  for (const line of text.split('\n')) {
    const last = drafts.at(-1);
    const [, pid, name = '', state = '?', waitsIn, localRank] = HEAD.exec(line) ?? [];
    if (pid !== undefined) {
      if (drafts.length === MOST_PROCESSES) break;
      drafts.push({
        head: {
          ...{ pid: Number(pid), name, state },
          ...(waitsIn !== undefined && { waitsIn }),
          ...(localRank !== undefined && { localRank: Number(localRank) }),
        },
      });
    } else if (line.startsWith('incomplete: ')) problem = problemOf(line.slice('incomplete: '.length));
    else if (last !== undefined) readInto(last, line);
  }
  return { host, processes: drafts.map(finished), ...(problem !== undefined && { problem }) };
}

function readInto(draft: Draft, line: string): void {
  // A host may have written the object: no line of ours is as long, and the patterns below are not made for longer ones.
  if (line.length > MOST_LINE_CHARACTERS) return;
  const [, name = '?', file = '?', at] = FRAME.exec(line) ?? [];
  if (at !== undefined) draft.threads?.at(-1)?.frames.push(frameOf(name, file, Number(at)));
  else if (line.startsWith('  thread ')) (draft.threads ??= []).push({ name: line.slice(9), frames: [] });
  else if (line.startsWith('  no stack: ')) draft.problem = line.slice('  no stack: '.length);
}

function finished({ head, threads, problem }: Draft): ProcessStacks {
  const read = threads?.map(({ name, frames }): ThreadStack => threadOf(name, frames));
  return processOf({ ...head, ...(read && { threads: read }), ...(problem !== undefined && { problem }) });
}

/** In characters: more than a frame, a thread's name or a problem has. */
const MOST_LINE_CHARACTERS = 2_000;
const HEAD = /^process (\d{1,9}): (.*) \(state (.)(?:, in ([\w.]{1,64}))?(?:, local rank (\d{1,6}))?\)$/;
const FRAME = /^ {4}(.+?) \((.*):(\d{1,8})\)$/;

/** Processes at the same place in their programs. */
export interface StackGroup {
  /** Ordered by host, then by process id. */
  readonly members: Members;
}

type Members = readonly [GroupMember, ...(readonly GroupMember[])];

interface GroupMember {
  readonly host: number;
  readonly process: ProcessStacks;
}

/**
 * Groups processes whose main threads have the same calls: functions, lines, and names of files without their folders, which may
 * differ between hosts. Processes without a stack are grouped by name, state, kernel function and problem.
 * @returns each process once: the largest group first, then the group with the first host, in whatever order the hosts come
 */
export function groupStacks(hosts: readonly HostStacks[]): readonly StackGroup[] {
  const groups = new Map<string, GroupMember[]>();
  for (const { host, processes } of hosts) {
    for (const process of processes) {
      const key = keyOf(process);
      const members = groups.get(key) ?? [];
      groups.set(key, members);
      members.push({ host, process });
    }
  }
  return [...groups.values()]
    .map((members) => ({ members: members.toSorted(byPlace) as unknown as Members }))
    .toSorted((a, b) => b.members.length - a.members.length || byPlace(a.members[0], b.members[0]));
}

/**
 * Drops waiting shells and launchers. Keeps each host's Python processes, else those that are not a sleeping shell, else all.
 */
export const withoutWaiting = (hosts: readonly HostStacks[]): readonly HostStacks[] =>
  hosts.map((host) => {
    const kinds = [host.processes.filter(isPython), host.processes.filter((process) => !isWaitingShell(process))];
    return { ...host, processes: kinds.find(({ length }) => length > 0) ?? host.processes };
  });

const isWaitingShell = ({ name, state }: ProcessStacks): boolean =>
  state === 'S' && ['sh', 'bash', 'dash', 'zsh'].includes(name);

const byPlace = (a: GroupMember, b: GroupMember): number => a.host - b.host || a.process.pid - b.process.pid;

/** Joins with line ends and NUL, which no text of a host contains. */
function keyOf(process: ProcessStacks): string {
  const { name, state, waitsIn = '', problem } = process;
  if (process.threads === undefined) return ['none', name, state, waitsIn, problem ?? ''].join('\0');
  return framesOf(process)
    .map((frame) => `${frame.function}\0${fileName(frame)}\0${frame.line}`)
    .join('\n');
}

/** Number of a group's outermost calls that another group shares. */
export function sharedCallers(group: StackGroup, other: StackGroup): number {
  const [own, others] = [framesOfGroup(group).toReversed(), framesOfGroup(other).toReversed()];
  const at = own.findIndex((frame, index) => {
    const same = others[index];
    return (
      same === undefined ||
      same.function !== frame.function ||
      same.line !== frame.line ||
      fileName(same) !== fileName(frame)
    );
  });
  return at < 0 ? own.length : at;
}

export const framesOfGroup = ({ members: [{ process }] }: StackGroup): readonly Frame[] => framesOf(process);

/** `0-6, 8-31`. @param numbers ascending, each once */
export function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === number) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}

/**
 * The hosts of a group: `hosts 0-6, 8-31`. For hosts with several processes it also names the processes:
 * `hosts 0-30 (local ranks 0-3), host 31 (local rank 2)`.
 * @param all the hosts that the groups were made of
 */
export function placesText({ members }: StackGroup, all: readonly HostStacks[]): string {
  const whole = new Map(all.map(({ host, processes }) => [host, processes]));
  const byHost = new Map<number, ProcessStacks[]>();
  for (const { host, process } of members) byHost.set(host, [...(byHost.get(host) ?? []), process]);
  const hostsOf = new Map<string, number[]>();
  for (const [host, own] of byHost) {
    const which = whichText(own, whole.get(host) ?? own);
    hostsOf.set(which, [...(hostsOf.get(which) ?? []), host]);
  }
  return [...hostsOf]
    .map(([which, hosts]) => `${hosts.length === 1 ? 'host' : 'hosts'} ${rangesText(hosts)}${which}`)
    .join(', ');
}

/** Names processes of one host. Ranks are used if no two are equal: children of a process inherit its rank. */
function whichText(own: readonly ProcessStacks[], all: readonly ProcessStacks[]): string {
  if (all.length <= 1) return '';
  const ranks = all.map(({ localRank }) => localRank);
  const areNames = new Set(ranks).size === all.length && !ranks.includes(undefined);
  if (!areNames) return ` (${own.length} of ${all.length} processes${own.length === 1 ? `: ${own[0]?.pid}` : ''})`;
  const named = own.map(({ localRank }) => localRank as number).toSorted((a, b) => a - b);
  return ` (${named.length === 1 ? 'local rank' : 'local ranks'} ${rangesText(named)})`;
}
