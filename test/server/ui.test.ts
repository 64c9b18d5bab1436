import assert from 'node:assert/strict';
import { OPERATIONS, type OperationName } from '../../contract/operations.js';
import type { JobClient } from '../../client/job-client.js';
import type { StorePort } from '../../cloud/store/port.js';
import type * as RunUi from '../../server/run-ui.js';
import { load } from '../built.js';
import { MapStore } from '../cli/map-store.js';

const ROW = {
  id: 'a-1',
  user: 'bob',
  project: '-',
  pool: 'default',
  slice: 'v5litepod-1',
  phase: 'running',
  attempts: 1,
};

describe('jobctl ui, which serves the page to one person', function () {
  this.timeout(60_000);
  let running: RunUi.RunningUi;
  const told: unknown[] = [];
  before(async () => {
    const { startUi } = await load<typeof RunUi>('server/run-ui');
    const client = {
      row: async () => ({ ...ROW, phaseSince: 1, submittedAt: 1 }),
      find: async () => [],
      count: async () => ({ total: 0, open: 0, ended: {} }),
      cancel: async (id: string, asker: object) => (told.push([id, asker]), 'cancelling'),
    } as unknown as JobClient;
    running = await startUi({
      client,
      store: Object.assign(new MapStore(), { uploadUrl: () => '' }) as unknown as StorePort,
      user: 'ann',
      port: 0,
    });
  });
  after(() => running?.close());

  const call = async (
    method: string,
    path: string,
    token = '',
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(`${running.url}${path}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      text,
      body: JSON.parse(text || '{}') as { readonly token?: string; readonly id?: string },
    };
  };
  const codeOf = (link: string): string => /#open=([\w-]+)$/.exec(link)?.[1] ?? assert.fail(link);
  const exchange = (code: string) => call('POST', '/v1/page-session', '', { code });
  const opened = async (): Promise<string> =>
    (await exchange(codeOf(running.link()))).body.token ?? assert.fail('no token');

  it('gives a token for the code of its link, once, and not for an older link', async () => {
    const [older, link] = [running.link(), running.link()];
    assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/ui\/#open=/);
    assert.equal((await exchange(codeOf(older))).status, 401);
    const { status, body } = await exchange(codeOf(link));
    assert.equal(status, 200);
    assert.equal((await call('GET', '/v1/whoami', body.token)).body.id, 'ann');
    const again = await exchange(codeOf(link));
    assert.equal(again.status, 401);
    assert.match(again.text, /used before/);
  });

  it('answers nobody without the token', async () => {
    for (const token of ['', 'ui.x.', `ui.${'A'.repeat(43)}.`, 'a.b.c'])
      assert.equal((await call('GET', '/v1/board', token)).status, 401, token);
    assert.equal((await exchange('A'.repeat(43))).status, 401);
    assert.equal((await exchange('short')).status, 400);
  });

  it('acts in the name of who started it, and for no page of another site', async () => {
    const token = await opened();
    assert.equal((await call('GET', '/v1/board', token)).status, 200);
    assert.equal((await call('GET', '/v1/jobs/a-1', token)).body.id, 'a-1');
    assert.equal(
      (await call('POST', '/v1/jobs/a-1/cancel', token, {}, { origin: 'https://evil.example' })).status,
      403,
    );
    assert.deepEqual(told, []);
    assert.equal((await call('POST', '/v1/jobs/a-1/cancel', token, {}, { origin: running.url })).status, 200);
    assert.deepEqual(told, [['a-1', { by: 'ann' }]]);
    const { text } = await call('GET', '/v1/access/explain?job=a-1&verb=cancel', token);
    assert.match(text, /"isAllowed":true/);
  });

  it('has no call that submits, uploads, or gives a key or a secret away', async () => {
    const token = await opened();
    const never: readonly OperationName[] = [
      ...(['submit', 'uploads', 'completeUpload', 'uploadContent', 'hostAccess', 'secretNames', 'audit'] as const),
      ...([
        'createSchedule',
        'quotaApply',
        'admission',
        'quotaRelease',
        'delete',
        'login',
        'beginLogin',
        'endLogin',
      ] as const),
    ];
    for (const name of never) {
      const [method = '', path = ''] = OPERATIONS[name].call.split(' ');
      const { status } = await call(method, path.replace(':id', 'a-1').replace(':pool', 'p'), token);
      assert.equal(status, 404, name);
    }
  });
});
