import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { whoSchema } from '../../contract/api/callers.js';
import type { ApiRestart, cancelledSchema, messageSchema, openSlicesSchema } from '../../contract/api/changes.js';
import type {
  ApiSubmission,
  jobCountsSchema,
  jobPageSchema,
  submittedSchema,
  waitedSchema,
} from '../../contract/api/jobs.js';
import type { JobView } from '../../contract/job.js';
import type { SliceDeletion } from '../../domain/lease.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { Asker, Outcome } from '../../domain/job-state.js';
import { JobInvalid, JobNameTaken, JobNotFound, JobRefused, JobTerminated, ServerRefused } from '../errors.js';
import type { JobEdit, JobRestart, RequeuePlace, SetUpWish } from '../job-calls.js';
import type { JobCounts } from '../job-finding.js';
import type { JobPort, VerifiedCaller } from '../job-port.js';
import type { JobFilter } from '../job-query.js';
import type { JobPage, JobRow } from '../job-rows.js';
import type { MachinesClient } from '../machines-client.js';
import type { PoolClient } from '../pool-client.js';
import type { Submission, Submitted } from '../submissions.js';
import type { TaskQueuePolls } from '../task-queue-polls.js';
import type { LocalContents, UploadProgress } from '../uploads.js';
import { HttpPool, noMachines } from './http-pool.js';
import type { Meanings } from './problems.js';
import { type Ask, ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';
import { uploadOverHttp } from './uploads.js';

/** The most rows of one page, and the most ids of one query: the server's limits. */
const PAGE = 1_000;
const MOST_IDS = 200;
/** Most rows of one list, which is in memory: a server could invent pages forever. */
const MOST_ROWS = 1_000_000;
/** Time for which the server holds a request for the end of a job. */
const HELD_MS = 30_000;
const EARLY_PAUSE_MS = 1_000;
const HELD_TIMEOUT_MS = HELD_MS + 30_000;

export interface HttpJobsOptions extends ServerOptions {
  readonly onUpload?: (progress: UploadProgress) => void;
}

/** Jobs by `jobctl serve` (docs/http-api.md). The token names the caller: `by` is not sent. */
export class HttpJobs implements JobPort {
  readonly #calls: ServerCalls;
  readonly #onUpload: ((progress: UploadProgress) => void) | undefined;

  /** @throws ServerRefused for an address to which no token may be sent */
  constructor(options: HttpJobsOptions) {
    this.#calls = new ServerCalls(options);
    this.#onUpload = options.onUpload;
  }

  /** Submits one job even if it is sent repeatedly: by its name, or else by a key of this call. */
  async submit({ files = {}, uploaded: before, ...submission }: Submission): Promise<Submitted> {
    const { name, job, source, user, sshKey, identityKeys } = submission;
    const uploaded = { ...before, ...(await this.#upload(files)) };
    const body: ApiSubmission = {
      job,
      ...(name === undefined ? {} : { name }),
      ...(source === undefined ? {} : { source }),
      ...(user === undefined ? {} : { user }),
      ...(sshKey === undefined ? {} : { sshKey }),
      ...(identityKeys === undefined ? {} : { identityKeys: { ...identityKeys } }),
      ...(Object.keys(uploaded).length === 0 ? {} : { files: uploaded }),
    };
    const { id, isNew, spec, warnings } = await this.#calls.json<z.infer<typeof submittedSchema>>({
      ...{ method: 'POST', path: 'v1/jobs', body, isRepeatable: true },
      ...(name === undefined && { headers: { 'idempotency-key': randomUUID() } }),
      meanings: {
        invalid: (detail) => new JobInvalid(detail),
        'too-large': (detail) => new JobInvalid(detail),
        'name-taken': () => new JobNameTaken(name ?? ''),
      },
    });
    // If an answer was lost, the later one says that the job existed before.
    const told = warnings === undefined ? {} : { warnings };
    return { id, spec: spec as unknown as JobSpec, isNew: isNew || name === undefined, ...told };
  }

  async list(filter: JobFilter, limit: number): Promise<JobPage> {
    if (filter.ids !== undefined || limit > PAGE || limit < 1) {
      const [{ total, open }, rows] = await Promise.all([this.count(filter), this.find(filter, limit)]);
      return { rows, total, open };
    }
    const { rows, total, open } = await this.#page(filter, limit, undefined);
    return { rows: rows as readonly JobRow[], total, open };
  }

  async find({ ids, ...filter }: JobFilter, most = Infinity): Promise<readonly JobRow[]> {
    if (ids === undefined) return this.#pages(filter, most);
    const found: JobRow[] = [];
    for (let from = 0; from < ids.length && found.length < most; from += MOST_IDS)
      found.push(...(await this.#pages({ ...filter, ids: ids.slice(from, from + MOST_IDS) }, most - found.length)));
    return found;
  }

  async #pages(filter: JobFilter, most: number): Promise<readonly JobRow[]> {
    const rows = new Map<string, JobRow>();
    let pageToken: string | undefined;
    while (rows.size < most) {
      const page = await this.#page(filter, Math.min(PAGE, most - rows.size), pageToken);
      const before = rows.size;
      for (const row of page.rows) rows.set(row.id, row as JobRow);
      if (rows.size > MOST_ROWS) throw new ServerRefused(`${this.#calls.address} lists more than ${MOST_ROWS} jobs`);
      pageToken = page.nextPageToken;
      // A page without new rows could be followed by another one forever.
      if (pageToken === undefined || rows.size === before) break;
    }
    return [...rows.values()];
  }

  #page(filter: JobFilter, limit: number, pageToken: string | undefined) {
    const query = { ...queryOf(filter), limit, pageToken };
    return this.#calls.json<z.infer<typeof jobPageSchema>>({ path: 'v1/jobs', query });
  }

  async count({ ids, ...filter }: JobFilter): Promise<JobCounts> {
    if (ids?.length === 0) return { total: 0, open: 0, ended: {} };
    const query = queryOf({ ...filter, ...(ids === undefined ? {} : { ids }) });
    return this.#calls.json<z.infer<typeof jobCountsSchema>>({ path: 'v1/jobs/count', query });
  }

  row(id: string): Promise<JobRow> {
    return this.#of<JobRow>(id, '');
  }

  polls(taskQueue?: string): Promise<TaskQueuePolls> {
    return this.#calls.json<TaskQueuePolls>({ path: 'v1/polls', query: { taskQueue } });
  }

  describe(id: string): Promise<JobView> {
    return this.#of<JobView>(id, '/description');
  }

  async wait(id: string): Promise<Outcome> {
    const query = { timeoutMs: HELD_MS };
    const terminated = (): Error => new JobTerminated(id, 'terminated');
    const meanings = { invalid: (detail: string) => new JobInvalid(detail), refused: terminated };
    for (;;) {
      const began = Date.now();
      const ask = { query, timeoutMs: HELD_TIMEOUT_MS, meanings };
      const { isOver, outcome } = await this.#of<z.infer<typeof waitedSchema>>(id, '/wait', ask);
      if (isOver && outcome !== undefined) return outcome as Outcome;
      if (isOver) throw terminated();
      // The server should have held the request; if it answers at once, pause before the next one.
      if (Date.now() - began < HELD_MS / 2) await sleep(EARLY_PAUSE_MS);
    }
  }

  async cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    const { from, verb } = asker ?? {};
    const body = { ...(from === undefined ? {} : { from }), ...(verb === undefined ? {} : { verb }) };
    const ask = { method: 'POST', body, isRepeatable: true } as const;
    return (await this.#of<z.infer<typeof cancelledSchema>>(id, '/cancel', ask)).state;
  }

  stop(id: string, { from }: Asker, release: boolean): Promise<string> {
    return this.#tell(id, 'stop', { ...(from === undefined ? {} : { from }), ...(release ? { release } : {}) });
  }

  resume(id: string, _by: string, edit: JobEdit): Promise<string> {
    return this.#edit(id, 'resume', edit);
  }

  restart(id: string, _by: string, edit: JobRestart): Promise<string> {
    return this.#edit(id, 'restart', edit);
  }

  setUp(id: string, _by: string, { modules, force, from }: SetUpWish): Promise<string> {
    return this.#tell(id, 'setup', {
      ...(modules === undefined ? {} : { modules }),
      ...(force === undefined ? {} : { force }),
      ...(from === undefined ? {} : { from }),
    });
  }

  requeue(id: string, _by: string, { zone, from }: RequeuePlace): Promise<string> {
    return this.#tell(id, 'requeue', {
      ...(zone === undefined ? {} : { zone }),
      ...(from === undefined ? {} : { from }),
    });
  }

  async deletions(id: string): Promise<readonly SliceDeletion[]> {
    const { names, deletions } = await this.#of<z.infer<typeof openSlicesSchema>>(id, '/open-slices');
    // A server of an earlier build sends names only.
    return deletions ?? names.map((slice) => ({ slice }));
  }

  quota(pool: string): PoolClient {
    return new HttpPool(pool, this.#calls);
  }

  machines(pool: string): MachinesClient {
    return noMachines(pool, this.#calls);
  }

  testNotify(): Promise<never> {
    return Promise.reject(
      new ServerRefused(
        `jobctl serve at ${this.#calls.address} has no call that tests notify`,
        'ask by Temporal: a client or context that names its address',
      ),
    );
  }

  whoAmI(): Promise<VerifiedCaller> {
    return this.#calls.json<z.infer<typeof whoSchema>>({ path: 'v1/whoami' });
  }

  async close(): Promise<void> {
    // Its connections do not keep the process alive.
  }

  #upload(files: LocalContents): Promise<Record<string, string>> {
    return uploadOverHttp(this.#calls, files, this.#onUpload);
  }

  async #edit(
    id: string,
    verb: 'resume' | 'restart',
    { files = {}, uploaded: before, ...edit }: JobRestart,
  ): Promise<string> {
    const uploaded = { ...before, ...(await this.#upload(files)) };
    const { identityKeys, set, replace, ...others } = edit;
    const body: ApiRestart = {
      ...others,
      ...(set === undefined ? {} : { set: set.map(({ path, value }) => ({ path: [...path], value })) }),
      ...(identityKeys === undefined ? {} : { identityKeys: { ...identityKeys } }),
      ...(replace === undefined ? {} : { replace: replace === 'all' ? replace : [...replace] }),
      ...(Object.keys(uploaded).length === 0 ? {} : { files: uploaded }),
    };
    return this.#tell(id, verb, body);
  }

  async #tell(id: string, verb: string, body: object): Promise<string> {
    return (await this.#of<z.infer<typeof messageSchema>>(id, `/${verb}`, { method: 'POST', body })).message;
  }

  #of<T>(id: string, below: string, ask: Omit<Ask, 'path'> = {}): Promise<T> {
    const own: Meanings = {
      'not-found': () => new JobNotFound(id, `on ${this.#calls.address}`),
      refused: (why) => new JobRefused(id, why),
      ...(ask.method === 'POST' && { invalid: (why: string) => new JobInvalid(why) }),
    };
    const path = `v1/jobs/${encodeURIComponent(id)}${below}`;
    return this.#calls.json<T>({ ...ask, path, meanings: { ...own, ...ask.meanings } });
  }
}

type Query = NonNullable<Ask['query']>;

const queryOf = ({ phase, ids, ...filter }: JobFilter): Query => ({
  ...filter,
  phase: phase === undefined || typeof phase === 'string' ? phase : phase.join(','),
  ids: ids?.join(','),
});
