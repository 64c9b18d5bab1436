import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import * as buildForms from '../../contract/build-forms.js';
import type { Form } from '../../contract/form.js';
import * as jobForms from '../../contract/job-forms.js';
import { machinesInputForm } from '../../contract/machines.js';
import * as quotaForms from '../../contract/quota-forms.js';
import * as sliceForms from '../../contract/slice-forms.js';
import { registerHosts } from '../../server/routes/hosts.js';
import { registerJobChanges } from '../../server/routes/job-changes.js';
import { registerJobs } from '../../server/routes/jobs.js';
import { registerLogs } from '../../server/routes/logs.js';
import { registerObjects } from '../../server/routes/objects.js';
import { registerPools } from '../../server/routes/pools.js';
import { registerUploads } from '../../server/routes/uploads.js';
import { registerWho } from '../../server/routes/who.js';
import { slowness } from '../until.js';
import { GatedApp } from './gated-app.js';
import { unbounded, worst } from './schema-walk.js';

interface RouteSchema {
  readonly body?: z.core.$ZodType;
  readonly querystring?: z.core.$ZodType;
  readonly params?: z.core.$ZodType;
  readonly headers?: z.core.$ZodType;
}
interface Route {
  readonly method: string;
  readonly path: string;
  readonly schema: RouteSchema;
}
/** The most of a job, and of a body. */
const BUDGETS = [370_000, 950_000];
const PARTS = ['body', 'querystring', 'params', 'headers'] as const;

/** What the registering functions of the server tell a server of. */
function routesOfServer(): readonly Route[] {
  const found: Route[] = [];
  const tell = (method: string) => (path: string, options: { readonly schema?: RouteSchema }) =>
    void found.push({ method, path, schema: options.schema ?? {} });
  const anything: object = new Proxy({}, { get: () => anything });
  const app = {
    ...{ get: tell('GET'), post: tell('POST'), put: tell('PUT'), delete: tell('DELETE') },
    addContentTypeParser: () => undefined,
  };
  const limits = { submitsPerMinute: 1, uploadBytes: 1, directUploadBytes: 1, uploadBytesPerDay: 1 };
  const registers = [registerWho, registerJobs, registerJobChanges, registerHosts, registerLogs, registerObjects];
  for (const register of [...registers, registerUploads, registerPools])
    (register as (...words: unknown[]) => void)(app, anything, { limits, issuers: [], listen: {} });
  return found;
}

const ROUTES = routesOfServer();
const FORMS = Object.entries({ ...buildForms, ...jobForms, ...quotaForms, ...sliceForms, machinesInputForm }).filter(
  ([name]) => name.endsWith('Form'),
) as [string, Form<unknown>][];

/** As a comparison of each row with each other one: for three seconds, whatever the machine. */
function plantedLoop(): string {
  const begun = performance.now();
  while (performance.now() - begun < 3_000);
  return 'done';
}

/** Of one form that is checked, whatever becomes of it. A workflow task has 5 s before its script is stopped. */
const TASK_MS = 1_000;
/** Beside the machine's own share, which is measured without the load, before and after. */
const ANSWER_MS = 250;
const REPORT = join(tmpdir(), 'jobctl-worst-input.txt');

describe('the worst that a form lets in', function () {
  this.timeout(240_000);
  const table: { readonly form: string; readonly ms: number }[] = [];
  after(() => {
    const rows = table
      .toSorted((a, b) => b.ms - a.ms)
      .map(({ form, ms }) => `${ms.toFixed(1).padStart(9)} ms  ${form}`);
    writeFileSync(REPORT, `${rows.length} forms, the slowest first\n${rows.join('\n')}\n`);
  });

  it('is told for each route of the server', () => {
    assert.ok(ROUTES.length >= 30, String(ROUTES.length));
    assert.ok(FORMS.length >= 20, String(FORMS.length));
  });

  for (const { method, path, schema } of ROUTES)
    it(`${method} ${path}: every field has a most`, () =>
      assert.deepEqual(
        PARTS.flatMap((part) => (schema[part] === undefined ? [] : unbounded(schema[part], part))),
        [],
      ));

  for (const { method, path, schema } of ROUTES)
    for (const characters of BUDGETS)
      it(`${method} ${path}: the form lets in what is made of it, of ${characters} characters`, () => {
        for (const part of PARTS) {
          const form = schema[part] as z.ZodType | undefined;
          const refused = form?.safeParse(worst(form, { characters })).error?.issues.slice(0, 2) ?? [];
          assert.deepEqual(refused, [], part);
        }
      });

  it('a field without a most is seen, wherever it stands', () => {
    const inner = z.object({ list: z.array(z.string().max(3)), any: z.unknown().optional() });
    const planted = z.strictObject({ text: z.string(), few: z.record(z.string().max(2), inner).nullish() });
    assert.deepEqual(unbounded(planted, 'body'), [
      'body.text: text',
      'body.few: keys',
      'body.few{}.list: list',
      'body.few{}.any: any value',
    ]);
    assert.deepEqual(unbounded(z.string().regex(/^[\w.]{1,5}$/)), []);
    assert.deepEqual(unbounded(z.string().regex(/^[\w.]+$/)), [': text']);
  });

  /** Milliseconds of the process's own computing: the least of three, since what runs beside it makes a processor slower too. */
  function cpuMs(work: () => unknown): number {
    const once = (): number => {
      const begun = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1_000;
    };
    return Math.min(once(), once(), once());
  }

  /** What is not bounded field by field is bounded by the whole: each of these is as large as the form takes. */
  function largestOf({ bounds: { characters, values, levels } }: Form<unknown>): readonly unknown[] {
    const [half, many] = [Math.floor(characters / 2), Math.floor(values / 4)];
    return [
      { v: 1, by: 'x'.repeat(characters - 10) },
      { v: 1, [`${'y'.repeat(half)}`]: 1, set: [{ path: ['x'.repeat(200)], value: 'x'.repeat(half - 500) }], by: 'a' },
      Object.fromEntries(Array.from({ length: many }, (_, at) => [`k${at}`, { kind: 'x' }])),
      { v: 1, by: 'a', hosts: Array.from({ length: many }, (_, index) => ({ reach: 'ssh', index, internalIp: '1' })) },
      {
        name: 'a',
        run: 'b',
        news: { kind: 'ready', uid: 'u', hosts: Array.from({ length: many }, () => ({ reach: 'ssh' })) },
      },
      Array.from({ length: levels - 1 }).reduce<unknown>((inner) => ({ carry: inner }), 1),
    ];
  }

  for (const [name, form] of FORMS)
    it(`${name}: is checked within ${TASK_MS} ms of computing`, () => {
      const ms = Math.max(...[worst(form.schema), ...largestOf(form)].map((value) => cpuMs(() => form(value))));
      table.push({ form: name, ms });
      assert.ok(ms < TASK_MS * slowness(), `${ms} ms`);
    });

  it('a loop that takes the square of what it is given is seen', () => {
    const rows = largestOf(quotaForms.leaseMessageForm)[2] ?? {};
    const keys = Object.keys(rows).slice(0, 25_000);
    const ms = cpuMs(() => keys.map((key) => keys.filter((other) => other > key).length));
    assert.ok(ms > TASK_MS, `${ms} ms`);
  });

  describe('sent to a server, while others ask', () => {
    let app: GatedApp;
    let tokens: readonly [mallory: string, alice: string];
    before(async () => {
      const limits = { requestsPerMinute: 1_000_000, submitsPerMinute: 1_000_000 };
      app = await GatedApp.start(128, {
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
});
