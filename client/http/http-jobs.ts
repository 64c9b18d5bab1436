import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiSubmission } from '../../contract/api/jobs.js';
import { type AnswerOf, type BodySent, OPERATIONS } from '../../contract/operations.js';
import type { JobView } from '../../contract/job.js';
import type { JobVerb } from '../../contract/job-requests.js';
import type { SliceDeletion } from '../../domain/lease.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { Asker, Outcome } from '../../domain/job-state.js';
import { JobInvalid, JobNameTaken, JobRefused, JobTerminated, ServerRefused, GroupNotFound } from '../errors.js';
import type { GroupView } from '../../contract/group.js';
import type { GroupState } from '../../domain/array/group-state.js';
import type { GroupFilter, GroupRow } from '../group-rows.js';
import type { RetryOptions, StopOptions } from '../groups.js';
import type { JobEdit, JobWish } from '../job-calls.js';
import type { JobCounts, JobFilter } from '../job-query.js';
import type { JobPort, VerifiedCaller } from '../job-port.js';
import type { JobPage, JobRow } from '../job-rows.js';
import type { MachinesClient, PoolClient } from '../pool-client.js';
import type { SchedulesClient } from '../schedules.js';
import type { Submission, Submitted } from '../submissions.js';
import type { TaskQueuePolls } from '../temporal-calls.js';
import type { LocalContents, UploadProgress } from '../uploads.js';
import { HttpMachines, HttpPool } from './http-pools.js';
import { HttpSchedules, submissionBody } from './http-schedules.js';
import { type Meanings, meaningsOfJob, type Ask, ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';
import { uploadOverHttp } from './uploads.js';

/** The most rows of one page, and the most ids of one query: the server's limits. */
const PAGE = 1_000;
const MOST_IDS = 200;
/** Most rows of one list, which is kept in memory: a server could invent pages forever. */
const MOST_ROWS = 1_000_000;
/** Time for which the server holds a request for the end of a job. */
const HELD_MS = 30_000;
const EARLY_PAUSE_MS = 1_000;
const GROUP_LOOK_MS = 2_000;
const HELD_TIMEOUT_MS = HELD_MS + 30_000;

interface HttpJobsOptions extends ServerOptions {
  readonly onUpload?: (progress: UploadProgress) => void;
}

/** Jobs through `jobctl serve` (docs/http-api.md). The token names the caller, so `by` is not sent. */
export class HttpJobs implements JobPort {
  readonly #calls: ServerCalls;
  readonly #onUpload: ((progress: UploadProgress) => void) | undefined;

  /** @throws ServerRefused for an address to which no token may be sent */
  constructor(options: HttpJobsOptions) {
    this.#calls = new ServerCalls(options);
    this.#onUpload = options.onUpload;
  }

  /** Submits a job once, even if the request is sent repeatedly: its name identifies it, or else a key made for this call. */
  async submit({ files = {}, uploaded: before, ...submission }: Submission): Promise<Submitted> {
    const { name } = submission;
    const uploaded = { ...before, ...(await this.#upload(files)) };
    const body: ApiSubmission = {
      ...submissionBody(submission, uploaded),
      ...(name === undefined ? {} : { name }),
    };
    const { id, isNew, spec, members, warnings } = await this.#calls.json('submit', {
      body,
      ...(name === undefined && { headers: { 'idempotency-key': randomUUID() } }),
      meanings: {
        invalid: (detail) => new JobInvalid(detail),
        'too-large': (detail) => new JobInvalid(detail),
        'name-taken': () => new JobNameTaken(name ?? ''),
      },
    });
    // If an answer was lost, the later one says that the job existed before.
    const told = warnings === undefined ? {} : { warnings };
    return {
      id,
      spec: spec as unknown as JobSpec,
      isNew: isNew || name === undefined,
      ...(members !== undefined && { members }),
      ...told,
    };
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
    return this.#calls.json('list', { query });
  }

  async count({ ids, ...filter }: JobFilter): Promise<JobCounts> {
    if (ids?.length === 0) return { total: 0, open: 0, ended: {} };
    const query = queryOf({ ...filter, ...(ids === undefined ? {} : { ids }) });
    return this.#calls.json('count', { query });
  }

  async row(id: string): Promise<JobRow> {
    return (await this.#of('status', id)) as JobRow;
  }

  async polls(taskQueue?: string): Promise<TaskQueuePolls> {
    return (await this.#calls.json('polls', { query: { taskQueue } })) as unknown as TaskQueuePolls;
  }

  async describe(id: string): Promise<JobView> {
    return (await this.#of('describe', id)) as unknown as JobView;
  }

  async wait(id: string): Promise<Outcome> {
    const query = { timeoutMs: HELD_MS };
    const terminated = (): Error => new JobTerminated(id, 'terminated');
    const meanings = { invalid: (detail: string) => new JobInvalid(detail), refused: terminated };
    for (;;) {
      const began = Date.now();
      const ask = { query, timeoutMs: HELD_TIMEOUT_MS, meanings };
      const { isOver, outcome } = await this.#of('wait', id, ask);
      if (isOver && outcome !== undefined) return outcome as Outcome;
      if (isOver) throw terminated();
      // The server should have held the request; if it answers at once, pause before the next one.
      if (Date.now() - began < HELD_MS / 2) await sleep(EARLY_PAUSE_MS);
    }
  }

  async cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    const { from, verb } = asker ?? {};
    const body = { ...(from === undefined ? {} : { from }), ...(verb === undefined ? {} : { verb }) };
    return (await this.#of('cancel', id, { body })).state;
  }

  async tell<Verb extends JobVerb>(id: string, verb: Verb, _by: string, wish: JobWish<Verb>): Promise<string> {
    const { files = {}, uploaded: before, ...others } = wish as JobEdit;
    const uploaded = { ...before, ...(await this.#upload(files)) };
    const body = { ...others, ...(Object.keys(uploaded).length === 0 ? {} : { files: uploaded }) };
    return (await this.#of<JobVerb>(verb, id, { body: body as BodySent<JobVerb> })).message;
  }

  async groups(filter: GroupFilter, most: number): Promise<readonly GroupRow[]> {
    const { project, user, pool, group, name, since, endedSince } = filter;
    const query = { project, user, pool, group, name, since, endedSince, limit: Math.min(most, PAGE) };
    return (await this.#calls.json('listGroups', { query })).rows as readonly GroupRow[];
  }

  async group(id: string): Promise<GroupRow> {
    return (await this.#ofGroup('group', id)) as GroupRow;
  }

  async describeGroup(id: string): Promise<GroupView> {
    return (await this.#ofGroup('describeGroup', id)) as unknown as GroupView;
  }

  async waitGroup(id: string): Promise<GroupState> {
    let row = await this.group(id);
    for (; row.endedAt === undefined; row = await this.group(id)) await sleep(GROUP_LOOK_MS);
    if (row.end !== undefined) throw new JobRefused(id, `group ${id} was ${row.end} in Temporal, and left no state`);
    return (await this.describeGroup(id)).state;
  }

  async cancelGroup(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    const { from, verb } = asker ?? {};
    const body = { ...(from === undefined ? {} : { from }), ...(verb === undefined ? {} : { verb }) };
    return (await this.#ofGroup('cancelGroup', id, { body })).state;
  }

  async retryGroup(id: string, _by: string, { from }: RetryOptions = {}): Promise<string> {
    const body = from === undefined ? {} : { from };
    return (await this.#ofGroup('retryGroup', id, { body })).message;
  }

  async beginGroup(id: string, _by: string, { from }: Pick<RetryOptions, 'from'> = {}): Promise<string> {
    const body = from === undefined ? {} : { from };
    return (await this.#ofGroup('beginGroup', id, { body })).message;
  }

  async stopGroup(id: string, _by: string, { from, release }: StopOptions = {}): Promise<string> {
    const body = { ...(from !== undefined && { from }), ...(release === true && { release }) };
    return (await this.#ofGroup('stopGroup', id, { body })).message;
  }

  async resumeGroup(id: string, _by: string, { from }: Pick<RetryOptions, 'from'> = {}): Promise<string> {
    const body = from === undefined ? {} : { from };
    return (await this.#ofGroup('resumeGroup', id, { body })).message;
  }

  async deletions(id: string): Promise<readonly SliceDeletion[]> {
    const { names, deletions } = await this.#of('openSlices', id);
    // A server of an earlier build sends names only.
    return deletions ?? names.map((slice) => ({ slice }));
  }

  quota(pool: string): PoolClient {
    return new HttpPool(pool, this.#calls);
  }

  machines(pool: string): MachinesClient {
    return new HttpMachines(pool, this.#calls);
  }

  schedules(): SchedulesClient {
    return new HttpSchedules(this.#calls, (files) => this.#upload(files));
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
    return this.#calls.json('whoami');
  }

  async close(): Promise<void> {
    // Its connections do not keep the process alive.
  }

  #upload(files: LocalContents): Promise<Record<string, string>> {
    return uploadOverHttp(this.#calls, files, this.#onUpload);
  }

  #ofGroup<Name extends GroupOperation>(name: Name, id: string, ask: Ask<Name> = {}): Promise<AnswerOf<Name>> {
    const meanings = {
      ...meaningsOfJob(id, this.#calls.address),
      'not-found': () => new GroupNotFound(id, `on ${this.#calls.address}`),
    };
    return this.#calls.json(name, { ...ask, params: { id }, meanings } as unknown as Ask<Name>);
  }

  #of<Name extends JobOperation>(name: Name, id: string, ask: Ask<Name> = {}): Promise<AnswerOf<Name>> {
    const own: Meanings = {
      ...meaningsOfJob(id, this.#calls.address),
      ...(OPERATIONS[name].call.startsWith('POST') && { invalid: (why: string) => new JobInvalid(why) }),
    };
    return this.#calls.json(name, { ...ask, params: { id }, meanings: { ...own, ...ask.meanings } } as Ask<Name>);
  }
}

type GroupOperation =
  | 'group'
  | 'describeGroup'
  | 'cancelGroup'
  | 'retryGroup'
  | 'beginGroup'
  | 'stopGroup'
  | 'resumeGroup';
type JobOperation = 'status' | 'describe' | 'wait' | 'cancel' | 'openSlices' | JobVerb;
type Query = NonNullable<Ask<'list'>['query']>;

const queryOf = ({ phase, ids, ...filter }: JobFilter): Query => ({
  ...filter,
  phase: phase === undefined || typeof phase === 'string' ? phase : phase.join(','),
  ids: ids?.join(','),
});
