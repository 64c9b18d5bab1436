import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type OperationName, OPERATIONS } from '../../contract/operations.js';
import { SAMPLE_BODIES } from '../contract/sample-bodies.js';
import { GatedApp } from './gated-app.js';
import { ApiError } from '../../server/problem.js';
import type { Answer } from './server-stack.js';

const JOB = { project: 'vision', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } };
/** Calls that zoe, who is nobody's member, may make. By hand: all others are refused to her. */
const OF_EVERYBODY: readonly OperationName[] = [
  ...([
    'list',
    'board',
    'count',
    'polls',
    'login',
    'pageSession',
    'beginLogin',
    'endLogin',
    'whoami',
    'status',
    'wait',
    'why',
    'openSlices',
  ] as const),
  ...(['group', 'listGroups', 'schedules', 'schedule'] as const),
  ...([
    'uploads',
    'completeUpload',
    'uploadContent',
    'quotaShow',
    'poolUse',
    'poolHistory',
    'capacity',
    'report',
    'quotaPlan',
  ] as const),
];
/** Of calls whose form asks for one. */
const QUERIES: Readonly<Partial<Record<OperationName, string>>> = {
  objects: 'prefix=jobs/theirs/logs/',
  objectStat: 'name=jobs/theirs/spec.yaml',
  objectContent: 'name=jobs/theirs/outputs/a',
  accessExplain: 'user=alice@example.org',
  secretNames: 'project=vision',
  wait: 'timeoutMs=0',
  uploadContent: `path=a&sha256=${'a'.repeat(64)}`,
};
const BODIES: Readonly<Partial<Record<OperationName, object>>> = SAMPLE_BODIES;
const NAMES = Object.keys(OPERATIONS) as OperationName[];

