import assert from 'node:assert/strict';
import { FORMS } from '../../../contract/api/forms.js';
import { ACCESS_VERBS } from '../../../contract/access.js';
import { JOB_VERBS, type JobVerb } from '../../../contract/job-requests.js';
import { type Operation, type OperationName, OPERATIONS } from '../../../contract/operations.js';
import {
  accessRows,
  auditLines,
  hostAccess,
  purgeOverHttp,
  secretNames,
  loginSettings,
} from '../../../client/http/access.js';
import { reportOverHttp } from '../../../client/counted.js';
import { ServedLog } from '../../../client/http/served-log.js';
import { createServerReader } from '../../../client/http/store-reader.js';
import { JobClient } from '../../../client/job-client.js';
import { SAMPLE_BODIES } from '../../contract/sample-bodies.js';
import { operationOf } from '../../server/server-routes.js';
import { ScriptedServer, type Seen } from './scripted-server.js';

/** Calls that TypeScript makes otherwise: it reads the pool's objects in the store, by `objectContent`. */
const OF_OTHERS: readonly OperationName[] = [
  ...(['capacity', 'metrics', 'quotaPlan', 'quotaShow', 'why'] as const),
  // Of the page alone (ui/): what one screen shows, in one answer.
  ...(['beginLogin', 'board', 'endLogin', 'groupMembers', 'pageSession', 'poolHistory', 'poolUse'] as const),
];
/** Verbs that decide a part of a call, or that `jobctl serve` has no call for (`client/http/http-jobs.ts`). */
const WITHOUT_ROW = ['outputs', 'edit'];

const rowOf = ({ method, url }: Seen): OperationName =>
  operationOf(method, new URL(url, 'http://x').pathname) ?? assert.fail(`${method} ${url} is no operation`);

