import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import {
  logChunkObject,
  logPrefix,
  poolHistoryObject,
  poolLineObject,
  poolStateObject,
} from '../../domain/store-layout.js';
import { packState } from '../../quota/published-state.js';
import { explainedLine } from '../../quota/waiting-line.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { FORMS } from '../../contract/api/forms.js';
import { busyPool } from '../cli/pools.js';
import { eventsOf } from './event-stream.js';
import { GatedApp } from './gated-app.js';

const DIST = fileURLToPath(new URL('../../dist/ui/', import.meta.url));
/** Of the first view: what index.html names, and what these import. */
const MOST_PACKED = 300_000;

describe('the page of jobctl serve', function () {
  this.timeout(60_000);
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('mine', 'alice@example.org', 'vision', { phase: 'queued', why: 'waits for quota' });
  });
  after(() => app?.stop());

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${app.urls[0]}${path}`, { headers, redirect: 'manual' });

  it('may call this server alone, and is put into no frame', async () => {
    const { status, headers } = await get('/ui/');
    assert.equal(status, 200);
    const policy = headers.get('content-security-policy') ?? '';
    for (const rule of [
      ...[
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ],
      ...["base-uri 'none'", "form-action 'none'", "trusted-types 'none'"],
    ])
      assert.ok(policy.split('; ').includes(rule), `${rule}: ${policy}`);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.deepEqual(
      ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'cache-control'].map((name) =>
        headers.get(name),
      ),
      ['nosniff', 'DENY', 'no-referrer', 'no-cache'],
    );
  });

  it('has no script and no style inside of its HTML, and names no other host', () => {
    const html = readFileSync(join(DIST, 'index.html'), 'utf8');
    assert.doesNotMatch(html, /<style|style=|javascript:|\son\w+=|https?:/i);
    for (const [, inside = ''] of html.matchAll(/<script[^>]*>([^<]*)/g)) assert.equal(inside.trim(), '');
  });

  it('is small', () => {
    const html = readFileSync(join(DIST, 'index.html'), 'utf8');
    const first = new Set([...html.matchAll(/\/ui\/([\w.-]+)/g)].map(([, name = '']) => name));
    for (const name of first)
      for (const [, imported = ''] of readFileSync(join(DIST, name), 'utf8').matchAll(/from ?"\.\/([\w.-]+)"/g))
        first.add(imported);
    const sizes = [...first].map((name) => gzipSync(readFileSync(join(DIST, name)), { level: 9 }).length);
    const sum = sizes.reduce((all, size) => all + size, 0);
    assert.ok(first.size >= 3 && sum > 20_000, `${[...first].join(', ')} are not the page`);
    assert.ok(sum <= MOST_PACKED, `${sum} bytes packed, more than ${MOST_PACKED}: ${[...first].join(', ')}`);
  });

  it('has the licenses of what is in it', () => {
    const notices = readFileSync(join(DIST, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const name of [
      'react',
      'react-dom',
      '@tanstack/react-query',
      '@tanstack/react-virtual',
      'uplot',
      'eventsource-parser',
    ])
      assert.match(notices, new RegExp(`^${name.replaceAll('/', '\\/')} \\d`, 'm'), name);
  });

  it('gives its files packed, for good, and each screen the same HTML', async () => {
    const script = readdirSync(DIST).find((name) => /^page-.*\.js$/.test(name)) ?? '';
    const file = await get(`/ui/${script}`, { 'accept-encoding': 'gzip' });
    assert.equal(file.headers.get('content-encoding'), 'gzip');
    assert.match(file.headers.get('cache-control') ?? '', /immutable/);
    assert.match(file.headers.get('content-type') ?? '', /^text\/javascript/);
    assert.equal((await get('/ui')).headers.get('location'), '/ui/');
    for (const path of ['/ui/jobs/train-7f3k?tab=log', '/ui/pools/a', '/ui/jobs/%3Cscript%3E'])
      assert.match(await (await get(path)).text(), /<div id="page"><\/div>/, path);
  });

  it('has nothing else below its path', async () => {
    for (const path of [
      '/ui/page-AAAAAAAA.js',
      '/ui/..%2fpackage.json',
      '/ui/%2e%2e/package.json',
      '/ui/....//....//etc/passwd',
    ]) {
      const answer = await get(path);
      const text = await answer.text();
      assert.doesNotMatch(text, /"dependencies"|root:/, path);
      assert.ok(answer.status === 404 || text.includes('<div id="page">'), path);
    }
  });

  it('is not answered for another Host', async () => {
    const { request } = await import('node:http');
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const url = new URL(`${app.urls[0]}/ui/`);
      request(url, { headers: { host: 'evil.example' } }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end();
    });
    assert.equal(status, 403);
  });

  it('needs a token for what it shows: a cookie is none, and a call of another site is refused', async () => {
    const token = await app.issuer.token({ email: 'alice@example.org' });
    assert.equal((await get('/v1/board', { cookie: `jobctl.token=${token}` })).status, 401);
    assert.equal(
      (await get('/v1/board', { authorization: `Bearer ${token}`, origin: 'https://evil.example' })).status,
      403,
    );
    assert.equal((await get('/v1/board', { authorization: `Bearer ${token}` })).status, 200);
  });

  it('is told what it has already, and what it has not', async () => {
    const token = await app.issuer.token({ email: 'alice@example.org' });
    const ask = (tag?: string): Promise<Response> =>
      get('/v1/board?limit=99', { authorization: `Bearer ${token}`, ...(tag && { 'if-none-match': tag }) });
    for (let job = 0; job < 5; job++) await app.addJob(`more-${job}`, 'alice@example.org', 'vision');
    const first = await ask();
    const tag = first.headers.get('etag') ?? assert.fail('no tag');
    const same = await ask(tag);
    assert.deepEqual([same.status, await same.text()], [304, '']);
    assert.equal((await ask('"other"')).status, 200);
    const refused = await get('/v1/board', { 'if-none-match': tag });
    assert.equal(refused.status, 401);
  });

  describe('a board', () => {
    const state = busyPool();
    const [first, second] = state.view.requests.map(({ id }) => jobOfLeaseKey(id));
    before(async () => {
      for (const id of [first, second]) await app.addJob(id ?? '', 'bob@example.org', 'vision', { phase: 'queued' });
      const steps = explainedLine(state);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      await app.store.replace(poolLineObject('default'), JSON.stringify(step.value), 'application/json');
      await app.store.replace(poolStateObject('default'), JSON.stringify(packState(state)), 'application/json');
    });

    it('has jobs in their order, with the place and the reason of those that wait', async () => {
      const { status, text, body } = await app.call('zoe', 'GET', '/v1/board?limit=50');
      assert.equal(status, 200, text);
      const { rows } = FORMS.boardSchema.parse(body);
      const waiting = rows.filter(({ place }) => place !== undefined);
      assert.ok(waiting.some(({ id }) => id === first) && waiting.some(({ id }) => id === second));
      assert.deepEqual(
        waiting.map(({ place }) => place?.position),
        waiting.map(({ place }) => place?.position).toSorted((a = 0, b = 0) => a - b),
      );
      assert.ok(waiting.every(({ place }) => place !== undefined && place.why !== ''));
      const [one] = rows.filter(({ phase }) => phase === 'running');
      assert.ok(one !== undefined && rows.indexOf(one) < rows.findIndex(({ phase }) => phase === 'queued'));
    });

    it('of a wrong filter is refused, with what is wrong', async () => {
      for (const query of ['phase=sleeping', 'limit=0', 'limit=9999', 'user=a%0ab', 'name=%00'])
        assert.equal((await app.call('zoe', 'GET', `/v1/board?${query}`)).status, 400, query);
    });

    it('says why a job waits in the words of the command line', async () => {
      const { body, text } = await app.call('zoe', 'GET', `/v1/jobs/${second}/why`);
      const { words } = FORMS.whySchema.parse(body);
      assert.match(words?.head ?? '', new RegExp(`^${second} waits for .*(1st|2nd|3rd|\\dth) of \\d+ in line`), text);
      assert.ok((words?.reasons.length ?? 0) > 0);
      assert.doesNotMatch(JSON.stringify(words), /[0-9a-f]{8}-[0-9a-f]{4}-/, 'a lease is not the name of a job');
    });

    it('has who uses a pool, and a pool that nobody published is not there', async () => {
      const { body, text, status } = await app.call('zoe', 'GET', '/v1/pools/default/use');
      assert.equal(status, 200, text);
      const use = FORMS.poolUseSchema.parse(body);
      assert.equal(use.jobs.length, state.view.leases.length);
      assert.equal(use.waiting.length, state.view.requests.length);
      assert.ok(use.projects.length > 0 && use.users.length > 0);
      assert.equal((await app.call('zoe', 'GET', '/v1/pools/other/use')).status, 404);
    });

    it('tells the last day of a pool, with what is not known as gaps, and what is reserved', async () => {
      const to = Date.now();
      const whose = { job: 'old', lease: 1, project: 'vision', user: 'alice', tier: 0, units: { v4: 16 } };
      const lines = [
        { at: to - 4 * 3_600_000, kind: 'granted', ...whose, since: to - 5 * 3_600_000 },
        { at: to - 2 * 3_600_000, kind: 'freed', ...whose },
        { at: to - 3_600_000, kind: 'applied', by: 'olga', reason: 'quota.toml' },
      ];
      const day = new Date(to - 4 * 3_600_000).toISOString().slice(0, 10);
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      await app.store.replace(poolHistoryObject('recent', day, '1-00000000'), text, 'application/jsonl');
      const now = packState({ ...state, pool: 'recent', at: to });
      await app.store.replace(poolStateObject('recent'), JSON.stringify(now), 'application/json');
      const answer = await app.call('zoe', 'GET', '/v1/pools/recent/history');
      assert.equal(answer.status, 200, answer.text);
      const { series, gaps, calls, everyMs, from } = FORMS.poolHistorySchema.parse(answer.body);
      const vision = series.find(({ project, type }) => project === 'vision' && type === 'v4');
      const at = (hoursAgo: number): number => Math.floor((to - hoursAgo * 3_600_000 - from) / everyMs);
      assert.equal(vision?.held.length, 288);
      assert.equal(vision.held[at(20)], null, 'before the first line');
      assert.ok((vision.held[at(3)] ?? 0) - (vision.held[at(1.5)] ?? 0) === 16, JSON.stringify(vision.held));
      assert.match(gaps[0]?.why ?? '', /nothing of before/);
      assert.deepEqual(
        calls.map(({ kind, by }) => [kind, by]),
        [['applied', 'olga']],
      );
      for (const since of [to + 60_000, to - 8 * 86_400_000])
        assert.equal((await app.call('zoe', 'GET', `/v1/pools/recent/history?since=${since}`)).status, 422, `${since}`);
      assert.equal((await app.call('zoe', 'GET', '/v1/pools/other/history')).status, 404);
      const stale = FORMS.poolHistorySchema.parse((await app.call('zoe', 'GET', '/v1/pools/default/history')).body);
      assert.match(stale.gaps.at(-1)?.why ?? '', /no worker has published/);
      const use = FORMS.poolUseSchema.parse((await app.call('zoe', 'GET', '/v1/pools/recent/use')).body);
      assert.equal(use.reservations?.length, state.view.memory?.reservations.length ?? 0);
    });

    it('has the members of a group with their parameters, for whoever may read the job file', async () => {
      const { body, text } = await app.call('alice', 'GET', '/v1/groups/mine/members');
      const { members, axes } = FORMS.groupMembersSchema.parse(body);
      assert.deepEqual(axes, ['n'], text);
      assert.deepEqual(
        members.map(({ id, state: is, values }) => [id, is, values['n']]),
        [
          ['mine-0', 'succeeded', 1],
          ['mine-1', 'failed', 2],
        ],
      );
      assert.equal((await app.call('mallory', 'GET', '/v1/groups/mine/members')).status, 403);
    });
  });

  describe('a log from its end', () => {
    const put = (host: string, offset: number, text: string): Promise<unknown> =>
      app.store.replace(logChunkObject(logPrefix('mine', 1, 'command'), host, offset), text, 'text/plain');
    before(async () => {
      app.rows.set('mine', { ...app.rows.get('mine')!, phase: 'succeeded', endedAt: 2, chips: 2, attempts: 1 });
      await put('0', 0, 'one\ntwo\nthree\n');
      await put('1', 0, 'eins\n');
      await put('1', 5, 'zwei\ndrei\n');
      // Of no host of the job: whoever writes the bucket made it up.
      await put('900', 0, 'forged\n');
    });

    it('is as long as was asked for, of each host, and says where it begins', async () => {
      const token = await app.issuer.token({ email: 'alice@example.org' });
      const answer = await get('/v1/jobs/mine/logs?follow=true&tail=2', { authorization: `Bearer ${token}` });
      const stretches: Stretch[] = [];
      for await (const { name, data } of eventsOf(answer))
        if (name === 'stretch') stretches.push(data as unknown as Stretch);
      const texts = stretches.map(({ host, offset, bytes }) => [host, offset, Buffer.from(bytes, 'base64').toString()]);
      assert.deepEqual(
        texts.toSorted(([a], [b]) => Number(a) - Number(b)),
        [
          [0, 4, 'two\nthree\n'],
          [1, 5, 'zwei\ndrei\n'],
        ],
      );
    });

    it('is text without `follow`', async () => {
      const { text } = await app.call('alice', 'GET', '/v1/jobs/mine/logs?tail=1&host=0');
      assert.equal(text, 'three\n');
    });

    it('is not for others', async () =>
      assert.equal((await app.call('mallory', 'GET', '/v1/jobs/mine/logs?tail=1')).status, 403));
  });
});

interface Stretch {
  readonly host: number;
  readonly offset: number;
  readonly bytes: string;
}
