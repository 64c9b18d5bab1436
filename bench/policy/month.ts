import { nominalQuota } from '../../quota/nominal-quota.js';
import type { LimitedQuota } from '../../quota/quota-config.js';
import { Random, seededState } from '../../rehearsal/random.js';
import type { SimulatedJob } from '../../test/quota/simulation.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const TYPE = 'v5litepod';
/** Units of the pool, in one tier. */
export const POOL_UNITS = 2_048;
/** From a slice's READY until the command does new work: set-up, restore of a checkpoint. Every start takes it. */
export const SET_UP_MS = 5 * MINUTE;

/**
 * The 20 projects. `share` is the nominal quota in hundredths of the pool, 100 together. `load` is the average demand as a
 * multiple of that quota. Some ask for twice their quota and some for little, so that projects lend and borrow.
 */
const PROJECTS: readonly { readonly share: number; readonly load: number }[] = [
  ...times(5, { share: 4, load: 2.1 }),
  ...times(5, { share: 6, load: 1.1 }),
  ...times(5, { share: 6, load: 0.75 }),
  ...times(5, { share: 4, load: 0.15 }),
];

/** Sizes of gangs in units, with weights out of 100. Half of the jobs have one host; one in fifty wants an eighth of the pool. */
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
/** Mean of the log-normal before the cut. The cut lowers the real mean, and so the load, by about 5 %. */
const MEAN_RUN_MS = MEDIAN_RUN_MS * Math.exp(SIGMA ** 2 / 2);

const PRIORITIES = [1, 2, 3, 3, 3, 3, 4, 5] as const;
const MOST_USERS = 6;

/** The jobs that arrive in a month, and their pool's quota. */
export interface Month {
  readonly seed: number;
  readonly days: number;
  readonly config: LimitedQuota;
  readonly jobs: readonly SimulatedJob[];
}

/** Draws a month: the same for the same seed and days. */
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
  /** Units that the project's jobs would hold on average if none ever waited. */
  readonly unitsAsked: number;
  readonly endMs: number;
}

/** Draws jobs from a Poisson process whose rate varies with the hour and the day of the week. */
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

/** Arrival rate as a multiple of its mean: lowest at night, highest in the afternoon, half as high at weekends. */
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

/** A draw from the exponential distribution with mean 1. */
export const exponential = (random: Random): number => -Math.log(1 - random.fraction());

const projectName = (index: number): string => `p${String(index + 1).padStart(2, '0')}`;

function times<Item>(count: number, item: Item): Item[] {
  return Array.from({ length: count }, () => item);
}
