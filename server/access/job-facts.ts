import type { JobClient } from '../../client/job-client.js';
import type { StoreReader } from '../../cloud/store/port.js';
import type { AccessObject } from '../../domain/access/table.js';
import { jobOwnerObject } from '../../domain/store-layout.js';

/** Whose a job is. Fixed when it was submitted. */
export type JobFacts = Required<Pick<AccessObject, 'job' | 'owner' | 'project' | 'pool'>>;

/** Object `jobs/<job>/owner.json`: what a worker wrote when it accepted the job (activities/job-records.ts). */
interface StoredOwner {
  readonly user: string;
  readonly project: string;
  readonly pool: string;
}

const MOST_KNOWN = 10_000;
/** What Temporal shows before a worker has accepted the job. */
const NOT_KNOWN_YET = '-';

/**
 * Whose jobs are: by the worker's own word in the store, which outlives Temporal's retention; of a job that no worker has taken
 * yet, by what the server itself started it with. In verified mode nobody else writes either.
 */
export class JobFactsSource {
  readonly #client: Pick<JobClient, 'row'>;
  readonly #store: Pick<StoreReader, 'read'>;
  readonly #known = new Map<string, JobFacts>();

  constructor(client: Pick<JobClient, 'row'>, store: Pick<StoreReader, 'read'>) {
    this.#client = client;
    this.#store = store;
  }

  /** @throws JobNotFound */
  async of(job: string): Promise<JobFacts> {
    const known = this.#known.get(job);
    if (known !== undefined) return known;
    const stored = await this.#stored(job);
    if (stored !== undefined) {
      if (this.#known.size >= MOST_KNOWN) this.#known.delete(this.#known.keys().next().value ?? '');
      this.#known.set(job, stored);
      return stored;
    }
    // Not kept: the project may not be known yet.
    const { user, project, pool } = await this.#client.row(job);
    return { job, owner: user, project: project === NOT_KNOWN_YET ? '' : project, pool };
  }

  async #stored(job: string): Promise<JobFacts | undefined> {
    const content = await this.#store.read(jobOwnerObject(job));
    if (content === undefined) return undefined;
    const { user, project, pool } = JSON.parse(content.toString('utf8')) as StoredOwner;
    return { job, owner: user, project, pool };
  }
}
