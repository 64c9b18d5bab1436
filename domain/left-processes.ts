import { count } from './units.js';
import { boundedLine } from './outside-text.js';

/** Processes that still ran on a host after the command's shell had ended there with code 0, and were ended (docs/adr/0122). */
export interface LeftProcesses {
  readonly count: number;
  /** The first of the processes. */
  readonly named: readonly { readonly pid: number; readonly command: string }[];
}

/** Those processes of a whole attempt, host by host. */
export interface LeftReport {
  readonly hosts: readonly ({ readonly place: string } & LeftProcesses)[];
  /** Number of other hosts. Absent: 0. */
  readonly otherHosts?: number;
}

/** Most lines that are read: more than a runner writes. The text may be forged, because a host is not trusted. */
const MOST_LINES = 8;
const MOST_COMMAND = 200;
const MOST_HOSTS = 5;

/** @param text the number of processes, then a line `PID COMMAND LINE` for each named one. Undefined if it names none. */
export function leftProcesses(text: string): LeftProcesses | undefined {
  const [first = '', ...lines] = text.split('\n').slice(0, MOST_LINES);
  const named = lines.flatMap((line) => {
    const { pid, command = '' } = /^(?<pid>\d{1,10}) (?<command>.*)$/.exec(line)?.groups ?? {};
    return pid === undefined ? [] : [{ pid: Number(pid), command: boundedLine(command, MOST_COMMAND) }];
  });
  if (!/^[1-9]\d{0,9}$/.test(first) || named.length === 0) return undefined;
  return { count: Math.max(Number(first), named.length), named };
}

/** The form in which the runner writes the processes into an exit record. */
export const leftProcessesText = ({ count: all, named }: LeftProcesses): string =>
  [all, ...named.map(({ pid, command }) => `${pid} ${command}`)].join('\n');

interface LeftOnHost {
  readonly at: { readonly slice: number; readonly host: number };
  readonly left?: LeftProcesses;
}

/** @param slices number of the job's slices. @returns undefined if no host has ended any process */
export function leftReport(ends: readonly LeftOnHost[], slices: number): LeftReport | undefined {
  const hosts = ends
    .toSorted((a, b) => a.at.slice - b.at.slice || a.at.host - b.at.host)
    .flatMap(({ at, left }) =>
      left === undefined ? [] : [{ place: `host ${at.host}${slices > 1 ? ` of slice ${at.slice}` : ''}`, ...left }],
    );
  if (hosts.length === 0) return undefined;
  const otherHosts = hosts.length - MOST_HOSTS;
  return { hosts: hosts.slice(0, MOST_HOSTS), ...(otherHosts > 0 && { otherHosts }) };
}

/** `2 processes on host 1: 4711 'python3 a.py', 4712 'python3 b.py'`. */
export function processesText({ count: all, named }: LeftProcesses, place: string): string {
  const more = all > named.length ? ` and ${all - named.length} more` : '';
  const names = named.map(({ pid, command }) => `${pid} '${command}'`).join(', ');
  return `${all === 1 ? 'a process' : `${all} processes`} on ${place}: ${names}${more}`;
}

/** `still ran when the command's shell had ended with code 0, and was ended: 2 processes on host 1: 4711 'python3 a.py', ..`. */
export function leftText({ hosts, otherHosts }: LeftReport): string {
  const told = hosts.map(({ place, ...left }) => processesText(left, place));
  const others = otherHosts === undefined ? '' : `; and on ${count(otherHosts, 'other host')}`;
  return `still ran when the command's shell had ended with code 0, and was ended: ${told.join('; ')}${others} (command.wait_for: all waits for it)`;
}
