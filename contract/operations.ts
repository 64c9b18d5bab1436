import type { z } from 'zod';
import type { AccessVerb } from './access.js';
import type { FORMS } from './api/forms.js';
import { JOB_REQUESTS } from './job-requests.js';

type Forms = typeof FORMS;
/** The name of a zod form of contract/api. Rows name their forms, so that a client reads them without loading zod. */
export type FormName = { [Name in keyof Forms]: Forms[Name] extends z.ZodType ? Name : never }[keyof Forms];

/** The name of a call in the audit log: a verb of the access table, or one that every caller may use. */
export type RouteVerb = AccessVerb | 'whoami' | 'explain' | 'upload' | 'objects';

interface Told {
  readonly description?: string;
  readonly query?: FormName;
  readonly headers?: FormName;
  readonly body?: FormName;
  /** The body may be missing or null. */
  readonly mayLackBody?: true;
  /** Absent: nothing (204). */
  readonly answer?: FormName | { readonly raw: string; readonly types: readonly [string, ...string[]] };
  /** Description of the answer 200, for an operation that answers 201 if it creates something. */
  readonly known?: string;
}

/** Type that makes every row of a call with an effect say whether the call may be repeated. */
type Repeating<Call extends string> = Call extends `GET ${string}`
  ? { readonly isOnce?: never }
  : {
      /** True: a second call would act a second time, so no client repeats a call whose answer it did not get. */
      readonly isOnce: boolean;
    };

/** @param call `:id` is a job's, `:pool` a pool's @param access `open`: answered without a login */
const op = <
  const Call extends `${'GET' | 'POST' | 'PUT' | 'DELETE'} /v1/${string}`,
  const Access extends RouteVerb | 'open',
  const More extends Told & Repeating<Call>,
>(
  call: Call,
  access: Access,
  summary: string,
  more: More,
) => ({ call, access, summary, ...more });

/**
 * The operations of `jobctl serve`, each defined once (docs/adr/0145), in the order of the OpenAPI document. The server's routes,
 * their access and audit verbs, the OpenAPI document, `HttpJobs` and the Python package are derived from these rows.
 */
