import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { JobClient } from '../../../client/job-client.js';
import {
  Forbidden,
  JobInvalid,
  JobNameTaken,
  JobNotFound,
  JobRefused,
  JobTerminated,
  NotLoggedIn,
  PoolNotFound,
  PoolRefused,
  ServerRefused,
  ServerUnreachable,
  TooManyRequests,
} from '../../../client/errors.js';
import { createServerReader } from '../../../client/http/store-reader.js';
import { type Reply, ScriptedServer } from './scripted-server.js';

const JOB = { name: 'j', tpu: { accelerator: 'v5litepod-1' }, command: { run: 'true' } };

/** Of the wire alone: what a server may answer, break off or refuse. Whole ones are in test/server. */
describe('JobClient over HTTP', function () {
  this.timeout(20_000);
  const server = new ScriptedServer();
  before(() => server.start());
  after(() => server.stop());
  beforeEach(() => server.forget());

  const connect = (more: object = {}): Promise<JobClient> =>
    JobClient.connect({ server: server.address, token: async () => 'a.b.c', ...more });
  const answers =
    (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reply =>
    (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    };
  const refuses = (status: number, code: string, headers: Readonly<Record<string, string>> = {}): Reply =>
    answers(
      { type: 'about:blank', title: 'x', status, code, detail: 'because', remedy: 'do this', requestId: 'r-1' },
      status,
      {
        'content-type': 'application/problem+json',
        ...headers,
      },
    );
  const breaksOff: Reply = (_, __, request) => request.socket.destroy();
  const submitted = answers({ id: 'j-1', isNew: true, spec: { name: 'j', pool: 'default' } }, 201);

  describe('a submit', () => {
    it('whose answer is lost is sent again under the same key, and is one job that is new', async () => {
      server.replies = [breaksOff, refuses(503, 'unavailable'), answers({ id: 'j-1', isNew: false, spec: {} })];
      const { id, isNew } = await (await connect()).submit({ job: JOB });
      assert.deepEqual([id, isNew], ['j-1', true]);
      const keys = server.seen.map(({ headers }) => headers['idempotency-key']);
      assert.equal(keys.length, 3);
      assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
      assert.equal(new Set(keys).size, 1);
      assert.equal(new Set(server.seen.map(({ body }) => body)).size, 1);
    });

    it('of another call has another key', async () => {
      server.replies = [submitted];
      const client = await connect();
      await client.submit({ job: JOB });
      await client.submit({ job: JOB });
      assert.equal(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size, 2);
    });

    it('with a name has the name for a key, and what the server says of it', async () => {
      server.replies = [answers({ id: 'j-1', isNew: false, spec: {} })];
      const { isNew } = await (await connect()).submit({ job: JOB, name: 'j-1' });
      assert.equal(isNew, false);
      assert.deepEqual(
        [server.seen[0]?.headers['idempotency-key'], (JSON.parse(server.seen[0]?.body ?? '') as { name: string }).name],
        [undefined, 'j-1'],
      );
    });

    it('to a server that comes up meanwhile', async () => {
      const port = await freePort();
      const client = await JobClient.connect({ server: `http://127.0.0.1:${port}`, token: async () => 'a.b.c' });
      const submitting = client.submit({ job: JOB });
      const late = createServer((request, response) => {
        request
          .resume()
          .once('end', () => response.writeHead(201).end(JSON.stringify({ id: 'j-2', isNew: true, spec: {} })));
      });
      await new Promise<void>((resolve) => late.listen(port, '127.0.0.1', resolve));
      assert.equal((await submitting).id, 'j-2');
      late.closeAllConnections();
      late.close();
    });
  });

  it('what may not be repeated is not: a restart whose answer is lost says that it may have been done', async () => {
    server.replies = [breaksOff];
    await assert.rejects(
      (await connect()).restart('j-1', ''),
      (error) => error instanceof ServerUnreachable && error.message.endsWith('; it may have been done'),
    );
    assert.equal(server.seen.length, 1);
  });

  it('each verb that changes a job names the computer of who asks', async () => {
    const from = 'wks-12';
    const verbs: readonly ((client: JobClient) => Promise<unknown>)[] = [
      (client) => client.cancel('j-1', { by: '', from }),
      (client) => client.stop('j-1', '', { from }),
      (client) => client.resume('j-1', '', { from }),
      (client) => client.restart('j-1', '', { from, replace: 'all' }),
      (client) => client.requeue('j-1', '', { from, zone: 'us-east5-a' }),
      (client) => client.setUp('j-1', '', { from, force: true }),
    ];
    const client = await connect();
    for (const verb of verbs) {
      server.replies = [answers({ message: 'noted', state: 'cancelling' })];
      await verb(client);
    }
    const bodies = server.seen.map(({ body }) => (JSON.parse(body) as { from?: string }).from);
    assert.deepEqual(
      bodies,
      verbs.map(() => from),
    );
  });

  it('no token leaves for an address that is not safe, and none follows a redirect', async () => {
    await assert.rejects(
      connect({ server: 'http://jobctl.example.com' }),
      (error) => error instanceof ServerRefused && /clear text/.test(error.message),
    );
    server.replies = [answers({}, 302, { location: 'http://127.0.0.1:1/elsewhere' })];
    await assert.rejects(
      (await connect()).row('j-1'),
      (error) => error instanceof ServerRefused && /leads to http:\/\/127\.0\.0\.1:1\/elsewhere/.test(error.message),
    );
    assert.equal(server.seen.length, 1);
  });

  it('a refused token is asked for once more, and another one is sent', async () => {
    server.replies = [refuses(401, 'unauthenticated'), answers({ id: 'j-1' })];
    const refused: (string | undefined)[] = [];
    const token = async (before?: string): Promise<string> => {
      refused.push(before);
      return before === undefined ? 'old.a.b' : 'new.a.b';
    };
    await (await connect({ token })).row('j-1');
    assert.deepEqual(refused, [undefined, 'old.a.b']);
    assert.deepEqual(
      server.seen.map(({ headers }) => headers.authorization),
      ['Bearer old.a.b', 'Bearer new.a.b'],
    );
  });

  describe('too many calls', () => {
    it('are the caller’s to know, with when to ask again', async () => {
      server.replies = [refuses(429, 'too-many-requests', { 'retry-after': '7' })];
      await assert.rejects(
        (await connect()).row('j-1'),
        (error) => error instanceof TooManyRequests && error.retryAfterMs === 7_000 && error.remedy === 'do this',
      );
      assert.equal(server.seen.length, 1);
    });

    it('are waited for, as long as was agreed in all', async () => {
      server.replies = [refuses(429, 'too-many-requests', { 'retry-after': '1' }), answers({ id: 'j-1' })];
      const told: number[] = [];
      const busy = { busyPatienceMs: 1_500, onBusy: (_: string, ms: number) => told.push(ms) };
      assert.equal((await (await connect(busy)).row('j-1')).id, 'j-1');
      assert.deepEqual(told, [1_000]);
      server.replies = [refuses(429, 'too-many-requests', { 'retry-after': '1' })];
      await assert.rejects((await connect(busy)).row('j-1'), TooManyRequests);
      assert.deepEqual(told, [1_000, 1_000]);
    });
  });

  type ErrorClass = new (...args: never[]) => Error;
  const REFUSALS: readonly (readonly [string, number, string, (client: JobClient) => Promise<unknown>, ErrorClass])[] =
    [
      ['a job that is wrong', 422, 'invalid', (client) => client.submit({ job: JOB }), JobInvalid],
      ['a name that is taken', 409, 'name-taken', (client) => client.submit({ job: JOB, name: 'j-1' }), JobNameTaken],
      ['no such job', 404, 'not-found', (client) => client.row('j-1'), JobNotFound],
      ['a job in no state for it', 409, 'refused', (client) => client.stop('j-1', ''), JobRefused],
      ['a changed file that is wrong', 422, 'invalid', (client) => client.resume('j-1', '', { set: [] }), JobInvalid],
      ['a job that was refused', 422, 'invalid', (client) => client.wait('j-1'), JobInvalid],
      ['a job that was terminated', 409, 'refused', (client) => client.wait('j-1'), JobTerminated],
      ['a pool that refuses', 409, 'refused', (client) => client.quota().setAdmission('frozen', ''), PoolRefused],
      ['files that are wrong', 422, 'invalid', (client) => client.quota().apply({}, ''), PoolRefused],
      ['no such pool', 404, 'not-found', (client) => client.quota('x').setAdmission('open', ''), PoolNotFound],
      ['nobody that is known', 401, 'unauthenticated', (client) => client.whoAmI(), NotLoggedIn],
      ['somebody who may not', 403, 'forbidden', (client) => client.cancel('j-1'), Forbidden],
      ['a call that is wrong', 400, 'invalid', (client) => client.count(), ServerRefused],
      ['a fault of the server', 500, 'internal', (client) => client.count(), ServerRefused],
    ];
  for (const [what, status, code, call, error] of REFUSALS)
    it(`${what} is ${error.name}`, async () => {
      server.replies = [refuses(status, code)];
      await assert.rejects(call(await connect()), error);
    });

  it('what is no jobctl serve is said to be none', async () => {
    server.replies = [
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hi</html>'),
      (_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no</html>'),
    ];
    for (const words of [/is a web page$/, /answers HTTP 404: the answer is a web page/])
      await assert.rejects(
        (await connect()).count(),
        (error) =>
          error instanceof ServerRefused && words.test(error.message) && /jobctl serve/.test(error.remedy ?? ''),
      );
  });

  it('find reads page after page, a filter of many ids in parts, and no row twice', async () => {
    server.replies = [
      answers({ rows: [{ id: 'a' }, { id: 'b' }], total: 3, open: 3, nextPageToken: 'next' }),
      answers({ rows: [{ id: 'b' }, { id: 'c' }], total: 3, open: 3 }),
    ];
    const client = await connect();
    const rows = await client.find({ phase: ['queued', 'running'], user: 'alice@example.org' });
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['a', 'b', 'c'],
    );
    assert.deepEqual(
      server.seen.map(({ url }) => url),
      [
        '/v1/jobs?user=alice%40example.org&phase=queued%2Crunning&limit=1000',
        '/v1/jobs?user=alice%40example.org&phase=queued%2Crunning&limit=1000&pageToken=next',
      ],
    );
    server.seen = [];
    server.replies = [answers({ rows: [], total: 0, open: 0 })];
    await client.find({ ids: Array.from({ length: 401 }, (_, at) => `job-${at}`) });
    assert.deepEqual(
      server.seen.map(({ url }) => new URL(url, server.address).searchParams.get('ids')?.split(',').length),
      [200, 200, 1],
    );
    assert.deepEqual(await client.find({ ids: [] }), []);
  });

  it('files go into uploads that the server began, without a token, else through it; what is there is not sent', async () => {
    const upload = '0'.repeat(32);
    const answerAll: Reply = ({ method, url, body, headers }, response) => {
      if (url === '/v1/uploads') {
        const answered = [
          { path: 'a', object: 'x', state: 'wanted', url: `${server.address}/session?upload_id=1`, upload },
          { path: 'b', object: 'y', state: 'wanted' },
          { path: 'c', object: 'z', state: 'exists' },
        ];
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ files: answered }));
      } else if (url === '/v1/jobs') submitted({ method, url, body, headers }, response, response.req);
      else response.writeHead(headers['content-range'] === 'bytes */1' ? 308 : 204).end();
    };
    server.replies = Array.from({ length: 6 }, () => answerAll);
    const [a, b, c] = ['a', 'bb', 'ccc'].map((text) => Buffer.from(text));
    await (await connect()).submit({ job: JOB, files: { a: a as Buffer, b: b as Buffer, c: c as Buffer } });
    const calls = server.seen
      .slice(1, -1)
      .map(({ method, url, body, headers }) => [method, url.split('?')[0], body, headers.authorization]);
    assert.deepEqual(
      calls.filter(([, url]) => url !== '/v1/uploads/content'),
      [
        ['PUT', '/session', '', undefined],
        ['PUT', '/session', 'a', undefined],
        ['POST', '/v1/uploads/complete', JSON.stringify({ path: 'a', sha256: SHA_OF_A, upload }), 'Bearer a.b.c'],
      ],
    );
    assert.deepEqual(
      calls.filter(([, url]) => url === '/v1/uploads/content'),
      [['PUT', '/v1/uploads/content', 'bb', 'Bearer a.b.c']],
    );
    const job = JSON.parse(server.seen.at(-1)?.body ?? '') as { files: Record<string, string> };
    assert.deepEqual(Object.keys(job.files), ['a', 'b', 'c']);
  });

  it('a file goes through the server where the store is out of reach; one that is too large for that says both', async () => {
    const away = `http://127.0.0.1:${await freePort()}/session`;
    const plan: Reply = (_, response) => {
      const file = { path: 'a', object: 'x', state: 'wanted', url: away, upload: '0'.repeat(32) };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ files: [file] }));
    };
    server.replies = [plan, (_, response) => response.writeHead(204).end(), submitted];
    const files = { a: Buffer.from('a') };
    await (await connect()).submit({ job: JOB, files });
    assert.deepEqual(
      server.seen.map(({ method, url }) => `${method} ${url.split('?')[0]}`),
      ['POST /v1/uploads', 'PUT /v1/uploads/content', 'POST /v1/jobs'],
    );
    server.replies = [plan, refuses(413, 'too-large')];
    await assert.rejects((await connect()).submit({ job: JOB, files }), {
      name: 'JobInvalid',
      message: /^a: the store cannot be reached from here \(.*127\.0\.0\.1:\d+.*\), and through the server: because$/,
    });
  });

  it('a store that refuses a file is named, and nothing is submitted', async () => {
    server.replies = [
      (_, response) => {
        const file = { path: 'a', object: 'x', state: 'wanted', url: `${server.address}/s`, upload: '0'.repeat(32) };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ files: [file] }));
      },
      (_, response) => response.writeHead(308).end(),
      (_, response) => response.writeHead(403).end('no quota'),
      (_, response) => response.writeHead(499).end(),
    ];
    await assert.rejects((await connect()).submit({ job: JOB, files: { a: Buffer.from('a') } }), {
      name: 'ServerRefused',
      message: /^the store at 127\.0\.0\.1:\d+ refuses a file: no quota$/,
    });
    assert.ok(!server.seen.some(({ url }) => url === '/v1/jobs'));
  });
});

