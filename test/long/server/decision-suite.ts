import assert from 'node:assert/strict';
import { jobFile } from '../../end-to-end/job-files.js';
import { until } from '../../until.js';
import type { ServerStack } from '../../server/server-stack.js';

const at = (name: string): string => `${name}@example.org`;
/** alice and bob are members of vision, vera is its admin; mallory is in speech alone; olga is operator, launcher a service. */
const SUBJECTS = ['alice', 'bob', 'vera', 'mallory', 'olga', 'launcher'] as const;
type Subject = (typeof SUBJECTS)[number];

interface Verb {
  readonly method: string;
  readonly path: (job: string) => string;
  readonly body?: object;
}
const post = (verb: string, body: object = {}): Verb => ({
  method: 'POST',
  path: (job) => `/v1/jobs/${job}/${verb}`,
  body,
});
const object = (call: string, name: string): Verb => ({
  method: 'GET',
  path: (job) => `/v1/objects${call}jobs/${job}/${name}`,
});
const get = (rest = ''): Verb => ({ method: 'GET', path: (job) => `/v1/jobs/${job}${rest}` });

/** Each call of a job; of one that has ended, so that an allowed change is refused by the job, and nothing changes for the next. */
const VERBS: Readonly<Record<string, Verb>> = {
  status: get(),
  wait: get('/wait?timeoutMs=0'),
  why: get('/why'),
  describe: get('/description'),
  logs: get('/logs'),
  objects: { method: 'GET', path: (job) => `/v1/objects?prefix=jobs/${job}/logs/` },
  spec: { method: 'GET', path: (job) => `/v1/objects/content?name=jobs/${job}/spec.yaml` },
  cancel: post('cancel'),
  stop: post('stop'),
  resume: post('resume'),
  restart: post('restart'),
  'restart with a file': post('restart', { job: { command: { run: 'id' } } }),
  requeue: post('requeue'),
  setup: post('setup'),
  priority: post('priority', { priority: 3 }),
  login: post('host-access'),
  'open slices': get('/open-slices'),
  stat: object('/stat?name=', 'spec.yaml'),
  outputs: object('?prefix=', 'outputs/'),
  'an output': object('/content?name=', 'outputs/manifests/a1/host-0.jsonl'),
  'facts of an output': object('/stat?name=', 'outputs/a.txt'),
  'a log, as an object': object('/content?name=', 'logs/job.0'),
  'set-up records': object('?prefix=', 'setup/'),
  outcome: object('/content?name=', 'outcome.json'),
  owner: object('/content?name=', 'owner.json'),
};
const READ = [
  ...['describe', 'logs', 'objects', 'spec', 'stat', 'outputs', 'an output', 'facts of an output'],
  ...['a log, as an object', 'set-up records', 'outcome', 'owner'],
];
const OPEN = ['status', 'wait', 'why', 'open slices'];
/** By hand, of the jobs of alice (vision): what each subject may do beside what everybody may. */
const MAY: Readonly<Record<Subject, readonly string[]>> = {
  alice: Object.keys(VERBS),
  bob: [...OPEN, ...READ],
  vera: Object.keys(VERBS).filter((verb) => !['restart with a file', 'login'].includes(verb)),
  mallory: OPEN,
  olga: Object.keys(VERBS).filter((verb) => verb !== 'restart with a file'),
  launcher: Object.keys(VERBS).filter((verb) => verb !== 'login'),
};
/** Calls that a test of their own makes as each subject. */
const ASKED_APART: readonly Verb[] = [
  { method: 'POST', path: () => '/v1/jobs' },
  { method: 'DELETE', path: (job) => `/v1/jobs/${job}` },
  { method: 'GET', path: () => '/v1/pools/{pool}' },
  { method: 'GET', path: () => '/v1/pools/{pool}/capacity' },
  { method: 'POST', path: () => '/v1/pools/{pool}/admission' },
  { method: 'POST', path: () => '/v1/pools/{pool}/release' },
  { method: 'POST', path: () => '/v1/pools/{pool}/apply' },
  { method: 'POST', path: () => '/v1/pools/{pool}/quota/plan' },
  { method: 'GET', path: () => '/v1/secrets' },
  { method: 'GET', path: () => '/v1/audit' },
];
/** What the caller alone is told, and what everybody may look at. Uploads are of the caller, and decide nothing. */
const OF_EVERYBODY = [
  'GET /v1/jobs',
  'GET /v1/jobs/count',
  'GET /v1/polls',
  'GET /v1/login',
  'GET /v1/whoami',
  'GET /v1/access/explain',
  'POST /v1/uploads',
  'POST /v1/uploads/complete',
  'PUT /v1/uploads/content',
];

