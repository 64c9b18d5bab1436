import {
  framesOfGroup,
  groupStacks,
  placesText,
  sharedCallers,
  type StackGroup,
  withoutWaiting,
} from '../../../domain/stacks/groups.js';
import { type Frame, frameText, type HostStacks, isPython } from '../../../domain/stacks/stack.js';
import { stateText } from '../../../domain/stacks/text.js';
import { count } from '../../../domain/units.js';
import type { Look } from './look.js';

export interface StacksShown {
  /** Includes threads other than the main ones. */
  readonly threads?: true;
  /** Includes processes that are not Python. */
  readonly all?: true;
}

/**
 * Renders stacks for people: one line with the place of each group, then its calls. The types ensure that texts of hosts are one
 * line of visible text each.
 */
export function stacksScreen(hosts: readonly HostStacks[], shown: StacksShown, look: Pick<Look, 'paint'>): string {
  const seen = shown.all ? hosts : withoutWaiting(hosts);
  const groups = groupStacks(seen);
  const [largest] = groups;
  if (largest === undefined) return '';
  const blocks = groups.map((group) => {
    const title = `${processCount(group.members.length)}: ${placesText(group, seen)}`;
    const lines = [look.paint(colourOf(group, groups), title), ...bodyLines(group, largest)];
    return [...lines, ...(shown.threads ? threadLines(group) : [])];
  });
  const table = groups.length === 1 ? [] : [summary(groups, seen, look)];
  return [...table, ...blocks].map((lines) => lines.map((line) => `${line}\n`).join('')).join('\n');
}

const processCount = (number: number): string => `${number} ${number === 1 ? 'process' : 'processes'}`;

/** If a gang waits for some of its members, the small groups are the ones to look at. */
function colourOf(group: StackGroup, groups: readonly StackGroup[]): 'bold' | 'yellow' {
  const isRare = group !== groups[0] && group.members.length < (groups[0]?.members.length ?? 0);
  return isRare ? 'yellow' : 'bold';
}

/** One line per group with its place: the call in which it differs from the largest group. */
function summary(groups: readonly StackGroup[], seen: readonly HostStacks[], look: Pick<Look, 'paint'>): string[] {
  const processes = groups.reduce((sum, { members }) => sum + members.length, 0);
  const [first, second] = groups as readonly [StackGroup, StackGroup, ...StackGroup[]];
  const lines = groups.map((group) => {
    const line = `  ${group.members.length} ${whereText(group, group === first ? second : first)}: ${placesText(group, seen)}`;
    return colourOf(group, groups) === 'yellow' ? look.paint('yellow', line) : line;
  });
  return [`${processCount(processes)} at ${groups.length} places:`, ...lines];
}

/** `in wait (train.py:4), called by all_reduce (train.py:6)`: the innermost call, and the one that differs in the other group. */
function whereText(group: StackGroup, other: StackGroup): string {
  const frames = framesOfGroup(group);
  const [innermost] = frames;
  if (innermost === undefined) return stateLine(group);
  const differs = frames.at(-1 - sharedCallers(group, other)) ?? innermost;
  return `in ${frameText(innermost)}${differs === innermost ? '' : `, called by ${frameText(differs)}`}`;
}

function stateLine({ members: [{ process }] }: StackGroup): string {
  const { localRank: _, ...rest } = process;
  return `${process.name} (${stateText(rest)})`;
}

function bodyLines(group: StackGroup, largest: StackGroup): string[] {
  const frames = framesOfGroup(group);
  const [{ process }] = group.members;
  const { problem } = process;
  if (frames.length === 0) {
    const what = problem ?? (isPython(process) ? 'no Python call' : undefined);
    return [`  ${stateLine(group)}${what === undefined ? '' : `: ${what}`}`];
  }
  const shared = group === largest ? 0 : sharedCallers(group, largest);
  const own = frames.slice(0, frames.length - shared).map((frame) => `  ${longText(frame)}`);
  return shared === 0 ? own : [...own, `  and ${count(shared, 'caller')} as in the largest group`];
}

/** Other threads of one of the group's processes: they do not count for grouping. */
function threadLines({ members: [{ host, process }] }: StackGroup): string[] {
  const threads = process.threads?.slice(1) ?? [];
  return threads.flatMap(({ name, frames }) => [
    `  thread ${name}, of process ${process.pid} of host ${host}:`,
    ...frames.map((frame) => `    ${longText(frame)}`),
  ]);
}

/** Shortens the path to the form of an import: `torch/distributed/distributed_c10d.py`. */
function longText(frame: Frame): string {
  const [, installed] = PACKAGE.exec(frame.file) ?? LIBRARY.exec(frame.file) ?? [];
  return installed === undefined ? frameText(frame) : `${frame.function} (${installed}:${frame.line})`;
}

const PACKAGE = /\/(?:site|dist)-packages\/(.+)$/;
const LIBRARY = /\/lib\/python3[.\d]*\/(.+)$/;
