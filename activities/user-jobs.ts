import { createHash } from 'node:crypto';
import { objectPlace, type StorePort } from '../cloud/store/port.js';
import type { JobRef } from '../contract/workflow-ids.js';
import { eachOf } from '../domain/semaphore.js';
import { userJobsObject } from '../domain/store-layout.js';
import type { PoolLimits } from '../quota/quota-config.js';
import { enter, noJobs, refusalOf, type UserJobs, without } from '../quota/submission.js';
import { isChainOpen, type WorkflowClient } from './workflow-lookup.js';

/** A job that asks to count among its user's. */
export interface Applicant {
  readonly pool: string;
  readonly user: string;
  readonly job: JobRef;
  readonly limits: PoolLimits;
  readonly client: WorkflowClient;
}

interface Waiting extends Applicant {
  readonly answer: (refusal: string | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Counts the open jobs of each user of a pool that limits them (docs/adr/0075). Each job that is accepted is one applicant, and
 * gets a yes or the reason of a refusal. The count is an object of the bucket, written under the generation that was read, so
 * that of two workers which take the last place one has to look again. Applicants of one user that come while an object is being
 * written go into the next write together: 300 submits at once are a few writes.
 *
 * A job leaves the count when another needs its place and Temporal says that it is closed, however it ended.
 */
export class UserJobsBook {
  readonly #store: StorePort;
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #busy = new Set<string>();

  constructor(store: StorePort) {
    this.#store = store;
  }

  /** @returns the reason of a refusal; undefined if the job was taken, now or before. Repeating is safe. */
  enter(applicant: Applicant): Promise<string | undefined> {
    const { openJobsPerUser, submitsPerMinute } = applicant.limits;
    if (openJobsPerUser === undefined && submitsPerMinute === undefined) return Promise.resolve(undefined);
    return new Promise((answer, fail) => {
      const name = objectOf(applicant);
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), { ...applicant, answer, fail }]);
      if (!this.#busy.has(name)) void this.#serve(name);
    });
  }

  async #serve(name: string): Promise<void> {
    this.#busy.add(name);
    for (let batch = this.#take(name); batch.length > 0; batch = this.#take(name)) {
      try {
        await this.#settle(name, batch);
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    }
    this.#busy.delete(name);
  }

  #take(name: string): readonly Waiting[] {
    const batch = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    return batch;
  }

  async #settle(name: string, batch: readonly Waiting[]): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const found = await this.#store.stat(name);
      const stored = found === undefined ? undefined : await this.#store.read(name);
      const before = readJobs(stored?.toString('utf8'), batch[0]?.user ?? '');
      const { jobs, refusals } = await admitted(before, batch);
      const isWritten = jobs === before || (await this.#write(name, jobs, found?.generation));
      if (!isWritten) continue;
      for (const { answer, job } of batch) answer(refusals.get(job));
      return;
    }
    throw new Error(`${objectPlace(this.#store, name)}: other workers wrote it ${MOST_ROUNDS} times in between`);
  }

  async #write(name: string, jobs: UserJobs, generation: string | undefined): Promise<boolean> {
    const expected = generation === undefined ? ('absent' as const) : { generation };
    const written = await this.#store.write(name, JSON.stringify(jobs), expected, 'application/json');
    return written.kind === 'written';
  }
}

/** Limit of attempts to write the count beside other workers. Then Temporal retries the activity. */
const MOST_ROUNDS = 20;
/** Calls to Temporal at one time. */
const WIDTH = 10;

const objectOf = ({ pool, user }: Applicant): string =>
  userJobsObject(pool, createHash('sha256').update(user).digest('hex').slice(0, 32));

interface Admitted {
  readonly jobs: UserJobs;
  readonly refusals: ReadonlyMap<JobRef, string>;
}

async function admitted(before: UserJobs, batch: readonly Waiting[]): Promise<Admitted> {
  const first = judge(before, batch);
  if (!first.isFull) return first;
  // A place may be free. Only now is it asked.
  const [{ client } = batch[0] as Waiting] = batch;
  const ended: JobRef[] = [];
  await eachOf(before.open, WIDTH, async (job) => {
    if (!(await isChainOpen(client, job))) ended.push(job);
  });
  return ended.length === 0 ? first : judge(without(before, ended), batch);
}

function judge(before: UserJobs, batch: readonly Waiting[]): Admitted & { readonly isFull: boolean } {
  let jobs = before;
  const refusals = new Map<JobRef, string>();
  let isFull = false;
  for (const { pool, job, limits } of batch) {
    const entry = enter(jobs, { id: job.id, run: job.run }, limits, Date.now());
    if (entry.kind === 'entered') ({ jobs } = entry);
    if (entry.kind === 'too-many') isFull = true;
    if (entry.kind === 'too-many' || entry.kind === 'too-fast') refusals.set(job, refusalOf(entry, pool, jobs));
  }
  return { jobs, refusals, isFull };
}

/** An object that cannot be read counts no job: a limit must not stop a user for ever. */
function readJobs(text: string | undefined, user: string): UserJobs {
  if (text === undefined) return noJobs(user);
  try {
    const value = JSON.parse(text) as Partial<UserJobs> | null;
    if (value?.v === 1 && Array.isArray(value.open) && Array.isArray(value.recent)) return value as UserJobs;
  } catch {
    // Not JSON.
  }
  return noJobs(user);
}
