import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { FORMS } from '../../contract/api/forms.js';
import { OPERATIONS } from '../../contract/operations.js';
import { ManifestWrong, type OutputEntry, readManifest } from '../../domain/stored-outputs.js';
import { packState } from '../../quota/published-state.js';
import { pageText, quotedWords } from '../docs/tables.js';
import { lease, pool, project, request } from '../quota/builders.js';
import { JOB_REQUESTS, JOB_VERBS } from '../../contract/job-requests.js';
import { SAMPLE_BODIES } from '../contract/sample-bodies.js';
import { answerOf, shapeOf } from './answers.js';
import { askCore, type PythonKey } from './ask-core.js';
import { pythonRoutes, ROUTES_FILE } from '../../scripts/python-routes.js';
import { NOT_CALLED, type Route, routeOf } from './routes.js';

const { explainedSchema, hostAccessSchema, objectsSchema, openSlicesSchema, outcomeSchema } = FORMS;
/** Forms with an id that the client gives nobody, and one that has another name there. */
const NOT_HERE = ['LogAttemptEnd', 'LogEnd', 'LoginSettings', 'PoolState', 'ScheduleWish', 'Submission'];
/** The Python class of each answer, and of each part of one: those with an id are called by it. */
const MODELS: Readonly<Record<string, z.ZodType>> = {
  ...Object.fromEntries([...z.globalRegistry._idmap].filter(([id]) => !NOT_HERE.includes(id))),
  AttemptEnd: FORMS.logAttemptEndSchema,
  OutcomeCause: outcomeSchema.shape.cause.unwrap(),
  OpenSlices: openSlicesSchema,
  AccessHost: hostAccessSchema.shape.hosts.element,
  Objects: objectsSchema,
  Schedules: FORMS.schedulesSchema,
  UploadTarget: FORMS.uploadsSchema.shape.files.element,
  Uploads: FORMS.uploadsSchema,
  AccessRow: explainedSchema.shape.rows.element,
  SecretName: FORMS.secretNamesSchema.shape.secrets.element,
  SecretNames: FORMS.secretNamesSchema,
  AuditLines: FORMS.auditLinesSchema,
};
/** Requests to a job: edits, which read a job file, have their calls in core.py. */
const REQUESTS = Object.fromEntries(
  JOB_VERBS.filter((verb) => verb !== 'resume' && verb !== 'restart').map((verb) => {
    const { from: _, ...keys } = SAMPLE_BODIES[verb];
    return [JOB_REQUESTS[verb].access, keys];
  }),
);
/** Its `waiting` is no part of the contract. */
const WITHOUT_SCHEMA = ['Why'];

