import type { JobClient } from '../../client/job-client.js';
import type { StoreReader } from '../../cloud/store/port.js';
import type { AccessObject } from '../../domain/access/table.js';
import { jobOwnerObject } from '../../domain/store-layout.js';
import { Readings } from './readings.js';

/** Whose a job is. Fixed when it was submitted, until it is deleted. */
export type JobFacts = Required<Pick<AccessObject, 'job' | 'owner' | 'project' | 'pool'>>;

/** Object `jobs/<job>/owner.json`: what a worker wrote when it accepted the job (activities/job-records.ts). */
interface StoredOwner {
  readonly user: string;
  readonly project: string;
  readonly pool: string;
}

/** What Temporal shows before a worker has accepted the job. */
const NOT_KNOWN_YET = '-';

/**
 * Whose jobs are: by the worker's own word in the store, which outlives Temporal's retention; of a job that no worker has taken
 * yet, by what the server itself started it with. In verified mode nobody else writes either. Nothing is kept from one call to the
 * next: an id whose job was deleted may be another user's a moment later, by another replica.
 */
export class JobFactsSource {
  readonly #client: Pick<JobClient, 'row'>;
  readonly #store: Pick<StoreReader, 'read'>;
  readonly #readings = new Readings<JobFacts>();

  constructor(client: Pick<JobClient, 'row'>, store: Pick<StoreReader, 'read'>) {
    this.#client = client;
    this.#store = store;
  }

  /** As it is now. @throws JobNotFound */
  async of(job: string): Promise<JobFacts> {
    const stored = await this.#stored(job);
    if (stored !== undefined) return stored;
    const { user, project, pool } = await this.#client.row(job);
    return { job, owner: user, project: project === NOT_KNOWN_YET ? '' : project, pool };
  }

  /** For many who look at the same time, and again later: one reading that has begun is enough for all. */
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
