import { InvalidArgumentError } from 'commander';

/** Numbers of hosts, each once, in the order in which they were named. */
export type HostChoice = 'all' | readonly number[];

const MOST_HOSTS = 100_000;

/** `2`, `0,2`, `0-3,7` or `all`. @throws InvalidArgumentError */
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
