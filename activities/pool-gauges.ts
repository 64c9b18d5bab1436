import { performance } from 'node:perf_hooks';
import { type LeasedUnits, poolCounts } from '../quota/pool-accounts.js';
import { type PackedPoolState, unpackState } from '../quota/published-state.js';
import type { WorkMeter } from './work-meter.js';

/** Most projects per pool; with types and states these are some hundreds of series. */
const MOST_PROJECTS = 50;
/** Most of this worker's time that goes into counting. */
const MOST_OF_TIME = 1 / 20;
/** A pool with waiting jobs or leases is published every 30 s, but perhaps by another worker. */
const FORGET_AFTER_MS = 90_000;

export type PoolMeter = Pick<WorkMeter, 'waitingJobs' | 'stuckDeletions' | 'leasedUnits'>;

/**
 * The gauges of one pool, from each state that this worker publishes. If there are several workers, the one that published last
 * is right. The others reset their gauges to 0, so the maximum over the workers is the pool as of the last 90 s.
 */
export class PoolGauges {
  readonly #meter: PoolMeter;
  readonly #pool: string;
  readonly #forgetAfterMs: number;
  /** Series that are not 0. */
  #shown = new Map<string, LeasedUnits>();
  #notBefore = 0;
  #forgetting: NodeJS.Timeout | undefined;

  constructor(meter: PoolMeter, pool: string, forgetAfterMs = FORGET_AFTER_MS) {
    this.#meter = meter;
    this.#pool = pool;
    this.#forgetAfterMs = forgetAfterMs;
  }

  show(state: PackedPoolState): void {
    const start = performance.now();
    const isEmpty = state.requests.length + state.leases.length === 0;
    if (!isEmpty && start < this.#notBefore) return;
    const { waiting, leased } = poolCounts(unpackState(state), MOST_PROJECTS);
    this.#set(waiting, leased, state.stuck?.length ?? 0);
    const end = performance.now();
    this.#notBefore = end + (end - start) / MOST_OF_TIME;
    clearTimeout(this.#forgetting);
    this.#forgetting = setTimeout(() => this.#set(0, [], 0), this.#forgetAfterMs).unref();
  }

  #set(waiting: number, leased: readonly LeasedUnits[], stuck: number): void {
    const before = this.#shown;
    this.#shown = new Map(leased.map((series) => [keyOf(series), series]));
    this.#meter.waitingJobs(this.#pool, waiting);
    this.#meter.stuckDeletions(this.#pool, stuck);
    for (const series of leased) this.#meter.leasedUnits(this.#pool, series);
    // A gauge keeps its last value for ever.
    for (const [key, series] of before)
      if (!this.#shown.has(key)) this.#meter.leasedUnits(this.#pool, { ...series, units: 0 });
  }
}

const keyOf = ({ project, type, state }: LeasedUnits): string => JSON.stringify([project, type, state]);
