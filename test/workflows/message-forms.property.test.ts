import assert from 'node:assert/strict';
import fc from 'fast-check';
import { z } from 'zod';
import * as buildForms from '../../contract/build.js';
import * as jobForms from '../../contract/job-forms.js';
import * as quotaForms from '../../contract/quota-forms.js';
import * as sliceForms from '../../contract/slice.js';
import type { LeaseMessage } from '../../domain/lease.js';
import { MACHINE_KINDS, machineKind } from '../../domain/machines.js';
import { decide } from '../../quota/decide.js';
import { packState } from '../../quota/published-state.js';
import { poolDetails } from '../../workflows/quota/queries.js';
import { LeaseBook } from '../../workflows/quota/lease-book.js';
import { toLease, toRequest } from '../../workflows/quota/lease-row.js';
import { packBook, unpackBook } from '../../workflows/quota/packed-book.js';
import { DEMAND, JOB, ref, register, release, request } from './lease-messages.js';

const forms = Object.entries({ ...buildForms, ...jobForms, ...quotaForms, ...sliceForms }).flatMap(([name, form]) =>
  name.endsWith('Form') ? [[name, form as (value: unknown) => { readonly kind: string }] as const] : [],
);

const BODIES: readonly LeaseMessage['body'][] = [
  request,
  {
    kind: 'request',
    demand: DEMAND,
    heldSince: 5,
    slices: [ref('s1')],
    zone: 'z',
    tier: 0,
    isParked: true,
    askedAt: 1,
  },
  release('s1'),
  register('s1'),
  { kind: 'slice', ref: ref('s1'), isBeside: true, asks: { accelerator: 'v4-8', pricing: 'spot' } },
  { kind: 'slice', ref: ref('s1'), isPlaceKept: true },
  { kind: 'gone' },
  { kind: 'gone', refused: { scope: 'zone', message: 'no more capacity' } },
  { kind: 'chips', isPreempted: true },
  { kind: 'chips', zone: 'z' },
  { kind: 'chips' },
  { kind: 'parked', isParked: true },
];

/** What breaks code that reads it unchecked. */
const odd = fc.oneof(
  fc.constantFrom(
    null,
    '',
    '__proto__',
    '\ud800',
    'a/b',
    -1,
    1.5,
    1e300,
    Number.MAX_SAFE_INTEGER,
    {},
    [],
    [null],
    true,
  ),
  fc.anything(),
);

/** A message of ours in which one value, at any depth, is another. */
const nearly = fc
  .tuple(fc.constantFrom(...BODIES), fc.nat(40), odd)
  .map(([body, at, value]) => replaced({ lease: JOB, sender: 'job', sequence: 3, body }, { left: at }, value));

function replaced(whole: unknown, at: { left: number }, value: unknown): unknown {
  if (at.left-- === 0) return value;
  if (Array.isArray(whole)) return whole.map((each) => replaced(each, at, value));
  if (typeof whole !== 'object' || whole === null) return whole;
  return Object.fromEntries(Object.entries(whole).map(([key, each]) => [key, replaced(each, at, value)]));
}

describe('the forms of messages', () => {
  it('hold what our own senders say', () => {
    for (const body of BODIES)
      assert.equal(
        quotaForms.leaseMessageForm({ lease: JOB, sender: 'job', sequence: 1, body }).kind,
        'valid',
        body.kind,
      );
  });

  it('never throw at garbage, and name a newer version as one', () => {
    assert.ok(forms.length >= 10, `${forms.length} forms`);
    for (const [name, form] of forms) {
      fc.assert(fc.property(odd, (value) => assert.match(form(value).kind, /^(valid|malformed|unknown-version)$/)));
      assert.equal(form({ v: 2 }).kind, 'unknown-version', name);
    }
  });

  it('let nothing through at which a pool would throw: to book, decide, show, publish and carry over', () => {
    const config = { kind: 'unlimited' } as const;
    let valid = 0;
    fc.assert(
      fc.property(fc.array(nearly, { maxLength: 6 }), (messages) => {
        const book = new LeaseBook({ epoch: 1, rows: [], freed: [] });
        for (const message of messages) {
          const checked = quotaForms.leaseMessageForm(message);
          if (checked.kind !== 'valid') continue;
          valid += 1;
          book.apply(checked.value, 1_000);
        }
        const view = (now: number) => ({
          config,
          requests: book.waiting.map(toRequest),
          leases: book.leased.map((row) => toLease(row, now)),
        });
        for (const grant of decide(view(1_000), 1_000).grants) book.grant(grant, 1_000);
        JSON.stringify(packState({ pool: 'p', at: 1_000, epoch: 1, admission: 'open', view: view(1_000) }));
        poolDetails({ pool: 'p', config, waiting: book.waiting, leased: book.leased, at: 1_000 });
        const carried = JSON.parse(JSON.stringify(book.carry())) as ReturnType<LeaseBook['carry']>;
        const { rows } = unpackBook(JSON.parse(JSON.stringify(packBook(book.carry()))) as never);
        assert.deepEqual(rows, carried.rows);
      }),
      { numRuns: Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 1_000) },
    );
    assert.ok(valid > 500, `only ${valid} messages were valid`);
  });
});

describe('the schemas of forms', () => {
  it('are in reach of no export: a worker freezes what shared modules export, and zod writes into a schema', async () => {
    const modules = await Promise.all(
      ['lease-forms', 'quota-forms', 'slice', 'job-forms', 'form'].map(
        (name) => import(`../../contract/${name}.js`) as Promise<object>,
      ),
    );
    const kinds = MACHINE_KINDS.map((kind) => machineKind(kind));
    assert.deepEqual(schemasIn([...modules, ...kinds]), []);
    assert.deepEqual(schemasIn([{ deep: { inside: z.string() } }]), ['0.deep.inside'], 'one that is in reach is found');
  });
});

/** As `deepFreeze` of @temporalio/worker goes: into objects, not into what functions close over. */
function schemasIn(value: object, path: readonly string[] = []): readonly string[] {
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
    if (typeof each !== 'object' || each === null) return [];
    return '_zod' in each ? [[...path, name].join('.')] : schemasIn(each, [...path, name]);
  });
}