/** Of each verb of the access table, over HTTP. What it leaves behind: bob is a member no more. */
export function decisionSuite(stackOf: () => ServerStack): void {
  const call: ServerStack['call'] = (...words) => stackOf().call(...words);
  /** Jobs of alice (vision), and of mallory (speech), which have ended. */
  let ours: string;
  let theirs: string;
  before(async function () {
    this.timeout(180_000);
    const submit = async (who: Subject, project: string): Promise<string> => {
      const job = jobFile('echo hi', { project, tpu: { accelerator: 'v5litepod-1' } });
      const { body, text } = await call(at(who), 'POST', '/v1/jobs', { job });
      return String(body['id'] ?? assert.fail(text));
    };
    [ours, theirs] = [await submit('alice', 'vision'), await submit('mallory', 'speech')];
    for (const id of [ours, theirs])
      await until(
        `${id} has ended`,
        async () => (await call(at('olga'), 'GET', `/v1/jobs/${id}/wait?timeoutMs=10000`)).body['isOver'] === true,
        90_000,
      );
  });
  /** Ids of calls that were refused. */
  const refusedCalls: string[] = [];
  const isAllowed = async (who: Subject, { method, path, body }: Verb, job: string): Promise<boolean> => {
    const answer = await call(at(who), method, path(job), body);
    assert.ok(answer.status < 500, `${method} ${path(job)} as ${who}: ${answer.text}`);
    assert.notEqual(answer.status, 401, answer.text);
    if (answer.status === 403) refusedCalls.push(answer.headers.get('x-request-id') ?? assert.fail());
    if (answer.status === 403)
      assert.match(String(answer.body['detail']), new RegExp(`^job ${job} of \\S+: ${at(who)} may not .*; allowed: `));
    return answer.status !== 403;
  };
  const allowedOf = async (who: Subject, job: string): Promise<readonly string[]> => {
    const asked = await Promise.all(
      Object.entries(VERBS).map(async ([name, verb]) => [name, await isAllowed(who, verb, job)] as const),
    );
    return asked.flatMap(([name, isTrue]) => (isTrue ? [name] : [])).toSorted();
  };

  for (const who of SUBJECTS)
    it(`${who} may do with a job of alice's, project vision, what the table says`, async () => {
      assert.deepEqual(await allowedOf(who, ours), MAY[who].toSorted());
    });

  it("a foreign project's job is closed to members and admins of another one, and to its own admins open", async () => {
    for (const who of ['alice', 'bob', 'vera'] as const) {
      // alice is a member of speech too.
      assert.deepEqual(
        await allowedOf(who, theirs),
        who === 'alice' ? [...OPEN, ...READ].toSorted() : OPEN.toSorted(),
        who,
      );
    }
    assert.deepEqual(await allowedOf('mallory', theirs), Object.keys(VERBS).toSorted());
  });

  it('names of secrets: members, admins and operators', async () => {
    for (const who of SUBJECTS) {
      const { status, text } = await call(at(who), 'GET', '/v1/secrets?project=vision');
      assert.equal(status, ['alice', 'bob', 'vera', 'olga'].includes(who) ? 200 : 403, `${who}: ${text}`);
    }
  });

  it('a job that is not there is not found, whoever asks', async () => {
    const { status, body } = await call(at('mallory'), 'POST', '/v1/jobs/no-such-job/cancel', {});
    assert.equal(status, 404);
    assert.equal(body['code'], 'not-found');
  });

  it('pools: everybody looks, operators alone change', async () => {
    for (const who of SUBJECTS) {
      const shown = await call(at(who), 'GET', '/v1/pools/default');
      assert.equal(shown.status, 200, shown.text);
      const planned = await call(at(who), 'POST', '/v1/pools/default/quota/plan', {});
      assert.equal(planned.status, 200, `${who}: ${planned.text}`);
      const admitted = await call(at(who), 'POST', '/v1/pools/default/admission', { admission: 'open' });
      assert.equal(admitted.status === 403, who !== 'olga', `${who}: ${admitted.text}`);
      const applied = await call(at(who), 'POST', '/v1/pools/default/apply', {
        poolFile: { name: 'p.toml', text: '' },
      });
      assert.equal(applied.status, who === 'olga' ? 409 : 403, `${who}: ${applied.text}`);
      const release = { job: 'none', because: 'it is off' };
      const released = await call(at(who), 'POST', '/v1/pools/default/release', release);
      assert.equal(released.status, who === 'olga' ? 409 : 403, `${who}: ${released.text}`);
      const audit = await call(at(who), 'GET', '/v1/audit');
      assert.equal(audit.status === 403, who !== 'olga', who);
    }
  });

  it('objects of pools and of the system: what everybody looks at, and what is shown to nobody', async () => {
    const open = [
      ...['?prefix=quota/default/history/', '/content?name=quota/default/state.json'],
      ...['/stat?name=quota/default/line.json', '/content?name=quota/default/applied/quota'],
      '/stat?name=system/host-keys/some-node/0',
    ];
    const closed = [
      ...['/content?name=system/owner', '/stat?name=system/owner', '?prefix=system/', '?prefix=system/host-keys/'],
      ...['?prefix=audit/', '?prefix=quota/', '?prefix=quota/default/', '/stat?name=quota/default/applied/other'],
      ...['?prefix=jobs/', '?prefix=files/', '?prefix=uploads/', '?prefix=j', `?prefix=/jobs/${ours}/logs/`],
      '/content?name=system/host-keys/../owner',
    ];
    const { store } = stackOf().stack;
    assert.ok((await store.stat('system/owner')) !== undefined, 'it is there, and not shown');
    for (const who of SUBJECTS) {
      for (const place of open) {
        const { status, text } = await call(at(who), 'GET', `/v1/objects${place}`);
        assert.ok(status === 200 || status === 404, `${who}: ${place}: ${text}`);
      }
      for (const place of closed) {
        const { status, body, headers, text } = await call(at(who), 'GET', `/v1/objects${place}`);
        assert.deepEqual([status, body['code']], [404, 'not-found'], `${who}: ${place}: ${text}`);
        refusedCalls.push(headers.get('x-request-id') ?? assert.fail());
      }
    }
    const state = await call(at('mallory'), 'GET', '/v1/objects/content?name=quota/default/state.json');
    assert.equal(state.status, 200, state.text);
  });

  it('an operator by group needs the group in the token', async () => {
    const path = '/v1/pools/default/admission';
    assert.equal(
      (await call(at('zoe'), 'POST', path, { admission: 'open' }, { groups: ['tpu-operators'] })).status,
      200,
    );
    assert.equal(
      (await call(at('zoe'), 'POST', path, { admission: 'open' }, { groups: ['tpu-operator'] })).status,
      403,
    );
  });

  it('what Temporal would not take is the caller’s mistake, and no fault of the server', async () => {
    for (const query of ['taskQueue=', `taskQueue=${'x'.repeat(201)}`])
      assert.equal((await call(at('alice'), 'GET', `/v1/polls?${query}`)).status, 400);
    const latest = 253_402_300_799_999;
    assert.equal((await call(at('alice'), 'GET', `/v1/jobs?since=${latest}`)).status, 200);
    assert.equal((await call(at('alice'), 'GET', `/v1/jobs?since=${latest + 1}`)).status, 400);
  });

  it('a user other than the caller is refused but to a service that may', async () => {
    const job = jobFile('true', { project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
    const asMallory = await call(at('mallory'), 'POST', '/v1/jobs', { job, user: at('alice') });
    assert.equal(asMallory.status, 403, asMallory.text);
    refusedCalls.push(asMallory.headers.get('x-request-id') ?? assert.fail());
    const inFile = await call(at('mallory'), 'POST', '/v1/jobs', { job: { ...job, user: at('alice') } });
    assert.equal(inFile.status, 403, inFile.text);
    const foreign = await call(at('mallory'), 'POST', '/v1/jobs', { job });
    assert.match(String(foreign.body['detail']), /may not submit to 'vision'/);
    refusedCalls.push(foreign.headers.get('x-request-id') ?? assert.fail());
    const byService = await call(at('launcher'), 'POST', '/v1/jobs', { job, user: at('alice') });
    assert.equal(byService.status, 201, byService.text);
    const { body } = await call(at('alice'), 'GET', `/v1/jobs/${String(byService.body['id'])}`);
    assert.equal(body['user'], at('alice'));
  });

  it('a member who is taken out of the quota file is one no more', async () => {
    const path = `/v1/jobs/${ours}/logs`;
    assert.equal((await call(at('bob'), 'GET', path)).status, 200);
    stackOf().stack.writeQuotaFile((text) => text.replace('"bob@example.org", ', ''));
    await until('bob is out', async () => (await call(at('bob'), 'GET', path)).status === 403, 20_000);
  });

  it('F11: everything that was decided is in the audit log: who, from where, what, on what, how', async () => {
    const { body } = await call(at('olga'), 'GET', `/v1/audit?job=${ours}`);
    const lines = body['lines'] as Record<string, unknown>[];
    const of = (who: Subject, verb: string) =>
      lines.filter((line) => line['subject'] === at(who) && line['verb'] === verb);
    const [refused] = of('mallory', 'cancel');
    const { requestId, at: time, replica, ...rest } = refused ?? assert.fail('no line');
    assert.deepEqual(rest, {
      subject: at('mallory'),
      kind: 'user',
      from: '127.0.0.1',
      verb: 'cancel',
      pool: 'default',
      project: 'vision',
      job: ours,
      owner: at('alice'),
      decision: 'refused',
      why: `job ${ours} of ${at('alice')}: ${at('mallory')} may not cancel it; allowed: ${at('alice')}, a service that may submit for them, admins of project vision, operators of pool default`,
      inputSha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    });
    assert.match(String(requestId), /^[0-9a-f-]{36}$/);
    assert.ok(Number(time) <= Date.now() && String(replica).length === 8);
    assert.equal(of('alice', 'submit').length, 1, 'who submitted it');
    assert.equal(of('alice', 'cancel')[0]?.['as'], 'owner');
    assert.equal(of('vera', 'stop')[0]?.['as'], 'admin');
    assert.equal(of('launcher', 'logs')[0]?.['kind'], 'service');
    assert.equal(of('mallory', 'status').length, 0, 'looks that everybody has are not recorded');
    assert.deepEqual(
      ['outputs', 'logs', 'describe'].map((verb) => of('mallory', verb).length),
      // By the places of objects, and the routes of logs and description.
      [3, 4, 5],
    );
    const whole = await call(at('olga'), 'GET', '/v1/audit?limit=10000');
    const ids = (whole.body['lines'] as Record<string, unknown>[])
      .filter(({ decision }) => decision === 'refused')
      .map((line) => String(line['requestId']));
    assert.ok(refusedCalls.length > 150, String(refusedCalls.length));
    for (const id of refusedCalls)
      assert.equal(ids.filter((each) => each === id).length, 1, 'one line for each refused call');
  });

  it('what a job left behind is deleted by its owner, an admin or an operator', async () => {
    for (const who of ['bob', 'mallory'] as const) {
      const { status, text } = await call(at(who), 'DELETE', `/v1/jobs/${ours}`);
      assert.equal(status, 403, `${who}: ${text}`);
    }
    const foreign = await call(at('vera'), 'DELETE', `/v1/jobs/${theirs}`);
    assert.equal(foreign.status, 403, foreign.text);
    const deleted = await call(at('vera'), 'DELETE', `/v1/jobs/${ours}`);
    assert.equal(deleted.status, 200, deleted.text);
  });

  it('no call of the OpenAPI document is left out of this table', async () => {
    const { paths } = (await call(at('alice'), 'GET', '/openapi.json')).body as { paths: Record<string, object> };
    const known = [...Object.values(VERBS), ...ASKED_APART].map(({ method, path }) =>
      `${method} ${path('{id}').replace(/\?.*/, '')}`.replace(/\{id\}\/logs$/, '{id}/logs'),
    );
    const all = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual(
      all.filter((each) => /\/v1\//.test(each) && !known.includes(each)).filter((each) => !OF_EVERYBODY.includes(each)),
      [],
    );
  });
}