describe('the operations of jobctl serve', function () {
  this.timeout(20_000);
  const server = new ScriptedServer();
  before(() => server.start());
  after(() => server.stop());

  it('are each called from TypeScript, or named here, and what is sent is what their forms take', async () => {
    server.replies = [
      ({ url }, response) => {
        const file = { path: 'a', object: 'files/a', state: 'wanted', url: `${server.address}/session`, upload: HEX };
        const body = url === '/v1/uploads' ? { files: [isLarge ? file : { ...file, url: undefined }] } : undefined;
        const isStored = body !== undefined || url === '/session' || url.startsWith('/v1/uploads/');
        const problem = { status: 404, code: 'not-found', detail: 'not here', requestId: 'r' };
        const [status, type] = isStored ? [200, 'json'] : [404, 'problem+json'];
        response.writeHead(status, { 'content-type': `application/${type}` }).end(JSON.stringify(body ?? problem));
      },
    ];
    let isLarge = false;
    const options = { server: server.address, token: async () => 'a.b.c' };
    const client = await JobClient.connect(options);
    const [by, id, files] = ['ann', 'a-1', { a: Buffer.from('b') }];
    const sha256 = { k: `SHA256:${'a'.repeat(43)}` };
    const ask = (verb: JobVerb): Promise<unknown> => {
      const wish = SAMPLE_BODIES[verb];
      // Files are sent with their contents, before they are named.
      const sent = 'files' in wish ? { ...wish, job: {}, files } : wish;
      return (client[verb] as (id: string, by: string, wish: object) => Promise<unknown>).call(client, id, by, sent);
    };
    const reader = createServerReader(options);
    const sink = { stretch: async () => undefined, attemptEnd: async () => undefined };
    const log = new ServedLog(options, { job: id, stream: 'command', firstAttempt: 1 }, sink);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => loginSettings(options),
      () => client.whoAmI(),
      () => accessRows(options, { job: id, project: 'p', verb: 'logs', pool: 'default' }),
      () => secretNames(options, 'p'),
      () => reportOverHttp(options, { by: 'day', since: 1, project: 'p', user: by, pool: 'default' }),
      () => auditLines(options, { user: by, job: id, since: 1, limit: 2, pool: 'default' }),
      () => client.submit({ job: {}, source: '', user: by, sshKey: sha256.k, identityKeys: sha256 }),
      () => client.submit({ job: {}, name: id, files }),
      () => client.list({ project: 'p', user: by, phase: ['running', 'queued'], limit: 2 }),
      () => client.count({ ids: [id], since: 1, state: 'open' }),
      () => client.row(id),
      () => client.describe(id),
      () => client.deletions(id),
      () => client.wait(id),
      () => client.polls('q'),
      () => client.cancel(id, { by, ...SAMPLE_BODIES.cancel }),
      () => client.groups({ user: by, name: 'a-*', group: id, endedSince: 1 }, 2),
      () => client.group(id),
      () => client.describeGroup(id),
      () => client.cancelGroup(id, { by, ...SAMPLE_BODIES.cancelGroup }),
      () => client.retryGroup(id, by, SAMPLE_BODIES.retryGroup),
      () => client.beginGroup(id, by, SAMPLE_BODIES.beginGroup),
      () => client.stopGroup(id, by, SAMPLE_BODIES.stopGroup),
      () => client.resumeGroup(id, by, SAMPLE_BODIES.resumeGroup),
      ...JOB_VERBS.map((verb) => () => ask(verb)),
      () => client.schedules().create({ ...SAMPLE_BODIES.createSchedule, files, user: by }),
      () => client.schedules().list(),
      () => client.schedules().view(id),
      () => client.schedules().pause(id, by, SAMPLE_BODIES.pauseSchedule.reason),
      () => client.schedules().resume(id, by),
      () => client.schedules().trigger(id),
      () => client.schedules().delete(id),
      () => client.quota('default').setPriority(id, 1, by),
      () => client.quota('default').setGroupPriority(id, 1, by),
      () => client.quota('default').apply(SAMPLE_BODIES.quotaApply, by),
      () => client.quota('default').setAdmission('frozen', by, 'tonight'),
      () => client.quota('default').release(id, 'it is off', by),
      () => client.machines('default').call({ verb: 'ls', names: [], by }),
      () => client.machines('default').call({ ...SAMPLE_BODIES.changeMachines, by }),
      () => purgeOverHttp(options, id),
      () => hostAccess(options, id),
      () => log.run(AbortSignal.timeout(5_000)),
      () => reader.list('jobs/a/', 'jobs/a/b', 2),
      () => reader.stat('jobs/a/b'),
      () => reader.read('jobs/a/b', { start: 1, end: 2 }),
    ];
    for (isLarge of [true, false]) for (const call of calls) await call().catch(() => undefined);
    const called = new Set<OperationName>();
    for (const seen of server.seen.filter(({ url }) => url !== '/session')) {
      const name = rowOf(seen);
      called.add(name);
      const { query, body, mayLackBody }: Operation = OPERATIONS[name];
      const asked = Object.fromEntries(new URL(seen.url, 'http://x').searchParams);
      if (query === undefined) assert.deepEqual(asked, {}, name);
      else (FORMS[query] as typeof FORMS.logsQuery).strict().parse(asked);
      const sent: unknown = body === undefined ? seen.body : JSON.parse(seen.body);
      if (body !== undefined) FORMS[body].parse(sent);
      else if (name !== 'uploadContent') assert.equal(sent, '', name);
      assert.ok(mayLackBody === undefined || body !== undefined, name);
    }
    const all = [...called, ...OF_OTHERS].toSorted();
    assert.deepEqual(all, Object.keys(OPERATIONS).toSorted());
  });

  it('are repeated in doubt, but for those that act twice', () => {
    const once = Object.entries(OPERATIONS).filter(([, row]: readonly [string, Operation]) => row.isOnce);
    assert.deepEqual(once.map(([name]) => name).toSorted(), [
      'endLogin',
      'pageSession',
      'requeue',
      'restart',
      'resume',
      'retryGroup',
      'setUp',
      'stop',
      'triggerSchedule',
    ]);
  });

  it('use each verb of the access table', () => {
    const used = new Set<string>(Object.values(OPERATIONS).map(({ access }) => access));
    assert.deepEqual(
      ACCESS_VERBS.filter((verb) => !used.has(verb)),
      WITHOUT_ROW,
    );
  });
});

const HEX = 'a'.repeat(32);
