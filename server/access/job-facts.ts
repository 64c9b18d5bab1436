import type { JobClient } from '../../client/job-client.js';
import type { StoreReader } from '../../cloud/store/port.js';
import type { AccessObject } from '../../domain/access/table.js';
import { jobOwnerObject } from '../../domain/store-layout.js';
import { Readings } from './readings.js';

/** Owner, project and pool of a job. Fixed at submit until the job is deleted. */
export type JobFacts = Required<Pick<AccessObject, 'job' | 'owner' | 'project' | 'pool'>>;

/** Object `jobs/<job>/owner.json`, written by the worker that accepted the job (activities/job-records.ts). */
interface StoredOwner {
  readonly user: string;
  readonly project: string;
  readonly pool: string;
}

/** Temporal's value before a worker has accepted the job. */
const NOT_KNOWN_YET = '-';

/**
 * Finds the owner of a job. A worker's record in the store counts first: it outlives Temporal's retention. If no worker has
 * accepted the job yet, the values with which the server started it count. In verified mode no other party writes either. No
 * answer is cached: a deleted job's id may belong to another user a moment later, through another replica.
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

  /** For many callers who ask at the same time and repeatedly: they share a reading that has begun. */
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