describe('the core of the Python client', function () {
  this.timeout(60_000);

  it('does no I/O of its own', () => assert.deepEqual(askCore({}).imported, []));

  it('has an exception for each code of an error', () =>
    assert.deepEqual(askCore({}).codes.toSorted(), [...FORMS.ERROR_CODES].toSorted()));

  it('has the routes of the contract, as their script writes them: `npx tsx scripts/write-python.ts`', () =>
    assert.equal(readFileSync(new URL(`../../${ROUTES_FILE}`, import.meta.url), 'utf8'), pythonRoutes()));

  it('calls each operation, or names it as none of its own', () => {
    const called = new Set(askCore({ requests: REQUESTS }).requests.map((one) => routeOf(one).name));
    assert.deepEqual([...called, ...NOT_CALLED].toSorted(), Object.keys(OPERATIONS).toSorted());
  });

  it('has the methods that docs/python.md lists', () => {
    const [, section = ''] = pageText('docs/python.md').split('\n## Methods\n');
    const listed = quotedWords(section.split('. ')[0] ?? '');
    const methods = [...pageText('python/src/jobctl/client.py').matchAll(/^ {4}def ([a-z]\w*)/gm)].map(
      ([, name = '']) => name,
    );
    assert.deepEqual(listed.toSorted(), methods.filter((name) => name !== 'close').toSorted());
  });

  describe('has the types of the contract:', () => {
    const { models } = askCore({});
    it('a class for each answer', () =>
      assert.deepEqual(Object.keys(models).toSorted(), [...Object.keys(MODELS), ...WITHOUT_SCHEMA].toSorted()));

    for (const [name, schema] of Object.entries(MODELS))
      it(name, () => assert.deepEqual(models[name], keysOf(schema, models[name] ?? {})));
  });

  it('reads every key of every answer, and takes answers without those that may be missing', () => {
    const answers = Object.fromEntries(
      Object.entries(MODELS).map(([name, schema]) => [
        name,
        (['all', 'required'] as const).map((keys) => answerOf(shapeOf(schema), keys)),
      ]),
    );
    const { decoded } = askCore({ decode: answers });
    // What is false if it is not sent.
    const wanted = answers as Record<string, object[]>;
    wanted['LogStretch']?.splice(1, 1, { ...wanted['LogStretch'][1], isLostTail: false });
    assert.deepEqual(decoded, wanted);
  });

  it('sends what the contract takes, with every key that it has', () => {
    const { requests } = askCore({ requests: REQUESTS });
    const sent = new Map<string, Set<string> & { readonly of?: Route }>();
    for (const one of requests) {
      const route = routeOf(one);
      const { name, query, body, headers } = route;
      const keys = sent.get(name) ?? Object.assign(new Set<string>(), { of: route });
      sent.set(name, keys);
      if (query) query.strict().parse(one.query);
      else assert.deepEqual(one.query, {}, name);
      if (body) body.parse(one.body);
      else assert.equal(one.body, null, name);
      headers?.parse(one.headers);
      for (const key of [...Object.keys(one.query), ...Object.keys(one.body ?? {})]) keys.add(key);
    }
    for (const [name, keys] of sent) {
      const { query, body, unsent = [] } = keys.of ?? {};
      const known = [...Object.keys(query?.shape ?? {}), ...Object.keys(body?.shape ?? {})];
      assert.deepEqual([...keys, ...unsent].toSorted(), known.toSorted(), name);
    }
  });

  it('has a key of idempotency for a submit without a name, and none for one with', () => {
    const submits = askCore({}).requests.filter(({ method, path }) => method === 'POST' && path === '/v1/jobs');
    const have = submits.map(({ body, headers }) => [(body as { name?: string }).name, 'idempotency-key' in headers]);
    assert.deepEqual(have, [
      [undefined, true],
      ['a-1', false],
    ]);
  });

  it('reads and refuses the same manifests of outputs as jobctl does', () => {
    const texts = fc.sample(manifests, { numRuns: 3_000, seed: 7 });
    const ours = texts.map(ourReading);
    const isRefused = (one: unknown): boolean => one === 'refused';
    const refused = ours.filter(isRefused).length;
    assert.ok(refused > 300 && refused < 2_700, `${refused} of ${texts.length} are refused: the others show nothing`);
    const theirs = askCore({ manifests: texts.map((text) => Buffer.from(text, 'latin1').toString('base64')) });
    const read = theirs.manifests.map((one) => ('refused' in (one as object) ? 'refused' : one));
    for (const [index, one] of ours.entries()) assert.deepEqual(read[index], one, JSON.stringify(texts[index]));
  });

  it("unpacks a pool's state", () => {
    const at = 1_795_000_000_000;
    const run = '0190a0b0-1111-7222-8333-444455556666';
    const view = {
      config: pool({ v4: 64 }, project('a', { v4: 32 })),
      requests: [
        request(`train-1/${run}/3`, { v4: 8 }, { submittedAt: at - 5_000, waitingSince: at - 4_000, isVerified: true }),
      ],
      leases: [
        lease(`train-2/${run}/1`, { v4: 16 }, { submittedAt: at - 9_000, startedAt: at - 8_000, tier: 1 }),
        lease('plain', { v4: 8 }, { state: 'parked', zone: 'us-central2-b', pricing: 'spot' }),
      ],
    };
    const snapshot = { pool: 'default', at, epoch: 3, admission: 'frozen', admissionReason: 'why', view } as const;
    const { requests, leases, ...head } = askCore({ pool: JSON.parse(JSON.stringify(packState(snapshot))) as unknown })
      .pool as { readonly requests: readonly object[]; readonly leases: readonly object[] };
    assert.deepEqual(head, { pool: 'default', at, admission: 'frozen', admissionReason: 'why', config: view.config });
    assert.deepEqual(requests, view.requests.map(withJob));
    // Not of interest outside of the pool.
    assert.deepEqual(
      leases,
      view.leases.map(withJob).map(({ heldMs: _, askingSince: __, ...one }) => one),
    );
  });
});

