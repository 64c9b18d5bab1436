import { chipsOfUnits } from '../../domain/accelerators.js';
import type { LeaseStory } from '../../quota/pool-history.js';
import type { CloudEvent } from './rehearsal-admin.js';

/** Milliseconds of the cloud's clock. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a cloud had of one slice, its request and its node together: from the first of them until the last was gone. */
interface SliceLife extends Span {
  readonly name: string;
  /** As each of its events says. */
  readonly chips: ReadonlySet<number>;
  /** What is charged: its node from READY until it was gone. */
  readonly billed: readonly Span[];
}

/** From the cloud's own journal; nothing of jobctl has a part in it. @throws of a slice that is still there */
export function slicesIn(events: readonly CloudEvent[]): readonly SliceLife[] {
  const slices = new Map<string, { from: number; to: number; chips: Set<number>; billed: Span[] }>();
  const there = new Set<string>();
  const readySince = new Map<string, number>();
  for (const { at, kind, subject, details } of events) {
    if (kind !== 'node-state' && kind !== 'queued-resource-state') continue;
    const name = subject.slice(subject.lastIndexOf('/') + 1);
    const slice = slices.get(name) ?? { from: at, to: at, chips: new Set<number>(), billed: [] };
    slices.set(name, slice);
    if (details.chips !== undefined) slice.chips.add(details.chips);
    if (kind === 'node-state' && details.to === 'READY' && !readySince.has(name)) readySince.set(name, at);
    if (details.to !== 'gone') there.add(subject);
    if (details.to !== 'gone') continue;
    there.delete(subject);
    slice.to = at;
    const from = readySince.get(name);
    if (kind !== 'node-state' || from === undefined) continue;
    slice.billed.push({ from, to: at });
    readySince.delete(name);
  }
  if (there.size > 0) throw new Error(`still there: ${[...there].join(', ')}`);
  return [...slices].map(([name, slice]) => ({ name, ...slice }));
}

/** Where the chip-seconds of leases went, in the order of a lease's life. Together they are all that the pool counted. */
export interface ChipSeconds {
  /** Granted, and nothing was asked of the cloud yet. */
  readonly before: number;
  /** Something of it was in the cloud, and no node was READY. */
  readonly waiting: number;
  readonly billed: number;
  /** Nothing of it was in the cloud, and more came later. */
  readonly between: number;
  /** The last of it was gone, and its pool had not seen it yet. */
  readonly unseen: number;
  /** Not of the sum: charged beside another slice of the same lease. */
  readonly billedTwice: number;
}

export interface Account {
  readonly sums: ChipSeconds;
  /** What the pool counted, from grant to return. */
  readonly counted: number;
  /** What does not fit together, in words. */
  readonly problems: readonly string[];
}

/**
 * Each lease's time by what the cloud had of it. A lease is granted before its first slice is asked for, and returned once the last
 * is gone; each slice lies in one lease of its job, whose chips it has.
 * @param stories of leases that were all returned
 * @param jobOf the job of a slice's name
 */
export function accountOf(
  slices: readonly SliceLife[],
  stories: readonly LeaseStory[],
  jobOf: (slice: string) => string,
): Account {
  const problems: string[] = [];
  const sums = { before: 0, waiting: 0, billed: 0, between: 0, unseen: 0, billedTwice: 0 };
  let counted = 0;
  const left = new Map(slices.map((slice) => [slice.name, 0]));
  for (const story of stories) {
    const { job, lease, units, grantedAt = NaN, freedAt = NaN } = story;
    const chips = Object.entries(units).reduce((sum, [type, amount]) => sum + (chipsOfUnits(type, amount) ?? NaN), 0);
    const own = slices.filter((slice) => jobOf(slice.name) === job && slice.from < freedAt && slice.to > grantedAt);
    for (const { name, from, to, chips: told } of own) {
      left.set(name, (left.get(name) ?? 0) + 1);
      const what = `${name} in lease ${lease} of ${job}`;
      if (from < grantedAt) problems.push(`${what}: asked for ${grantedAt - from} ms before the grant`);
      if (to > freedAt) problems.push(`${what}: there for ${to - freedAt} ms after the return`);
      if ([...told].some((each) => each !== chips))
        problems.push(`${what}: ${[...told].join(', ')} chips, not ${chips}`);
    }
    const parts = partsOf(own, { from: grantedAt, to: freedAt });
    for (const [part, ms] of Object.entries(parts)) sums[part as keyof ChipSeconds] += (chips * ms) / 1_000;
    counted += (chips * (freedAt - grantedAt)) / 1_000;
  }
  for (const [name, leases] of left) if (leases !== 1) problems.push(`${name}: in ${leases} leases of its job`);
  const { billedTwice: _, ...parts } = sums;
  const sum = Object.values(parts).reduce((total, part) => total + part, 0);
  // Whole milliseconds, so that only the division by 1,000 is inexact.
  if (Math.round(sum * 1_000) !== Math.round(counted * 1_000)) problems.push(`${sum} of ${counted} chip-seconds`);
  return { sums, counted, problems };
}

/** Of one lease, in milliseconds. */
function partsOf(slices: readonly SliceLife[], lease: Span): ChipSeconds {
  const there = joined(slices);
  const billed = joined(slices.flatMap((slice) => slice.billed));
  const [first, last] = [there[0]?.from ?? lease.to, there.at(-1)?.to ?? lease.to];
  return {
    before: first - lease.from,
    waiting: lengthOf(there) - lengthOf(billed),
    billed: lengthOf(billed),
    between: last - first - lengthOf(there),
    unseen: lease.to - last,
    billedTwice: lengthOf(slices.flatMap((slice) => slice.billed)) - lengthOf(billed),
  };
}

const lengthOf = (spans: readonly Span[]): number => spans.reduce((sum, { from, to }) => sum + to - from, 0);

/** In order, none of them in another. */
function joined(spans: readonly Span[]): readonly Span[] {
  const all: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}
