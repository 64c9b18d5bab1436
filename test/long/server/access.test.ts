import assert from 'node:assert/strict';
import { jobFile } from '../../end-to-end/job-files.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { ServerStack } from '../../server/server-stack.js';

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
};
const READ = ['describe', 'logs', 'objects', 'spec'];
const OPEN = ['status', 'wait', 'why'];
/** By hand, of the jobs of alice (vision): what each subject may do beside what everybody may. */
const MAY: Readonly<Record<Subject, readonly string[]>> = {
  alice: Object.keys(VERBS),
  bob: [...OPEN, ...READ],
  vera: Object.keys(VERBS).filter((verb) => verb !== 'restart with a file'),
  mallory: OPEN,
  olga: Object.keys(VERBS).filter((verb) => verb !== 'restart with a file'),
  launcher: Object.keys(VERBS),
};

describe('F5: who may do what, over HTTP', function () {
  this.timeout(180_000);
  let stack: ServerStack;
  /** Jobs of alice (vision), and of mallory (speech), which have ended. */
  let ours: string;
  let theirs: string;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start({ serverConfig: SERVICE });
    const submit = async (who: Subject, project: string): Promise<string> => {
      const job = jobFile('echo hi', { project, tpu: { accelerator: 'v5litepod-1' } });
      const { body, text } = await stack.call(at(who), 'POST', '/v1/jobs', { job });
      return String(body['id'] ?? assert.fail(text));
    };
    [ours, theirs] = [await submit('alice', 'vision'), await submit('mallory', 'speech')];
    for (const id of [ours, theirs])
      await until(
        `${id} has ended`,
        async () =>
          (await stack.call(at('olga'), 'GET', `/v1/jobs/${id}/wait?timeoutMs=10000`)).body['isOver'] === true,
        90_000,
      );
  });
  after(() => stack?.stop());

  const isAllowed = async (who: Subject, { method, path, body }: Verb, job: string): Promise<boolean> => {
    const answer = await stack.call(at(who), method, path(job), body);
    assert.ok(answer.status < 500, `${method} ${path(job)} as ${who}: ${answer.text}`);
    assert.notEqual(answer.status, 401, answer.text);
    if (answer.status === 403)
      assert.match(String(answer.body['detail']), new RegExp(`^job ${job} of \\S+: ${at(who)} may not .*; allowed: `));
    return answer.status !== 403;
  };
  const allowedOf = async (who: Subject, job: string): Promise<readonly string[]> => {
    const asked = await Promise.all(
      Object.entries(VERBS).map(async ([name, verb]) => [name, await isAllowed(who, verb, job)] as const),
    );
    return asked.flatMap(([name, isTrue]) => (isTrue ? [name] : []));
  };

  for (const who of SUBJECTS)
    it(`${who} may do with a job of alice's, project vision, what the table says`, async () => {
      assert.deepEqual(await allowedOf(who, ours), MAY[who]);
    });

  it("a foreign project's job is closed to members and admins of another one, and to its own admins open", async () => {
    for (const who of ['alice', 'bob', 'vera'] as const) {
      // alice is a member of speech too.
      assert.deepEqual(await allowedOf(who, theirs), who === 'alice' ? [...OPEN, ...READ] : OPEN, who);
    }
    assert.deepEqual(await allowedOf('mallory', theirs), Object.keys(VERBS));
  });

  it('a job that is not there is not found, whoever asks', async () => {
    const { status, body } = await stack.call(at('mallory'), 'POST', '/v1/jobs/no-such-job/cancel', {});
    assert.equal(status, 404);
    assert.equal(body['code'], 'not-found');
  });

  it('pools: everybody looks, operators alone change', async () => {
    for (const who of SUBJECTS) {
      const shown = await stack.call(at(who), 'GET', '/v1/pools/default');
      assert.equal(shown.status, 200, shown.text);
      const admitted = await stack.call(at(who), 'POST', '/v1/pools/default/admission', { admission: 'open' });
      assert.equal(admitted.status === 403, who !== 'olga', `${who}: ${admitted.text}`);
      const applied = await stack.call(at(who), 'POST', '/v1/pools/default/apply', {
        poolFile: { name: 'p.toml', text: '' },
      });
      assert.equal(applied.status, who === 'olga' ? 409 : 403, `${who}: ${applied.text}`);
      const audit = await stack.call(at(who), 'GET', '/v1/audit');
      assert.equal(audit.status === 403, who !== 'olga', who);
    }
  });

  it('an operator by group needs the group in the token', async () => {
    const path = '/v1/pools/default/admission';
    assert.equal(
      (await stack.call(at('zoe'), 'POST', path, { admission: 'open' }, { groups: ['tpu-operators'] })).status,
      200,
    );
    assert.equal(
      (await stack.call(at('zoe'), 'POST', path, { admission: 'open' }, { groups: ['tpu-operator'] })).status,
      403,
    );
  });

  it('what Temporal would not take is the caller’s mistake, and no fault of the server', async () => {
    for (const query of ['taskQueue=', `taskQueue=${'x'.repeat(201)}`])
      assert.equal((await stack.call(at('alice'), 'GET', `/v1/polls?${query}`)).status, 400);
    const latest = 253_402_300_799_999;
    assert.equal((await stack.call(at('alice'), 'GET', `/v1/jobs?since=${latest}`)).status, 200);
    assert.equal((await stack.call(at('alice'), 'GET', `/v1/jobs?since=${latest + 1}`)).status, 400);
  });

  it('a user other than the caller is refused but to a service that may', async () => {
    const job = jobFile('true', { project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
    const asMallory = await stack.call(at('mallory'), 'POST', '/v1/jobs', { job, user: at('alice') });
    assert.equal(asMallory.status, 403, asMallory.text);
    const inFile = await stack.call(at('mallory'), 'POST', '/v1/jobs', { job: { ...job, user: at('alice') } });
    assert.equal(inFile.status, 403, inFile.text);
    const foreign = await stack.call(at('mallory'), 'POST', '/v1/jobs', { job });
    assert.match(String(foreign.body['detail']), /may not submit to 'vision'/);
    const byService = await stack.call(at('launcher'), 'POST', '/v1/jobs', { job, user: at('alice') });
    assert.equal(byService.status, 201, byService.text);
    const { body } = await stack.call(at('alice'), 'GET', `/v1/jobs/${String(byService.body['id'])}`);
    assert.equal(body['user'], at('alice'));
  });

  it('a member who is taken out of the quota file is one no more', async () => {
    const path = `/v1/jobs/${ours}/logs`;
    assert.equal((await stack.call(at('bob'), 'GET', path)).status, 200);
    stack.stack.writeQuotaFile((text) => text.replace('"bob@example.org", ', ''));
    await until('bob is out', async () => (await stack.call(at('bob'), 'GET', path)).status === 403, 20_000);
  });

  it('F11: everything that was decided is in the audit log: who, from where, what, on what, how', async () => {
    const { body } = await stack.call(at('olga'), 'GET', `/v1/audit?job=${ours}`);
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
  });
});

