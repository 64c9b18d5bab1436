import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import type { PoolSource } from '../../activities/pool-source.js';
import type { QuotaSource } from '../../activities/quota-source.js';
import { type AccessRules, NO_ACCESS_RULES } from '../../quota/access-roles.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { ApiError } from '../problem.js';
import { Readings } from './readings.js';

/** The files of one pool that decide access, as they are in force, read the same way as by a worker. */
export interface PoolAccess {
  readonly rules: AccessRules;
  readonly config: QuotaConfig;
  /** The values that the pool file gives to jobs. */
  readonly defaults: PoolDefaults;
}

/** The rules of each pool. A broken file changes nothing: the last good one counts. */
export class PoolRules {
  readonly #pools: PoolSource;
  readonly #quota: QuotaSource;
  readonly #readings = new Readings<PoolAccess>();

  constructor(pools: PoolSource, quota: QuotaSource) {
    this.#pools = pools;
    this.#quota = quota;
  }

  /** Checked before anything is stored under an invented name. @throws ApiError `forbidden`, with the existing pools */
  async mustExist(pool: string): Promise<void> {
    const problem = await this.#pools.unknown(pool);
    if (problem !== undefined) throw new ApiError('forbidden', `pool: ${problem.message}`, problem.hint);
  }

  /** The names of all pools. */
  names = (): Promise<readonly string[]> => this.#pools.names();

  /** @throws ApiError `unavailable` if no good file was ever read: then no call is allowed */
  of(pool: string): Promise<PoolAccess> {
    return this.#readings.of(pool, () => this.#read(pool));
  }

  async #read(pool: string): Promise<PoolAccess> {
    const [loaded, { config, problem }] = await Promise.all([this.#pools.load(pool), this.#quota.inForce(pool)]);
    if (config === undefined || (loaded.access === undefined && loaded.problem !== undefined)) {
      const why = problem ?? loaded.problem ?? 'they were never read';
      throw new ApiError(
        'unavailable',
        `pool ${pool}: who may do what is not known while its files cannot be used: ${why}`,
        'an operator mends them',
      );
    }
    return { rules: loaded.access ?? NO_ACCESS_RULES, config, defaults: loaded.defaults ?? { pool } };
  }
}