const SHA_OF_A = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

describe('a server that answers anything', function () {
  this.timeout(20_000);
  const server = new ScriptedServer();
  before(() => server.start());
  after(() => server.stop());

  const options = { server: '', token: async (): Promise<string> => 'a.b.c' };
  const answers =
    (body: unknown): Reply =>
    (_, response) =>
      void response.end(JSON.stringify(body));
  const sendsOn: Reply = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(1 << 20, ' ');
    const send = (): void => void (response.destroyed || response.write(piece, () => setImmediate(send)));
    send();
  };

  it('without end, or in pages without end, is left', async () => {
    const client = await JobClient.connect({ ...options, server: server.address });
    server.replies = [sendsOn];
    await assert.rejects(client.row('j'), /answers with more than \d+ bytes/);
    const rows = [{ id: 'j-1' }];
    server.replies = [answers({ rows, total: 1, open: 1, nextPageToken: 'more' })];
    assert.equal((await client.find({})).length, 1);
  });

  it('with other names than were asked for, the same ones again, or more bytes, is refused', async () => {
    const reader = createServerReader({ ...options, server: server.address });
    const object = (name: unknown): object => ({ name, size: 1, generation: '1', updatedAt: 1 });
    for (const name of ['jobs/k/x', '../x', 7]) {
      server.replies = [answers({ objects: [object(name)] })];
      await assert.rejects(reader.list('jobs/j/'), /where "jobs\/j\/"\* was asked for/);
    }
    server.replies = [answers({ objects: Array.from({ length: 1_000 }, (_, at) => object(`jobs/j/${1_000 + at}`)) })];
    await assert.rejects(reader.list('jobs/j/'), /the server lists "jobs\/j\/1000"/);
    server.replies = [(_, response) => response.end(Buffer.alloc(9 * 1024 * 1024))];
    await assert.rejects(reader.read('jobs/j/x'), /sends more of "jobs\/j\/x" than was asked for/);
  });
});