const rows = {
  login: op('GET /v1/login', 'open', 'How to log in', { answer: 'loginSchema' }),
  pageSession: op('POST /v1/page-session', 'open', 'Exchange the code of a link of `jobctl ui` for a token', {
    description: 'Of `jobctl ui` alone: a code is good once, for ten minutes.',
    body: 'pageCodeBody',
    answer: 'pageSessionSchema',
    isOnce: true,
  }),
  beginLogin: op('POST /v1/page-login', 'open', 'Where a person logs in at an issuer', {
    description: 'By authorization code with PKCE. The issuer sends the browser back to the page.',
    body: 'beginLoginBody',
    answer: 'begunLoginSchema',
    isOnce: false,
  }),
  endLogin: op('POST /v1/page-login/code', 'open', 'Exchange the code of an issuer for a token', {
    body: 'endLoginBody',
    answer: 'pageSessionSchema',
    isOnce: true,
  }),
  whoami: op('GET /v1/whoami', 'whoami', 'Who the token is of', { answer: 'whoSchema' }),
  accessExplain: op('GET /v1/access/explain', 'explain', 'What the access table allows, and why not', {
    query: 'explainQuery',
    answer: 'explainedSchema',
  }),
  secretNames: op('GET /v1/secrets', 'secret-names', "Names of a project's secrets", {
    query: 'secretNamesQuery',
    answer: 'secretNamesSchema',
  }),
  audit: op('GET /v1/audit', 'audit', 'The audit log', { query: 'auditQuery', answer: 'auditLinesSchema' }),

  submit: op('POST /v1/jobs', 'submit', 'Submit a job', {
    headers: 'idempotencyHeaders',
    body: 'submissionSchema',
    answer: 'submittedSchema',
    known: 'It was submitted before.',
    isOnce: false,
  }),
  list: op('GET /v1/jobs', 'list', 'List jobs', { query: 'jobFilterSchema', answer: 'jobPageSchema' }),
  board: op('GET /v1/board', 'list', 'A board of jobs, in the order of `jobctl list`', {
    description: 'With the place in line of jobs that wait for their pool, and why they wait.',
    query: 'boardQuery',
    answer: 'boardSchema',
  }),
  count: op('GET /v1/jobs/count', 'list', 'Count jobs', { query: 'jobFilterSchema', answer: 'jobCountsSchema' }),
  status: op('GET /v1/jobs/:id', 'status', "A job's status", { answer: 'jobRowSchema' }),
  describe: op('GET /v1/jobs/:id/description', 'describe', "Everything the job's workflow knows", {
    answer: 'jobViewSchema',
  }),
  openSlices: op('GET /v1/jobs/:id/open-slices', 'status', 'Slices that are still being deleted', {
    answer: 'openSlicesSchema',
  }),
  wait: op('GET /v1/jobs/:id/wait', 'status', 'Wait for the end', { query: 'waitQuery', answer: 'waitedSchema' }),
  polls: op('GET /v1/polls', 'list', 'Whether workers poll a task queue', {
    query: 'pollsQuery',
    answer: 'pollsSchema',
  }),

  cancel: op('POST /v1/jobs/:id/cancel', 'cancel', 'End the job as cancelled', {
    body: 'askerBody',
    mayLackBody: true,
    answer: 'cancelledSchema',
    isOnce: false,
  }),
  ...JOB_REQUESTS,
  listGroups: op('GET /v1/groups', 'list', 'List groups of jobs', {
    query: 'groupFilterSchema',
    answer: 'groupPageSchema',
  }),
  group: op('GET /v1/groups/:id', 'status', 'A group of jobs', { answer: 'groupRowSchema' }),
  describeGroup: op('GET /v1/groups/:id/description', 'describe', 'The array of a group, and how each member is', {
    answer: 'groupViewSchema',
  }),
  groupMembers: op('GET /v1/groups/:id/members', 'describe', 'The members of a group, with their parameters', {
    answer: 'groupMembersSchema',
  }),
  cancelGroup: op('POST /v1/groups/:id/cancel', 'cancel', 'End all members as cancelled', {
    body: 'askerBody',
    mayLackBody: true,
    answer: 'cancelledSchema',
    isOnce: false,
  }),
  retryGroup: op('POST /v1/groups/:id/retry', 'restart', 'Run the failed members again', {
    description: 'As jobs of their own, with ids `<group>-r<n>-<index>`.',
    body: 'retryBody',
    mayLackBody: true,
    answer: 'messageSchema',
    isOnce: true,
  }),
  beginGroup: op('POST /v1/groups/:id/begin', 'restart', 'Let a group begin that waits for others', {
    body: 'retryBody',
    mayLackBody: true,
    answer: 'messageSchema',
    isOnce: false,
  }),
  stopGroup: op('POST /v1/groups/:id/stop', 'stop', 'Stop the open members, and let no other begin', {
    description: 'The group asks its members itself. `stopRound` of its description tells how far it is.',
    body: 'stopGroupBody',
    mayLackBody: true,
    answer: 'messageSchema',
    isOnce: false,
  }),
  resumeGroup: op('POST /v1/groups/:id/resume', 'resume', 'Let a stopped group go on, and its stopped members', {
    body: 'retryBody',
    mayLackBody: true,
    answer: 'messageSchema',
    isOnce: false,
  }),
  groupPriority: op('POST /v1/groups/:id/priority', 'priority', 'Change the priority of its members', {
    description: 'Of those that wait in the pool or hold a lease of it.',
    body: 'priorityBody',
    answer: 'messageSchema',
    isOnce: false,
  }),
  createSchedule: op('POST /v1/schedules', 'schedule', 'Start a job at the times of a cron', {
    body: 'scheduleWishSchema',
    answer: 'createdScheduleSchema',
    known: 'It was created before.',
    isOnce: false,
  }),
  schedules: op('GET /v1/schedules', 'list', 'List schedules', { answer: 'schedulesSchema' }),
  schedule: op('GET /v1/schedules/:id', 'status', 'A schedule, its next times and its last firings', {
    answer: 'scheduleViewSchema',
  }),
  pauseSchedule: op('POST /v1/schedules/:id/pause', 'schedule-change', 'Start no more jobs until it is resumed', {
    body: 'pauseBody',
    mayLackBody: true,
    answer: 'messageSchema',
    isOnce: false,
  }),
  resumeSchedule: op('POST /v1/schedules/:id/resume', 'schedule-change', 'Let a paused schedule go on', {
    answer: 'messageSchema',
    isOnce: false,
  }),
  triggerSchedule: op('POST /v1/schedules/:id/trigger', 'schedule-change', 'Start its job now', {
    description: 'Under its overlap policy; also of one that is paused.',
    answer: 'triggeredSchema',
    isOnce: true,
  }),
  deleteSchedule: op('DELETE /v1/schedules/:id', 'schedule-change', 'End a schedule; its jobs go on', {
    answer: 'messageSchema',
    isOnce: false,
  }),
  priority: op('POST /v1/jobs/:id/priority', 'priority', "Change the job's priority", {
    body: 'priorityBody',
    answer: 'messageSchema',
    isOnce: false,
  }),
  delete: op('DELETE /v1/jobs/:id', 'delete', 'Delete what is stored of a job that has ended', {
    answer: 'deletedSchema',
    isOnce: false,
  }),
  // A POST, because each answer gives a key away: it is recorded before it is sent, and no cache may keep it.
  hostAccess: op('POST /v1/jobs/:id/host-access', 'login', "What logs in to the job's hosts", {
    description: "The job's own private key, and where its hosts are. For the job's user and operators of the pool.",
    answer: 'hostAccessSchema',
    isOnce: false,
  }),
  logs: op('GET /v1/jobs/:id/logs', 'logs', "A job's log", {
    description:
      'As text: of one host byte for byte, of several with `HOST | ` before each line. With `follow` as server-sent events `stretch`, `attempt-end` and `end`; ' +
      'the id of the last one, sent as Last-Event-ID, goes on there. A `problem` says why it cannot go on: `unauthenticated` once the token has ' +
      'expired (follow again with a new one), `forbidden` once the right to read is gone.',
    query: 'logsQuery',
    headers: 'lastEventHeaders',
    answer: { raw: 'The log; events with `follow`.', types: ['text/plain', 'text/event-stream'] },
  }),
  metrics: op('GET /v1/jobs/:id/metrics', 'logs', "Metrics that the job's program told", {
    description: 'Of one host, over all attempts. Points are lists of one length, thinned evenly to at most `points`.',
    query: 'metricsQuery',
    answer: 'jobMetricsSchema',
  }),
  why: op('GET /v1/jobs/:id/why', 'why', 'Why a job waits', { answer: 'whySchema' }),

  report: op('GET /v1/reports', 'report', 'Sums of what ended jobs used, cost and got done', {
    description:
      'Of the jobs that the caller may count: those of their projects, and all of pools whose operator they are.',
    query: 'reportQuery',
    answer: 'reportSchema',
  }),

  objects: op('GET /v1/objects', 'objects', 'List stored objects', { query: 'objectsQuery', answer: 'objectsSchema' }),
  objectStat: op('GET /v1/objects/stat', 'objects', 'Facts of one object', {
    query: 'objectNameQuery',
    answer: 'storedObjectSchema',
  }),
  objectContent: op('GET /v1/objects/content', 'objects', 'Bytes of one object', {
    query: 'objectQuery',
    answer: { raw: '16 MiB at most: ask for the next range.', types: ['application/octet-stream'] },
  }),

  uploads: op('POST /v1/uploads', 'upload', 'Which files are wanted', {
    body: 'uploadsBody',
    answer: 'uploadsSchema',
    isOnce: false,
  }),
  completeUpload: op('POST /v1/uploads/complete', 'upload', 'Complete a file that was brought to its url', {
    body: 'completedBody',
    isOnce: false,
  }),
  uploadContent: op('PUT /v1/uploads/content', 'upload', 'Bring one file', { query: 'uploadQuery', isOnce: false }),

  quotaShow: op('GET /v1/pools/:pool', 'quota-show', 'A pool as it was published last', { answer: 'poolStateSchema' }),
  capacity: op(
    'GET /v1/pools/:pool/capacity',
    'quota-show',
    "What the pool's jobs have seen of zones and types lately",
    {
      description:
        'How often they asked and got, how long they waited, how often they were preempted. It is no promise.',
      answer: 'capacitySchema',
    },
  ),
  poolUse: op('GET /v1/pools/:pool/use', 'quota-show', 'Who has and who wants the chips of a pool', {
    description: 'As `jobctl top` and `jobctl quota show` print it, from the pool as it was published last.',
    answer: 'poolUseSchema',
  }),
  poolHistory: op('GET /v1/pools/:pool/history', 'quota-show', 'Who had and who wanted the chips of a pool', {
    description:
      'Over the last day: means of 288 stretches of five minutes, from the history of `jobctl quota history`.',
    query: 'poolHistoryQuery',
    answer: 'poolHistorySchema',
  }),
  quotaPlan: op(
    'POST /v1/pools/:pool/quota/plan',
    'quota-plan',
    'What one decision would do, under files that nobody has put in force',
    {
      description: 'On the pool as it was published last. It changes nothing. Without files: under those in force.',
      body: 'applyBody',
      mayLackBody: true,
      answer: 'quotaPlanSchema',
      isOnce: false,
    },
  ),
  quotaApply: op('POST /v1/pools/:pool/apply', 'quota-apply', 'Put quota and pool files in force', {
    body: 'applyBody',
    answer: 'messageSchema',
    isOnce: false,
  }),
  admission: op('POST /v1/pools/:pool/admission', 'admission', 'Freeze, drain or open a pool', {
    body: 'admissionBody',
    answer: 'messageSchema',
    isOnce: false,
  }),
  quotaRelease: op(
    'POST /v1/pools/:pool/release',
    'quota-release',
    "Stop waiting for a job's slices whose deletion does not end",
    {
      description:
        'Whoever asks vouches that nothing of them is left: their chips are free at once. Refused while the deletion can still end by itself.',
      body: 'releaseBody',
      answer: 'messageSchema',
      isOnce: false,
    },
  ),
  machines: op('GET /v1/pools/:pool/machines', 'machines', "A pool's own machines, and how each of them is", {
    description: 'A worker looks at each of them over SSH, which takes as long as the slowest of them.',
    answer: 'machinesSchema',
  }),
  changeMachines: op(
    'POST /v1/pools/:pool/machines',
    'machines',
    'Take machines out of use or into use again, or inspect them',
    {
      description: 'A job on a machine that is drained goes on; no other job gets the machine.',
      body: 'machinesBody',
      answer: 'machinesSchema',
      isOnce: false,
    },
  ),
};