describe('what a call is refused by is in the audit log', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('theirs', 'alice@example.org', 'vision');
  });
  after(() => app?.stop());

  const bodyOf = (name: OperationName): object | undefined =>
    OPERATIONS[name].call.startsWith('POST') ? (BODIES[name] ?? {}) : undefined;
  const made = async (who: string, name: OperationName): Promise<Answer> => {
    const [method = '', path = ''] = OPERATIONS[name].call.split(' ');
    const query = QUERIES[name];
    const place = path.replace(':id', 'theirs').replace(':pool', 'default');
    return app.call(who, method, query === undefined ? place : `${place}?${query}`, bodyOf(name));
  };

  it('contract/operations.ts has each route of the OpenAPI document', async () => {
    const document = await app.call('zoe', 'GET', '/openapi.json');
    assert.equal(document.status, 200, document.text);
    const { paths } = document.body as { paths: Record<string, object> };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const rows = Object.values(OPERATIONS).map(({ call }) => call.replace(/:(\w+)/, '{$1}'));
    assert.deepEqual(routes.toSorted(), rows.toSorted());
  });

  it('each operation, refused, leaves exactly one line: who, from where, what, on what, why, of which input', async () => {
    const answers = new Map<OperationName, Answer>();
    for (const name of NAMES) answers.set(name, await made('zoe', name));
    const all = await app.lines();
    for (const [name, answer] of answers) {
      const lines = all.filter(({ requestId }) => requestId === answer.headers.get('x-request-id'));
      if (OF_EVERYBODY.includes(name)) {
        assert.notEqual(answer.status, 403, `${name}: ${answer.text}`);
        assert.deepEqual(lines, [], name);
        continue;
      }
      assert.equal(answer.status, 403, `${name}: ${answer.text}`);
      assert.equal(lines.length, 1, `${name}: ${JSON.stringify(lines)}`);
      const [line] = lines;
      assert.deepEqual(
        [line?.subject, line?.kind, line?.from, line?.decision, line?.pool, line?.why],
        ['zoe@example.org', 'user', '127.0.0.1', 'refused', 'default', answer.body['detail']],
        name,
      );
      assert.equal(line?.as, undefined);
      if (OPERATIONS[name].call.includes(':id')) {
        const named = OPERATIONS[name].access === 'schedule-change' ? 'schedule/theirs' : 'theirs';
        assert.deepEqual([line?.job, line?.owner], [named, 'alice@example.org']);
      }
      const body = bodyOf(name);
      const sha256 = body && createHash('sha256').update(JSON.stringify(body)).digest('hex');
      assert.equal(line?.inputSha256, sha256, name);
    }
  });

  const submits: Readonly<Record<string, readonly [who: string, body: object, why: RegExp, on: object]>> = {
    'for somebody else': [
      'mallory',
      { job: JOB, user: 'alice@example.org' },
      /mallory@example\.org may not submit for 'alice@example\.org'/,
      { owner: 'alice@example.org', project: 'vision', job: undefined },
    ],
    'for somebody else, by the job file, under a name': [
      'mallory',
      { job: { ...JOB, user: 'alice@example.org' }, name: 'evil-1' },
      /may not submit for 'alice@example\.org'/,
      { owner: 'alice@example.org', project: 'vision', job: 'evil-1' },
    ],
    'to a project of others': [
      'mallory',
      { job: JOB },
      /may not submit to 'vision'/,
      { owner: 'mallory@example.org', project: 'vision', job: undefined },
    ],
    'of a service, for whom it may not': [
      'launcher',
      { job: JOB, user: 'someone@partner.com' },
      /may not submit for 'someone@partner\.com'/,
      { owner: 'someone@partner.com', project: 'vision', job: undefined },
    ],
  };
  for (const [name, [who, body, why, on]] of Object.entries(submits))
    it(`a submit ${name}`, async () => {
      const answer = await app.call(who, 'POST', '/v1/jobs', body);
      assert.equal(answer.status, 403, answer.text);
      const [line, ...more] = await app.lines(answer);
      assert.deepEqual(more, []);
      assert.match(line?.why ?? 'no line', why);
      const { verb, decision, owner, project, job, inputSha256 } = line ?? {};
      assert.deepEqual([verb, decision, { owner, project, job }], ['submit', 'refused', on]);
      assert.equal(inputSha256, createHash('sha256').update(JSON.stringify(body)).digest('hex'));
    });

  it('a restart with another job file by an admin is refused as that, and does not stand there as allowed', async () => {
    const answer = await app.call('vera', 'POST', '/v1/jobs/theirs/restart', { job: { command: { run: 'id' } } });
    assert.equal(answer.status, 403, answer.text);
    assert.deepEqual(
      (await app.lines(answer)).map(({ verb, decision }) => [verb, decision]),
      [['edit', 'refused']],
    );
  });

  it('an object that is shown to nobody, such as the audit log itself', async () => {
    for (const name of ['audit/2026-11-24/x.jsonl', 'system/owner', 'quota/default/../x', 'jobs/']) {
      const answer = await app.call('olga', 'GET', `/v1/objects/content?name=${encodeURIComponent(name)}`);
      assert.equal(answer.status, 404, answer.text);
      assert.deepEqual(
        (await app.lines(answer)).map(({ verb, decision, why }) => [verb, decision, why]),
        [['objects', 'refused', `there is no object '${name}'`]],
      );
    }
  });

  it('a call that was allowed and then failed stands there as what was decided', async () => {
    const answer = await app.call('alice', 'POST', '/v1/jobs/theirs/host-access', {});
    assert.ok(answer.status >= 400 && answer.status !== 403, answer.text);
    assert.deepEqual(
      (await app.lines(answer)).map(({ verb, decision, as }) => [verb, decision, as]),
      [['login', 'allowed', 'owner']],
    );
  });
});

describe('a route that forgets the gate', () => {
  it('cannot be registered without the verb that its refusals are recorded by; with it they are', async () => {
    const forgetful = await GatedApp.start({
      more: (app) => {
        const refuse = (): never => {
          throw new ApiError('forbidden', 'not you');
        };
        assert.throws(() => app.get('/v1/forgotten', refuse), /does not say what its call is to the access table/);
        app.get('/v1/jobs/:id/secretly', { config: { verb: 'describe' } }, refuse);
      },
    });
    try {
      const answer = await forgetful.call('zoe', 'GET', '/v1/jobs/theirs/secretly?pool=other');
      assert.equal(answer.status, 403, answer.text);
      assert.deepEqual(
        (await forgetful.lines(answer)).map(({ verb, decision, why, pool, job }) => [verb, decision, why, pool, job]),
        [['describe', 'refused', 'not you', 'default', 'theirs']],
      );
    } finally {
      await forgetful.stop();
    }
  });
});
