/** Kinds of findings. Each should be counted 0 times. */
export const COUNTS = [
  'leaked resources',
  'false recoveries',
  'false successes',
  'ended work run again',
  'commands begun twice in an attempt',
  'two commands at once on a host',
  'wrong outcomes',
  'stored output that is no prefix',
  'missing tails that are not said',
  'leases left',
  'claims or commands left on machines',
  'chips overcommitted',
  'foreign resources touched',
  'processes that ended by themselves',
  'jobs stuck',
  'untrue reasons',
  'members lost or made up',
  'more members at once than allowed',
  'wrong tables of groups',
  'begun before their turn',
  'events not told',
  'events told twice or untruly',
  'wrong metrics',
] as const;
export type Count = (typeof COUNTS)[number];

export interface Finding {
  readonly count: Count;
  /** The job or the resource that it is about. */
  readonly subject: string;
  readonly text: string;
}

export type Totals = Readonly<Record<Count, number>>;

export function totalsOf(findings: readonly Finding[]): Totals {
  const none = Object.fromEntries(COUNTS.map((count) => [count, 0])) as Record<Count, number>;
  for (const { count } of findings) none[count]++;
  return none;
}
