import type { LeaseStory } from '../../quota/pool-history.js';
import type { CloudEvent } from './rehearsal-admin.js';

/** What a cloud charges for one slice: its chips from ready until it is gone, in milliseconds of the cloud's clock. */
export interface BilledSlice {
  readonly chips: number;
  readonly from: number;
  readonly to: number;
}

/** By the slices' names, from the cloud's own journal; nothing of jobctl has a part in it. @throws of a slice that is still there */
export function billOf(events: readonly CloudEvent[]): ReadonlyMap<string, BilledSlice> {
  const chips = new Map<string, number>();
  const since = new Map<string, number>();
  const bill = new Map<string, BilledSlice>();
  for (const { at, kind, subject, details } of events) {
    if (kind !== 'node-state') continue;
    const name = subject.split('/').at(-1) as string;
    if (details.chips !== undefined) chips.set(name, details.chips);
    if (details.to === 'READY' && !since.has(name)) since.set(name, at);
    const from = since.get(name);
    if (details.to !== 'gone' || from === undefined) continue;
    bill.set(name, { chips: chips.get(name) ?? 0, from, to: at });
    since.delete(name);
  }
  if (since.size > 0) throw new Error(`still billed: ${[...since.keys()].join(', ')}`);
  return bill;
}

/**
 * What is charged and in no lease of its job, in words: a lease is granted before its slices exist, and returned once they are gone.
 * @param jobOf the job of a slice's name
 */
export function notAccountedFor(
  bill: ReadonlyMap<string, BilledSlice>,
  stories: readonly LeaseStory[],
  jobOf: (slice: string) => string,
): readonly string[] {
  return [...bill].flatMap(([name, { from, to }]) => {
    const own = stories.filter(({ job }) => job === jobOf(name));
    const isCovered = own.some(({ grantedAt = Infinity, freedAt = -Infinity }) => grantedAt <= from && freedAt >= to);
    const leases = own.map(({ grantedAt, freedAt }) => `${(grantedAt ?? NaN) - from} to ${(freedAt ?? NaN) - to}`);
    return isCovered
      ? []
      : [`${name}: billed for ${to - from} ms; leases, from its begin to its end: ${leases.join(', ')}`];
  });
}
