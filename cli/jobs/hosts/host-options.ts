import { InvalidArgumentError } from 'commander';
import { MOST_HOSTS } from '../../../domain/slice.js';

/** Host numbers without duplicates, in the order given. */
export type HostChoice = 'all' | readonly number[];

/** Whether several hosts were asked for. Their files are laid out by host, however many hosts there turn out to be. */
export const asksSeveral = (hosts: HostChoice): boolean => hosts === 'all' || hosts.length > 1;

/** Parses `2`, `0,2`, `0-3,7` or `all`. @throws InvalidArgumentError */
export function parseHostChoice(text: string): HostChoice {
  if (text === 'all') return 'all';
  return [...new Set(text.split(',').flatMap(rangeOf))];
}

function rangeOf(part: string): number[] {
  const [, first, last] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim()) ?? [];
  const from = Number(first);
  const to = Number(last ?? first);
  if (first === undefined || to < from || to > MOST_HOSTS)
    throw new InvalidArgumentError('A number of a host from 0, a list such as 0,2-3, or all.');
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** The two ports that `port-forward` connects. */
export interface ForwardedPorts {
  readonly local: number;
  readonly remote: number;
}

/** Parses `8888` (the same port on both sides) or `LOCAL:REMOTE`. @throws InvalidArgumentError */
export function parseForwardedPorts(text: string): ForwardedPorts {
  const [, local, remote] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const ports = { local: Number(local), remote: Number(remote ?? local) };
  const isGood = Object.values(ports).every((port) => port >= 1 && port <= 65_535);
  if (local === undefined || !isGood)
    throw new InvalidArgumentError('A port from 1 to 65535, or two of them, LOCAL:REMOTE.');
  return ports;
}
