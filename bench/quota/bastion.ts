/**
 * Bastion's pass for a simulated month, the same as in bastion.py: see docs/facts.md, "Predecessors", and AXLearn's scheduler.py
 * of 0330145. test/quota/bastion.test.ts compares the two on random pools. Shares and ratios are doubles, as in Python.
 */
import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import { unitsOf } from '../../domain/units.js';
import { Heap } from '../../quota/decision/order-of-service.js';

export interface BastionJob {
  readonly id: string;
  readonly project: string;
  readonly user: string;
  readonly priority: number;
  readonly submittedAt: EpochMs;
  readonly units: QuotaUnits;
}

/** Input of a pass. It does not say which jobs run already, because the pass does not depend on that. */
export interface BastionInput {
  /** Units by tier, best tier first. */
  readonly tiers: readonly QuotaUnits[];
  /** Relative weights by type, for each project. */
  readonly shares: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly jobs: readonly BastionJob[];
}

/** The verdict on one job. Verdicts are in the order in which jobs are visited. `tier` is null if the job is not admitted. */
export interface BastionVerdict {
  readonly id: string;
  readonly tier: number | null;
}

type Units = Record<string, number>;

/** Decides which jobs may run, starting from an empty pool. A running job that is not admitted is killed at once. */
export function bastionPass({ tiers, shares, jobs }: BastionInput): BastionVerdict[] {
  const free = tiers.map((tier): Units => ({ ...tier }));
  const left: Units = {};
  for (const tier of free) for (const [type, units] of Object.entries(tier)) left[type] = unitsOf(left, type) + units;
  const lines = [...projectsOf(jobs)].map(([name, ofProject]) => {
    const line = inTurns(ofProject);
    const [can, cannot] = [
      line.filter(({ units }) => fits(units, left)),
      line.filter(({ units }) => !fits(units, left)),
    ];
    return new ProjectLine(name, [...can, ...cannot], nominalOf(name, shares, left));
  });
  const turns = new Heap<ProjectLine>(beforeProject);
  for (const line of lines) turns.push(line);
  const verdicts: BastionVerdict[] = [];
  for (let line = turns.pop(); line !== undefined; line = turns.pop()) {
    const job = line.next();
    const isAdmitted = fits(job.units, left);
    verdicts.push({ id: job.id, tier: isAdmitted ? admit(job.units, free, left) : null });
    if (isAdmitted) line.use(job.units);
    if (line.reckonTurn()) turns.push(line);
  }
  return verdicts;
}

/** Takes the units, beginning with the last tier that is needed. @returns the last tier that is needed */
function admit(units: QuotaUnits, free: readonly Units[], left: Units): number {
  const inOrder = free.map((_, index) => index);
  const final = Math.max(0, ...takeFrom(inOrder, free, units).map(({ tier }) => tier));
  for (const { tier, type, units: taken } of takeFrom(inOrder.slice(0, final + 1).toReversed(), free, units)) {
    (free[tier] as Units)[type] = unitsOf(free[tier] as Units, type) - taken;
    left[type] = unitsOf(left, type) - taken;
  }
  return final;
}

function takeFrom(order: readonly number[], free: readonly Units[], units: QuotaUnits): Taken[] {
  const taken: Taken[] = [];
  const rest = new Map(Object.entries(units));
  for (const tier of order) {
    for (const [type, asked] of rest) {
      const share = Math.min(asked, unitsOf(free[tier] ?? {}, type));
      if (share === 0) continue;
      taken.push({ tier, type, units: share });
      if (share === asked) rest.delete(type);
      else rest.set(type, asked - share);
    }
    if (rest.size === 0) break;
  }
  return taken;
}

interface Taken {
  readonly tier: number;
  readonly type: string;
  readonly units: number;
}

/** A project's jobs in the order of their turns, and the project's rank among all projects. */
class ProjectLine {
  readonly name: string;
  readonly #jobs: readonly BastionJob[];
  readonly #nominal: QuotaUnits;
  readonly #used: Units = {};
  #at = 0;
  /** Largest (used + asked) / nominal over the types of the next job. */
  ratio = 0;