const withJob = <T extends { readonly id: string; readonly isVerified?: true }>({ id, ...rest }: T) => ({
  job: id.split('/')[0],
  isVerified: false,
  ...(rest as Partial<Record<'heldMs' | 'askingSince', unknown>>),
});

function keysOf(schema: z.ZodType, present: Readonly<Record<string, PythonKey>>) {
  const { properties = {}, required = [] } = shapeOf(schema);
  const keys = Object.entries(properties).map(([key, { type = 'any', enum: words, const: word }]) => {
    const kind = word !== undefined ? 'string' : typeof type === 'string' ? type : type[0];
    // Words are compared if the client names any.
    const named = present[key]?.words === undefined ? {} : { words };
    return [key, { isRequired: required.includes(key), kind, ...named }] as const;
  });
  return Object.fromEntries(keys);
}

const sha256 = 'ab'.repeat(32);
const names = fc.constantFrom(
  ...['a', 'b/c', 'b/c/d', '../x', '/etc/x', 'a//b', './a', 'a/..', '', '\0', '..', '.', 'Ã©', 'Ã', '\u{1f600}', 'a'],
  ...['b-', 'b/c-', 'x'.repeat(256), 'x'.repeat(255), 'x/'.repeat(2500).concat('x'), `${'Ã©'.repeat(128)}`],
);
const odd = fc.constantFrom<unknown>(
  ...[null, true, 1, -1, 1.5, '1', [], {}, 0o644, '0644', '777', '999', '77777', 'rwx', 1e300, -1],
);
const times = fc.constantFrom<unknown>(0, 1.5, 1_795_000_000.0006, 'now', null, true);
const entry = fc.oneof(
  { weight: 6, arbitrary: fc.record({ path: names, sha256: fc.constant(sha256), size: fc.nat(9), mtime: times }) },
  fc.record({ path: names, sha256: fc.constant(sha256), size: odd, mtime: fc.constant(1) }),
  fc.record({ path: names, sha256: fc.oneof(fc.constant(sha256), odd), size: fc.nat(9), mtime: times, mode: odd }),
  fc.record({ path: names, link: fc.oneof(names, odd, fc.constantFrom('../b', '../../x', 'c/../d')) }),
  fc.record({ path: fc.oneof(names, odd), folder: fc.boolean() }),
);
const header = fc.record({
  v: fc.oneof({ weight: 20, arbitrary: fc.constant<unknown>(1) }, odd),
  state: fc.oneof({ weight: 20, arbitrary: fc.constantFrom<unknown>('running', 'ended') }, odd),
  at: fc.constant(1_000),
  bytes: fc.constant(5),
  problems: fc.oneof(fc.constant(['Ã©: gone', 1]), odd),
});
/** What hosts write, and what nobody but an attacker does. */
const manifests = fc
  .tuple(header, fc.array(entry, { maxLength: 3 }), fc.constantFrom('\n', '\n\n'), fc.integer({ min: 0, max: 40 }))
  .map(([first, entries, newline, cut]) => {
    const files = entries.filter((one) => 'sha256' in one).length;
    const text = [{ ...first, files }, ...entries].map((one) => JSON.stringify(one)).join(newline);
    return cut === 0 ? text.slice(0, -3) : text;
  });

function ourReading(text: string): unknown {
  try {
    const { state, entries, problems } = readManifest(Buffer.from(text, 'latin1'));
    return { state, entries: entries.map(entryOf), problems };
  } catch (error) {
    assert.ok(error instanceof ManifestWrong, String(error));
    return 'refused';
  }
}

function entryOf(one: OutputEntry): unknown {
  if (one.kind === 'folder') return { kind: 'OutputFolder', path: one.path };
  if (one.kind === 'link') return { kind: 'OutputLink', path: one.path, target: one.target };
  const { path, size, modifiedAt, mode } = one;
  return { path, sha256: one.sha256, size, modified_at: modifiedAt, mode };
}
