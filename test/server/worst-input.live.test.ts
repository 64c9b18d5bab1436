import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatedApp } from './gated-app.js';
import { worst } from './schema-walk.js';
import { BUDGETS, type PARTS, type Route, ROUTES } from './server-routes.js';

/** As a comparison of each row with each other one: for three seconds, whatever the machine. */
function plantedLoop(): string {
  const begun = performance.now();
  while (performance.now() - begun < 3_000);
  return 'done';
}

/** Beside the machine's own share, which is measured without the load, before and after. */
const ANSWER_MS = 250;
const REPORT = join(tmpdir(), 'jobctl-worst-input.txt');

describe('the worst that a form lets in, sent to a server while others ask', function () {
  this.timeout(240_000);
  const table: { readonly form: string; readonly ms: number }[] = [];
  after(() => {
    const rows = table
      .toSorted((a, b) => b.ms - a.ms)
      .map(({ form, ms }) => `${ms.toFixed(1).padStart(9)} ms  ${form}`);
    writeFileSync(REPORT, `${rows.length} calls, the slowest first\n${rows.join('\n')}\n`);
  });
  let app: GatedApp;
  let tokens: readonly [mallory: string, alice: string];
  before(async () => {
    const limits = { requestsPerMinute: 1_000_000, submitsPerMinute: 1_000_000 };
    app = await GatedApp.start({
      limits,
      more: (app) => void app.get('/planted', { config: { isOpen: true } }, plantedLoop),
    });
    await app.addJob('mine', 'mallory@example.org', 'none');
    const tokenOf = (name: string) => app.issuer.token({ email: `${name}@example.org` });
    tokens = [await tokenOf('mallory'), await tokenOf('alice')];
    // The threads are there, and what is compiled at its first use.
    await Promise.all([...ROUTES.map((route) => callOf(route, 1_000)()), ask()]);
  });
  after(() => app?.stop());

  /** Made before anything is measured: this process is the client too. */
  function callOf({ method, path, schema }: Route, characters: number): () => Promise<number> {
    const valueOf = (part: (typeof PARTS)[number]): Record<string, unknown> =>
      schema[part] === undefined ? {} : (worst(schema[part], { characters }) as Record<string, unknown>);
    const filled = path.replace(':id', 'mine').replace(':pool', 'default').replace(/:\w+/g, 'x');
    const query = new URLSearchParams(
      Object.entries(valueOf('querystring')).map(([key, value]): [string, string] => [
        key,
        String(value).slice(0, 4_000),
      ]),
    );
    // It would be followed for ever, or waited for.
    query.delete('follow');
    if (query.has('timeoutMs')) query.set('timeoutMs', '1');
    const body = schema.body === undefined ? undefined : JSON.stringify(valueOf('body'));
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const init = { method, headers: { authorization: `Bearer ${tokens[0]}`, ...json }, ...(body && { body }) };
    return async () => (await fetch(`${app.urls[0]}${filled}?${query}`, init)).status;
  }

  /** One look of each kind, as another user; the longest, in ms. */
  async function ask(): Promise<number> {
    const headers = { authorization: `Bearer ${tokens[1]}`, 'content-type': 'application/json' };
    const looks: readonly (readonly [string, RequestInit])[] = [
      ['/healthz', {}],
      ['/v1/jobs?limit=10', { headers }],
      ['/v1/jobs', { method: 'POST', headers, body: JSON.stringify({ job: { tpu: {} } }) }],
    ];
    const times = looks.map(async ([path, init]) => {
      const begun = performance.now();
      await (await fetch(`${app.urls[0]}${path}`, init)).text();
      return performance.now() - begun;
    });
    return Math.max(...(await Promise.all(times)));
  }

  async function asked(until: () => boolean, least: number): Promise<number> {
    const times: number[] = [];
    while (!until() || times.length < least) times.push(await ask());
    return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
  }

  it('a call that holds up the others is seen', async () => {
    const share = await asked(() => true, 20);
    let isOver = false;
    const planted = fetch(`${app.urls[0]}/planted`).finally(() => (isOver = true));
    const loaded = await asked(() => isOver, 1);
    await planted;
    assert.ok(loaded >= ANSWER_MS + 4 * share, `${loaded} ms beside it, ${share} ms without`);
  });

  it('leaves their calls as quick as without it', async () => {
    const idleBefore = await asked(() => true, 20);
    let isOver = false;
    const calls = ROUTES.flatMap((each) => BUDGETS.map((most) => ({ each, most, call: callOf(each, most) })));
    const load = (async () => {
      for (const { each, most, call } of calls) {
        const begun = performance.now();
        const statuses = await Promise.all([call(), call(), call()]);
        table.push({
          form: `${each.method} ${each.path}, ${most} characters: three at once, answered ${statuses[0]}`,
          ms: performance.now() - begun,
        });
        assert.ok(!statuses.includes(500) || !/jobs$|plan$/.test(each.path), `${each.path}: ${statuses.join(' ')}`);
      }
      isOver = true;
    })();
    const loaded = await asked(() => isOver, 20);
    await load;
    const idleAfter = await asked(() => true, 20);
    const share = Math.max(idleBefore, idleAfter);
    assert.ok(
      loaded < ANSWER_MS + 4 * share,
      `${loaded} ms under load, ${idleBefore} ms before and ${idleAfter} ms after`,
    );
  });
});
