import { nominalQuota } from '../../quota/nominal-quota.js';
import type { LimitedQuota, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import { Random, seededState } from '../../rehearsal/random.js';
import type { BastionInput, BastionJob } from './bastion.js';

const PROJECTS = 100;
const USERS_OF_PROJECT = 5;
const TYPES = ['v4', 'v5litepod', 'v6e'] as const;
const GANGS = [8, 8, 8, 16, 16, 32, 64, 128] as const;
/** Part of the requested units that the pool has. */
const PART_THAT_FITS = 1 / 3;
const NOW = 1_800_000_000_000;

/** One pool as input for both passes: the same jobs, shares and units. */
export interface SyntheticPool {
  readonly bastion: BastionInput;
  readonly config: LimitedQuota;
  readonly requests: readonly QuotaRequest[];
  readonly now: number;
}

/** `count` jobs of 100 projects with equal shares, three types, and units for a third of the jobs. The seed is `count`. */
export function syntheticPool(count: number): SyntheticPool {
  const random = new Random(seededState(count));
  const jobs = Array.from({ length: count }, (_, index) => syntheticJob(random, index));
  const tier = Object.fromEntries(TYPES.map((type) => [type, unitsThatFit(jobs, type)]));
  const names = Array.from({ length: PROJECTS }, (_, index) => projectName(index));
  const share = 1 / PROJECTS;
  const shares = Object.fromEntries(
    names.map((name) => [name, Object.fromEntries(TYPES.map((type) => [type, share]))]),
  );
  const nominal = TYPES.map((type) => nominalQuota(tier[type] ?? 0, new Map(names.map((name) => [name, share]))));
  const projects = names.map((name) => ({
    name,
    shares: shares[name] ?? {},
    nominal: [Object.fromEntries(TYPES.map((type, index) => [type, nominal[index]?.get(name) ?? 0]))],
    members: ['.*'],
  }));
  return {
    bastion: { tiers: [tier], shares, jobs },
    config: { kind: 'limited', tiers: [tier], projects },
    requests: jobs,
    now: NOW,
  };
}

function syntheticJob(random: Random, index: number): BastionJob {
  const project = projectName(random.integer(0, PROJECTS - 1));
  const type = TYPES[random.integer(0, TYPES.length - 1)] ?? TYPES[0];
  return {
    id: `job-${index}/run/1`,
    project,
    user: `${project}-user-${random.integer(1, USERS_OF_PROJECT)}`,
    priority: random.integer(1, 5),
    submittedAt: NOW - random.integer(1, 3 * 3_600_000),
    units: { [type]: GANGS[random.integer(0, GANGS.length - 1)] ?? 8 },
  };
}

function unitsThatFit(jobs: readonly BastionJob[], type: string): number {
  const asked = jobs.reduce((sum, { units }) => sum + (units[type] ?? 0), 0);
  return Math.ceil((asked * PART_THAT_FITS) / PROJECTS) * PROJECTS;
}

const projectName = (index: number): string => `project-${String(index).padStart(3, '0')}`;

/** A held lease of this request. */
export function heldLease(request: QuotaRequest, tier: number, startedAt: number): QuotaLease {
  return { ...request, tier, startedAt, state: 'held' };
}
