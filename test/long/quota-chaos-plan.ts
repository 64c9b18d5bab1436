import { quotaFileText } from '../quota/quota-file-text.js';

/** What `quota-chaos.test.ts` does, drawn from a seed: who submits what, and whom it strikes. */
export interface ChaosPlan {
  readonly seed: number;
  readonly jobs: number;
  /** A number of 0 or more and less than 1; the same ones for the same seed. */
  readonly random: () => number;
}

/** mulberry32: 32 bits of state are plenty for a plan that a person reads. */
export function chaosPlan(seed: number, jobs: number): ChaosPlan {
  let state = seed >>> 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  return { seed, jobs, random };
}

export const POOL_UNITS = 64;
/** Half and a quarter of the pool are somebody's; the rest, and what the two leave, is lent to whoever comes. */
export const QUOTA = quotaFileText(
  { v5litepod: POOL_UNITS },
  { a: { members: ['alice'], share: 0.5 }, b: { members: ['bob'], share: 0.25 } },
);
export const POOL_FILE = `[quota]
min_runtime = "1s"
aging = "20s"
max_guarantee_delay = "10s"
asking_timeout = "30s"
`;

export interface DrawnJob {
  readonly user: string;
  readonly job: Readonly<Record<string, unknown>>;
}

/** Carol is a member of nothing: project `none`, best effort. One in ten jobs holds its chips until somebody ends it. */
export function drawJob({ random }: ChaosPlan, pool: string): DrawnJob {
  const user = pick(random, ['alice', 'alice', 'bob', 'carol']);
  const accelerator = pick(random, ['v5litepod-4', 'v5litepod-4', 'v5litepod-4', 'v5litepod-8', 'v5litepod-16']);
  const seconds = pick(random, [0, 0, 1, 2, 4]);
  const priority = 1 + Math.floor(random() * 5);
  const tpu = { accelerator, zone: 'us-central1-a', allocation_mode: 'queued-resources', pricing: 'spot' };
  return { user, job: { name: 'chaos', pool, priority, tpu, grace: '1s', command: { run: `sleep ${seconds}` } } };
}

export function pick<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('chaos: nothing to pick from');
  return item;
}