describe('whose token is taken', function () {
  this.timeout(120_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start();
  });
  after(() => stack?.stop());
  const who = async (token: string) => stack.call('', 'GET', '/v1/whoami', undefined, { token });

  it('one of the issuer, for this server', async () => {
    const { status, body } = await who(await stack.issuer.token({ email: at('alice'), groups: ['a', 'b'] }));
    assert.equal(status, 200);
    const { expiresAt, ...rest } = body;
    assert.deepEqual(rest, { kind: 'user', id: at('alice'), groups: ['a', 'b'], issuer: stack.issuer.url });
    assert.ok(Number(expiresAt) > Date.now());
  });

  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const refused: Readonly<
    Record<string, readonly [(issuer: ServerStack['issuer']) => string | Promise<string>, number, RegExp]>
  > = {
    forged: [(issuer) => issuer.forged({ email: at('alice') }), 401, /is not signed by/],
    'without a signature': [
      (issuer) =>
        `${part({ alg: 'none' })}.${part({ iss: issuer.url, aud: 'jobctl-test', sub: 'a', email: at('alice'), exp: 9e9, iat: 1 })}.`,
      401,
      /is not one that .* makes/,
    ],
    expired: [(issuer) => issuer.token({ email: at('alice'), lifetimeS: -60 }), 401, /has expired at 20/],
    'for another audience': [
      (issuer) => issuer.token({ email: at('alice'), audience: 'grafana' }),
      401,
      /is for 'grafana', wanted jobctl-test/,
    ],
    'for two audiences, made for the other': [
      (issuer) => issuer.token({ email: at('alice'), audience: ['jobctl-test', 'grafana'], more: { azp: 'grafana' } }),
      401,
      /was made for 'grafana'/,
    ],
    'of another issuer': [
      (issuer) => issuer.token({ email: at('alice'), issuer: 'https://accounts.google.com' }),
      401,
      /is of issuer 'https:\/\/accounts\.google\.com'/,
    ],
    'with an address that nobody verified': [
      (issuer) => issuer.token({ email: at('alice'), emailVerified: false }),
      401,
      /has not verified the address/,
    ],
    'with no address that could be a user': [
      (issuer) => issuer.token({ email: 'a b@example.org' }),
      403,
      /cannot be a user/,
    ],
    nonsense: [() => 'a.b.c', 401, /no JWT of an issuer/],
  };
  for (const [name, [token, status, detail]] of Object.entries(refused))
    it(`not one that is ${name}`, async () => {
      const sent = await token(stack.issuer);
      const answer = await who(sent);
      assert.equal(answer.status, status, answer.text);
      assert.match(String(answer.body['detail']), detail);
      assert.ok(!answer.text.includes(sent) && !stack.logText().includes(sent), 'no token is repeated');
    });

  it('none at all is a problem that says what to do, on every route but the open ones', async () => {
    const answer = await fetch(`${stack.urls[0]}/v1/jobs`);
    assert.equal(answer.status, 401);
    assert.match(answer.headers.get('content-type') ?? '', /application\/problem\+json/);
    assert.match(String(((await answer.json()) as { remedy: string }).remedy), /jobctl login/);
    for (const path of ['/healthz', '/readyz', '/v1/login', '/openapi.json'])
      assert.equal((await fetch(`${stack.urls[0]}${path}`)).status, 200, path);
  });

  it('of a key that the issuer rotated to, without a restart; of the old one no more, once the new ones are known', async () => {
    const old = await stack.issuer.token({ email: at('alice') });
    assert.equal((await who(old)).status, 200);
    await stack.issuer.rotate();
    // Keys are asked for again 5 s after the last time at the earliest, so that made-up key ids cost an issuer nothing.
    await until(
      'a token of the new key is taken',
      async () => (await who(await stack.issuer.token({ email: at('alice') }))).status === 200,
      20_000,
    );
    assert.equal((await who(old)).status, 401);
  });

  it('another Host or Origin is refused before anything else', async () => {
    const token = await stack.issuer.token({ email: at('alice') });
    const { request } = await import('node:http');
    const statusWith = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const call = request(
          `${stack.urls[0]}/v1/whoami`,
          { headers: { authorization: `Bearer ${token}`, ...headers } },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        call.on('error', reject).end();
      });
    assert.equal(await statusWith({}), 200);
    assert.equal(await statusWith({ host: 'evil.example:7480' }), 403);
    assert.equal(await statusWith({ origin: 'https://evil.example' }), 403);
  });
});

/** The launcher is a service by the server's configuration. */
const SERVICE = (stack: ServerStack): object => ({
  issuers: [{ issuer: stack.issuer.url, audiences: ['jobctl-test'], services: [at('launcher')] }],
});
