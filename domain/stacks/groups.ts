import { fileName, type Frame, framesOf, type HostStacks, isPython, type ProcessStacks } from './stack.js';

/** Processes at the same place in their programs. */
export interface StackGroup {
  /** Ordered by host, then by process id. */
  readonly members: Members;
}

type Members = readonly [GroupMember, ...(readonly GroupMember[])];

export interface GroupMember {
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