  constructor(name: string, jobs: readonly BastionJob[], nominal: QuotaUnits) {
    this.name = name;
    this.#jobs = jobs;
    this.#nominal = nominal;
    this.reckonTurn();
  }

  get head(): BastionJob {
    return this.#jobs[this.#at] as BastionJob;
  }

  next(): BastionJob {
    const job = this.head;
    this.#at += 1;
    return job;
  }

  use(units: QuotaUnits): void {
    for (const [type, taken] of Object.entries(units)) this.#used[type] = unitsOf(this.#used, type) + taken;
  }

  /** @returns false if no job is left */
  reckonTurn(): boolean {
    if (this.#at >= this.#jobs.length) return false;
    const ratios = Object.entries(this.head.units).map(
      ([type, asked]) => (unitsOf(this.#used, type) + asked) / Math.max(unitsOf(this.#nominal, type), TINY),
    );
    this.ratio = Math.max(0, ...ratios);
    return true;
  }
}

/** Stands for a nominal quota of 0 in a division. */
const TINY = 1e-8;

function beforeProject(a: ProjectLine, b: ProjectLine): boolean {
  if (a.ratio !== b.ratio) return a.ratio < b.ratio;
  if (a.head.submittedAt !== b.head.submittedAt) return a.head.submittedAt < b.head.submittedAt;
  return a.name < b.name;
}

function projectsOf(jobs: readonly BastionJob[]): ReadonlyMap<string, BastionJob[]> {
  return groupedBy(jobs, ({ project }) => project);
}

function groupedBy(jobs: readonly BastionJob[], key: (job: BastionJob) => string): Map<string, BastionJob[]> {
  const groups = new Map<string, BastionJob[]>();
  for (const job of jobs) {
    const group = groups.get(key(job));
    if (group) group.push(job);
    else groups.set(key(job), [job]);
  }
  return groups;
}

/** Orders a project's jobs. Users take turns, by (priority, units that the user got in this pass, submit time, id). */
function inTurns(jobs: readonly BastionJob[]): BastionJob[] {
  const turns = new Heap<UserTurn>(beforeUser);
  for (const ofUser of groupedBy(jobs, ({ user }) => user).values()) {
    turns.push({ jobs: ofUser.sort(byAge), at: 0, used: 0 });
  }
  const line: BastionJob[] = [];
  for (let turn = turns.pop(); turn !== undefined; turn = turns.pop()) {
    const job = turn.jobs[turn.at] as BastionJob;
    line.push(job);
    turn.at += 1;
    turn.used += Object.values(job.units).reduce((sum, units) => sum + units, 0);
    if (turn.at < turn.jobs.length) turns.push(turn);
  }
  return line;
}

interface UserTurn {
  readonly jobs: readonly BastionJob[];
  at: number;
  used: number;
}

function beforeUser(a: UserTurn, b: UserTurn): boolean {
  const [first, second] = [a.jobs[a.at] as BastionJob, b.jobs[b.at] as BastionJob];
  if (first.priority !== second.priority) return first.priority < second.priority;
  if (a.used !== b.used) return a.used < b.used;
  return byAge(first, second) < 0;
}

function byAge(a: BastionJob, b: BastionJob): number {
  return a.priority - b.priority || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : 1);
}

function nominalOf(project: string, shares: BastionInput['shares'], total: QuotaUnits): QuotaUnits {
  const nominal: Units = {};
  for (const [type, share] of Object.entries(shares[project] ?? {})) {
    const sum = Object.values(shares).reduce((added, of) => added + unitsOf(of, type), 0);
    nominal[type] = (share / Math.max(sum, TINY)) * unitsOf(total, type);
  }
  return nominal;
}

function fits(units: QuotaUnits, available: QuotaUnits): boolean {
  for (const type in units) if (unitsOf(units, type) > unitsOf(available, type)) return false;
  return true;
}
