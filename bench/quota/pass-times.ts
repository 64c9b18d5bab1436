import { decide } from '../../quota/decide.js';
import type { Pool } from '../../quota/quota-config.js';
import { bastionPython } from './bastion-python.js';
import { heldLease, type SyntheticPool, syntheticPool } from './synthetic-pool.js';

const MINUTE = 60_000;
const ROUNDS = 9;
const ROUND_MS = 20;
const WARM_UP_MS = 500;

/** CPU time of a pass in ms, one figure per round. */
export interface PassTimes {
  readonly jobs: number;
  /** Every job waits and the pool is empty, as at the start of each pass of Bastion. */
  readonly empty: readonly number[];
  /** A third of the jobs hold the whole pool, the others wait. */
  readonly full: readonly number[];
  /** The pool is full, but all held units are lent and their owners wait, so that the pass looks for candidates. */
  readonly lent: readonly number[];
  readonly grants: number;
  readonly preemptions: number;
}

export interface PythonTimes {
  readonly priorityQueue: readonly number[];
  readonly heapq: readonly number[];
}

/** Measures a pass over an empty, a full and a lent pool of `jobs` jobs. */
export function passTimes(jobs: number): PassTimes {
  const synthetic = syntheticPool(jobs);
  const empty = emptyPool(synthetic);
  const full = fullPool(synthetic);
  const lent = lentPool(synthetic);
  return {
    jobs,
    empty: timesOf(() => decide(empty, synthetic.now)),
    full: timesOf(() => decide(full, synthetic.now)),
    lent: timesOf(() => decide(lent, synthetic.now)),
    grants: decide(empty, synthetic.now).grants.length,
    preemptions: decide(lent, synthetic.now).preemptions.length,
  };
}

export function pythonTimes(jobs: number): PythonTimes {
  const { bastion } = syntheticPool(jobs);
  const times = (queue: 'PriorityQueue' | 'heapq'): readonly number[] =>
    bastionPython([bastion], { rounds: ROUNDS, queue })[0]?.ms ?? [];
  return { priorityQueue: times('PriorityQueue'), heapq: times('heapq') };
}

export const emptyPool = ({ config, requests }: SyntheticPool): Pool => ({ config, requests, leases: [] });

/** The empty pool an hour after its first pass: no minimum runtime protects a lease any more. */
export function fullPool({ config, requests, now }: SyntheticPool): Pool {
  const { grants } = decide({ config, requests, leases: [] }, now - MINUTE);
  const tiers = new Map(grants.map(({ id, tier }) => [id, tier]));
  const isGranted = ({ id }: { readonly id: string }): boolean => tiers.has(id);
  return {
    config,
    requests: requests.filter((request) => !isGranted(request)),
    leases: requests
      .filter(isGranted)
      .map((request) => heldLease(request, tiers.get(request.id) ?? 0, now - 60 * MINUTE)),
  };
}

/** The full pool, with each lease moved to project `none`, which has no nominal quota. */
export function lentPool(synthetic: SyntheticPool): Pool {
  const full = fullPool(synthetic);
  return { ...full, leases: full.leases.map((lease) => ({ ...lease, project: 'none' })) };
}

/**
 * CPU time of one call in ms, one figure per round. Wall time would count other processes of the machine. A round repeats the
 * call for 20 ms, after a warm-up of 500 ms.
 */
export function timesOf(call: () => unknown): readonly number[] {
  meanOf(call, WARM_UP_MS);
  return Array.from({ length: ROUNDS }, () => meanOf(call, ROUND_MS));
}

/** Mean CPU time of one call in ms, over calls that together take `atLeastMs`. */
export function meanOf(call: () => unknown, atLeastMs: number): number {
  const start = cpuMs();
  let calls = 0;
  do {
    call();
    calls += 1;
  } while (cpuMs() - start < atLeastMs);
  return (cpuMs() - start) / calls;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The exponent of `ms = c * jobs^exponent`, by least squares of the logarithms. */
export function growthExponent(points: readonly { readonly jobs: number; readonly ms: number }[]): number {
  const logs = points.map(({ jobs, ms }) => ({ x: Math.log(jobs), y: Math.log(ms) }));
  const mean = (of: 'x' | 'y'): number => logs.reduce((sum, point) => sum + point[of], 0) / logs.length;
  const [x0, y0] = [mean('x'), mean('y')];
  const product = logs.reduce((sum, { x, y }) => sum + (x - x0) * (y - y0), 0);
  return product / logs.reduce((sum, { x }) => sum + (x - x0) ** 2, 0);
}
