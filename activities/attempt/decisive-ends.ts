import type { JobSpec } from '../../domain/job-spec.js';
import type { Evidence } from '../../domain/recovery/evidence.js';
import type { HostEnd, HostPlace } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';
import { CONSEQUENCE_MS, leadingHost, wasStopped } from './leading-host.js';
import { isGood, isShutDown } from './run-end.js';

type Command = Pick<JobSpec, 'command'>;

/** Hosts whose end is the attempt's: all hosts, unless one leads the others or decides alone. */
export function decidingHosts(spec: JobSpec, hosts: readonly AttemptHost[]): readonly AttemptHost[] {
  const leader = spec.command?.success === 'first' ? hosts[0] : leadingHost(spec, hosts);
  return leader === undefined ? hosts : [leader];
}

/** The ends that decide, and the number of hosts that they stand for: one if `command.success` says that one is enough. */
export function decisive(
  { command }: Command,
  ends: readonly HostEnd[],
  hosts: number,
): Pick<Evidence, 'ends' | 'hosts'> {
  const one = command?.success === 'any' ? ends.find(hasSucceeded) : undefined;
  return one === undefined ? { ends, hosts } : { ends: [one], hosts: 1 };
}

/** The hosts of an attempt without a leader, as their ends are waited for. */
export interface EqualHosts {
  readonly ends: readonly Promise<HostEnd>[];
  /** Ends of hosts of which one that succeeds is enough. Empty: all have to succeed. */
  readonly enough: readonly Promise<HostEnd>[];
  /** Tells all hosts to end. Resolves when they have, or when their time for it is over. */
  stop(reason: string): Promise<void>;
  /** Ends of the slice of a host that shuts down, as many as come. */
  untilSaved(first: HostEnd & { readonly at: HostPlace }): Promise<readonly HostEnd[]>;
  wait(ms: number): Promise<undefined>;
}

/**
 * Resolves when all hosts are done, or one whose success is enough, or one that failed; the others are stopped then. For a slice
 * whose hosts shut down: the ends that came. If a failure is the consequence of a success, either may be heard of first.
 */
export async function untilEnded({ ends, enough, stop, untilSaved, wait }: EqualHosts): Promise<readonly HostEnd[]> {
  const all = Promise.all(ends);
  const success = firstOf(enough, hasSucceeded);
  const bad = firstOf(ends, (end) => !isGood(end));
  const first = await Promise.race([success, all, bad]);
  if (!('kind' in first)) return first;
  const isAlone = enough.length === 0 || first.kind === 'fenced';
  const enoughOne = isAlone ? undefined : await Promise.race([success, wait(CONSEQUENCE_MS)]);
  if (enoughOne !== undefined) {
    await stop('the command has succeeded where command.success asks for it');
    return [enoughOne];
  }
  if (isShutDown(first)) return untilSaved(first);
  await stop('the command failed on another host');
  return Promise.race([all, wait(LAST_LINES_MS).then(() => [first])]);
}

/** Whether it ended well and by itself. */
const hasSucceeded = (end: HostEnd): boolean => isGood(end) && !wasStopped(end);

const firstOf = (ends: readonly Promise<HostEnd>[], isMeant: (end: HostEnd) => boolean): Promise<HostEnd> =>
  Promise.race(ends.map(async (end) => (isMeant(await end) ? end : new Promise<never>(() => undefined))));

/** Time for the last lines of hosts that were stopped. */
export const LAST_LINES_MS = 10_000;
