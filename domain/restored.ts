import { count, type EpochMs, sizeText } from './units.js';
import { largest, smallest } from './extremes.js';

/** Files that a host got back before an attempt's command started (docs/adr/0124). */
export type HostRestored =
  | {
      readonly kind: 'restored';
      /** The attempt that stored them. */
      readonly attempt: number;
      readonly at: EpochMs;
      readonly files: number;
      readonly bytes: number;
    }
  /** The host ran that attempt, or a later one, and still has its files. */
  | { readonly kind: 'kept' }
  /** The store has no complete round of the host. */
  | { readonly kind: 'nothing' };

type Restored = Extract<HostRestored, { kind: 'restored' }>;

/**
 * `restored 12 files (4.8 GB) of attempt 1 on 4 hosts, as stored at 12:03:10Z; what was written to them after that is lost`. If
 * the times of several hosts differ, it shows their range.
 */
export function restoredText(hosts: ReadonlyMap<number, HostRestored>): string {
  const all = [...hosts.values()];
  const restored = all.flatMap((one) => (one.kind === 'restored' ? [one] : []));
  const kept = all.filter(({ kind }) => kind === 'kept').length;
  const without = [...hosts].flatMap(([host, { kind }]) => (kind === 'nothing' ? [host] : []));
  const attempts = [...new Set(restored.map(({ attempt }) => attempt))].toSorted((a, b) => b - a);
  const texts = attempts.map((attempt) => ofAttempt(restored.filter((one) => one.attempt === attempt)));
  return [
    ...texts,
    ...(kept === 0 ? [] : [`${count(kept, 'host')} ${kept === 1 ? 'has its' : 'have their'} files still`]),
    ...(without.length === 0 ? [] : [`NOTHING is put back on ${hostsText(without)}: nothing whole was stored there`]),
  ].join('; ');
}

function ofAttempt(hosts: readonly Restored[]): string {
  const sum = (of: (one: Restored) => number): number => hosts.reduce((total, one) => total + of(one), 0);
  const [first, last] = [smallest(hosts.map(({ at }) => at)), largest(hosts.map(({ at }) => at))].map(time);
  const when = first === last ? `at ${first}` : `from ${first} to ${last}`;
  const files = `${count(
    sum(({ files: number }) => number),
    'file',
  )} (${sizeText(sum(({ bytes }) => bytes))})`;
  return `restored ${files} of attempt ${hosts[0]?.attempt} on ${count(hosts.length, 'host')}, as stored ${when}; what was written to them after that is lost`;
}

const time = (at: EpochMs): string => `${new Date(at).toISOString().slice(11, 19)}Z`;

const hostsText = (hosts: readonly number[]): string =>
  `${hosts.length === 1 ? 'host' : 'hosts'} ${hosts.slice(0, 5).join(', ')}${hosts.length > 5 ? `, .. (${hosts.length})` : ''}`;