type Rows = typeof rows;
export type OperationName = keyof Rows;
export interface Operation extends Told {
  readonly call: string;
  readonly access: RouteVerb | 'open';
  readonly summary: string;
  readonly isOnce?: boolean;
}
export const OPERATIONS: { readonly [Name in OperationName]: Operation & Rows[Name] } = rows;

type FormOf<Name extends OperationName, Part extends string> = Rows[Name] extends {
  readonly [P in Part]: infer Form extends FormName;
}
  ? Forms[Form]
  : never;
type Sent<Name extends OperationName, Part extends string> = [FormOf<Name, Part>] extends [never]
  ? undefined
  : z.input<FormOf<Name, Part>>;
type Taken<Name extends OperationName, Part extends string> = [FormOf<Name, Part>] extends [never]
  ? undefined
  : z.output<FormOf<Name, Part>>;

export type Params<Name extends OperationName> = Rows[Name]['call'] extends `${string}/:id${string}`
  ? { readonly id: string }
  : Rows[Name]['call'] extends `${string}/:pool${string}`
    ? { readonly pool: string }
    : unknown;
/** A call as a client makes it. */
export type BodySent<Name extends OperationName> = Sent<Name, 'body'>;
export type QueryKey<Name extends OperationName> = keyof Sent<Name, 'query'>;
/** A call after a server has checked it. */
export interface Asked<Name extends OperationName> {
  readonly params: Params<Name>;
  readonly query: Taken<Name, 'query'>;
  readonly headers: Taken<Name, 'headers'>;
  readonly body: Taken<Name, 'body'>;
}
/** The JSON of an answer, as a server gives it and a client reads it. */
export type AnswerOf<Name extends OperationName> = Taken<Name, 'answer'>;
