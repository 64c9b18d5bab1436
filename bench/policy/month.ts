import { nominalQuota } from '../../quota/nominal-quota.js';
import type { LimitedQuota } from '../../quota/quota-config.js';
import { Random, seededState } from '../../rehearsal/random.js';
import type { SimulatedJob } from '../../test/quota/simulation.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const TYPE = 'v5litepod';
/** Of the pool, in one tier. */
export const POOL_UNITS = 2_048;
/** From a slice's READY until the command does new work: set-up, restore of a checkpoint. Part of every start. */
export const SET_UP_MS = 5 * MINUTE;

/**
 * 20 projects: what a project is entitled to (hundredths of the pool, 100 together), and what it asks for beside it. Some ask
 * for twice their share, some for a tenth, so that there is something to lend and somebody to borrow.
 */
const PROJECTS: readonly { readonly share: number; readonly load: number }[] = [
  ...times(5, { share: 4, load: 2.1 }),
  ...times(5, { share: 6, load: 1.1 }),
  ...times(5, { share: 6, load: 0.75 }),
  ...times(5, { share: 4, load: 0.15 }),
];

/** Gangs, in units: half of the jobs are one host, one in fifty is an eighth of the pool. */
const GANGS: readonly { readonly units: number; readonly weight: number }[] = [
  { units: 8, weight: 50 },
  { units: 16, weight: 25 },
  { units: 32, weight: 12 },
  { units: 64, weight: 7 },
  { units: 128, weight: 4 },
  { units: 256, weight: 2 },
];
const MEAN_GANG = GANGS.reduce((sum, { units, weight }) => sum + units * weight, 0) / 100;

/** Run times: log-normal with a median of 80 minutes, cut at three days. */
const MEDIAN_RUN_MS = 80 * MINUTE;
const SIGMA = 1.5;
const LONGEST_RUN_MS = 3 * DAY;
/** Mean of the log-normal; the cut takes about 5 % of it, so that the load is that much less than the table above says. */
const MEAN_RUN_MS = MEDIAN_RUN_MS * Math.exp(SIGMA ** 2 / 2);

const PRIORITIES = [1, 2, 3, 3, 3, 3, 4, 5] as const;
const MOST_USERS = 6;

/** What arrives in a month, and the pool that it arrives at. */
export interface Month {
  readonly seed: number;
  readonly days: number;
  readonly config: LimitedQuota;
  readonly jobs: readonly SimulatedJob[];
}

/** The same for the same seed and days. */
export function monthOf(seed: number, days: number): Month {
  const shares = new Map(PROJECTS.map(({ share }, index) => [projectName(index), share / 100]));
  const nominal = nominalQuota(POOL_UNITS, shares);
  const jobs = PROJECTS.flatMap(({ load }, index) => {
    const name = projectName(index);
    const random = new Random(seededState(seed * 1_000 + index));
    return jobsOf({ name, random, unitsAsked: load * (nominal.get(name) ?? 0), endMs: days * DAY });
  });
  const projects = [...shares].map(([name, share]) => ({
    name,
    shares: { [TYPE]: share },
    nominal: [{ [TYPE]: nominal.get(name) ?? 0 }],
    members: ['.*'],
  }));
  return {
    seed,
    days,
    config: { kind: 'limited', tiers: [{ [TYPE]: POOL_UNITS }], projects },
    jobs: jobs.toSorted((a, b) => a.submitAt - b.submitAt),
  };
}

interface Arrivals {
  readonly name: string;
  readonly random: Random;
  /** Units that its jobs would hold on average if none ever waited. */
  readonly unitsAsked: number;
  readonly endMs: number;
}

/** A Poisson process whose rate has the shape of days and weeks. */
function jobsOf({ name, random, unitsAsked, endMs }: Arrivals): SimulatedJob[] {
  const everyMs = (MEAN_GANG * (MEAN_RUN_MS + SET_UP_MS)) / unitsAsked;
  const users = random.integer(2, MOST_USERS);
  const jobs: SimulatedJob[] = [];
  for (let at = 0; ;) {
    at += exponential(random) * (everyMs / MOST_RATE);
    if (at >= endMs) return jobs;
    if (random.fraction() * MOST_RATE > rateAt(at)) continue;
    jobs.push({
      id: `${name}-${jobs.length}`,
      project: name,
      user: `${name}-user-${Math.floor(users * random.fraction() ** 2)}`,
      priority: PRIORITIES[random.integer(0, PRIORITIES.length - 1)] ?? 3,
      submitAt: Math.floor(at),
      units: { [TYPE]: gang(random) },
      workMs: SET_UP_MS + runTime(random),
    });
  }
}

/** Of the mean: least at night, most in the afternoon; half as much at weekends. Its mean over a week is 1. */
function rateAt(at: number): number {
  const hour = (at % DAY) / HOUR;
  const isWeekend = Math.floor(at / DAY) % 7 >= 5;
  return (1 - 0.7 * Math.cos(((hour - 3) * Math.PI) / 12)) * (isWeekend ? 7 / 12 : 7 / 6);
}
const MOST_RATE = 1.7 * (7 / 6);

function gang(random: Random): number {
  let left = random.fraction() * 100;
  for (const { units, weight } of GANGS) {
    left -= weight;
    if (left < 0) return units;
  }
  return GANGS[0]?.units ?? 1;
}

function runTime(random: Random): number {
  const normal = Math.sqrt(2 * exponential(random)) * Math.cos(2 * Math.PI * random.fraction());
  return Math.ceil(Math.min(LONGEST_RUN_MS, MEDIAN_RUN_MS * Math.exp(SIGMA * normal)));
}

/** Mean 1. */
export const exponential = (random: Random): number => -Math.log(1 - random.fraction());

const projectName = (index: number): string => `p${String(index + 1).padStart(2, '0')}`;

function times<Item>(count: number, item: Item): Item[] {
  return Array.from({ length: count }, () => item);
}
