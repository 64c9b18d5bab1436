import type { JobClient } from '../../client/job-client.js';
import type { StoreReader } from '../../cloud/store/port.js';
import type { AccessObject } from '../../domain/access.js';
import { jobOwnerObject } from '../../domain/store-layout.js';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import type { PoolSource } from '../../activities/pool-source.js';
import type { QuotaSource } from '../../activities/quota-source.js';
import { type AccessRules, NO_ACCESS_RULES } from '../../quota/membership.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { ApiError } from '../problem.js';

/** Owner, project and pool of a job. Fixed at submit until the job is deleted. */
export type JobFacts = Required<Pick<AccessObject, 'job' | 'owner' | 'project' | 'pool'>>;

/** Object `jobs/<job>/owner.json`, written by the worker that accepted the job (activities/job-records.ts). */
interface StoredOwner {
  readonly user: string;
  readonly project: string;
  readonly pool: string;
}

/** The project in Temporal's record of a job that no worker has accepted yet. */
const NOT_KNOWN_YET = '-';

/**
 * Finds the owner of a job. A worker's record in the store counts first, because it outlives Temporal's retention. If no worker
 * has accepted the job yet, the values with which the server started it count. In verified mode no other party writes either of
 * them. No answer is cached: a deleted job's id may belong to another user a moment later, through another replica.
 */
export class JobFactsSource {
  readonly #client: Pick<JobClient, 'row'>;
  readonly #store: Pick<StoreReader, 'read'>;
  readonly #readings = new Readings<JobFacts>();

  constructor(client: Pick<JobClient, 'row'>, store: Pick<StoreReader, 'read'>) {
    this.#client = client;
    this.#store = store;
  }

  /** Reads the present facts. @throws JobNotFound */
  async of(job: string): Promise<JobFacts> {
    const stored = await this.#stored(job);
    if (stored !== undefined) return stored;
    const { user, project, pool } = await this.#client.row(job);
    return { job, owner: user, project: project === NOT_KNOWN_YET ? '' : project, pool };
  }

  /** Same as `of`, for many callers who ask at the same time and repeatedly: they share a reading in progress. */
  shared(job: string): Promise<JobFacts> {
    return this.#readings.of(job, () => this.of(job));
  }

  async #stored(job: string): Promise<JobFacts | undefined> {
    const content = await this.#store.read(jobOwnerObject(job));
    if (content === undefined) return undefined;
    const { user, project, pool } = JSON.parse(content.toString('utf8')) as StoredOwner;
    return { job, owner: user, project, pool };
  }
}

/** The access rules of one pool, from its files in force. Workers read the files in the same way. */
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

  /** Call it before anything is stored under an invented name. @throws ApiError `forbidden`, with the existing pools */
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

/** Shares readings in progress: callers that ask for the same key meanwhile get the same promise. Results are not cached. */
class Readings<T> {
  readonly #begun = new Map<string, Promise<T>>();

  of(key: string, read: () => Promise<T>): Promise<T> {
    const begun = this.#begun.get(key);
    if (begun !== undefined) return begun;
    const reading = read().finally(() => this.#begun.delete(key));
    this.#begun.set(key, reading);
    return reading;
  }
}
