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

/** What is charged and not in jobctl's own account, in words: none of its names, or for a longer time than the account has. */
export function notAccountedFor(
  bill: ReadonlyMap<string, BilledSlice>,
  stories: readonly LeaseStory[],
  nameOf: (story: LeaseStory) => string,
): readonly string[] {
  const accounts = new Map(stories.map((story) => [nameOf(story), story]));
  return [...bill].flatMap(([name, { from, to }]) => {
    const story = accounts.get(name);
    if (story === undefined) return [`${name}: billed for ${to - from} ms, in no lease's story`];
    const { grantedAt = Infinity, freedAt = -Infinity } = story;
    const ways = [
      ...(grantedAt > from ? [`billed ${grantedAt - from} ms before its lease`] : []),
      ...(freedAt < to ? [`billed ${to - freedAt} ms after its lease was returned`] : []),
      ...(story.heldMs === 0 ? [`billed for ${to - from} ms, and no chips in the account`] : []),
    ];
    return ways.map((way) => `${name}: ${way}`);
  });
}
