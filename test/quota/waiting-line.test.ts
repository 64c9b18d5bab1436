import assert from 'node:assert/strict';
import fc from 'fast-check';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { Explainer } from '../../quota/explain.js';
import { explainedLine, isWaitedFor, placesInLine, type WaitingLine } from '../../quota/waiting-line.js';
import { plainWording, sentenceText } from '../../quota/explanation/explain-words.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { DEFAULT_RULES, NO_MEMORY, UNLIMITED } from '../../quota/quota-config.js';
import type { Pool } from '../../quota/quota-config.js';
import { lease, pool, project, request } from './builders.js';
import { holds } from './properties/check.js';
import { NOW, scene } from './properties/scenes.js';

function lineOf(of: PoolSnapshot): WaitingLine {
  const steps = explainedLine(of);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Through the object in the bucket. */
const written = (view: Pool, at = NOW): WaitingLine =>
  JSON.parse(JSON.stringify(lineOf(snapshot(view, at)))) as WaitingLine;
const snapshot = (view: Pool, at: number, admission: PoolSnapshot['admission'] = 'open'): PoolSnapshot => ({
  pool: 'default',
  at,
  epoch: 3,
  admission,
  view,
});
const clock = (at: number): string => new Date(at).toISOString().slice(11, 16);

describe('quota: the published line', () => {
  const ANY = { requests: 8, leases: 8, withLimits: true, withCoolDowns: true, withReservations: true };
  const anyPool: fc.Arbitrary<Pool> = fc
    .record({ facts: scene(ANY), isFrozen: fc.constantFrom(false, false, false, true) })
    .map(({ facts, isFrozen }) => ({ ...facts, isFrozen }));

  it('says of each job what its own explanation says: position and sentence', () => {
    holds(
      anyPool,
      (view) => {
        const explainer = new Explainer(view, NOW);
        const words = { ...plainWording(view.config), nameOf: jobOfLeaseKey, timeOf: clock };
        const line = written(view);
        const jobs = view.requests.map(({ id }) => jobOfLeaseKey(id));
        const places = placesInLine(line, jobs, clock);
        for (const { id } of view.requests) {
          const why = explainer.of(id);
          assert.ok(why);
          const want = { position: why.position, of: why.of, why: sentenceText(why, words) };
          assert.deepEqual(places.get(jobOfLeaseKey(id)), why.position === 0 ? undefined : want, id);
        }
        return line.sentences.length > 1 && line.sentences.length < line.rows.length;
      },
      { interesting: 0.1 },
    );
  });

  it('of a pool that is being rebuilt: for which job it waits and until when, by the reader’s clock', () => {
    const view = pool({ v4: 8 }, project('a', { v4: 8 }));
    const requests = [request('one/r/1', { v4: 8 }), request('two/r/1', { v4: 8 })];
    const rebuilding = { since: NOW - 60_000, until: NOW + 60_000, waitsFor: ['mute'], waitsForCount: 1 };
    const of = { ...snapshot({ config: view, requests, leases: [] }, NOW), rebuilding };
    const line = JSON.parse(JSON.stringify(lineOf(of))) as WaitingLine;
    const why =
      `pool default lost its memory and is being rebuilt since ${clock(NOW - 60_000)}: it waits for mute to say what it holds, ` +
      `until ${clock(NOW + 60_000)} at most, and grants nothing until then`;
    assert.deepEqual(
      [...placesInLine(line, ['one', 'two', 'three'], clock)],
      [
        ['one', { position: 1, of: 2, why }],
        ['two', { position: 2, of: 2, why }],
      ],
    );
  });

  it('names jobs, not leases, and each reader writes times in its own way', () => {
    const config = { ...pool({ v4: 32 }, project('a', { v4: 16 }), project('b', { v4: 16 })), rules: DEFAULT_RULES };
    const at = Date.parse('2026-11-21T14:00:00Z');
    const young = lease('train/run-1/1', { v4: 32 }, { project: 'b', startedAt: at - 120_000 });
    const mine = request('tune/run-2/1', { v4: 16 }, { project: 'a', submittedAt: at - 300_000 });
    const places = placesInLine(written({ config, requests: [mine], leases: [young] }, at), ['tune', 'other'], clock);
    const why = 'train borrows its chips and may run until 14:08 at least (minimum runtime)';
    assert.deepEqual([...places], [['tune', { position: 1, of: 1, why }]]);
  });

  it('an unlimited pool that is frozen has a line, one that is open has none', () => {
    const requests = [request('j', { v4: 8 }), request('k', { v4: 8 }, { priority: 1 })];
    const why = 'the pool is frozen: nothing new is granted, nothing that runs is touched';
    const frozen = written({ config: UNLIMITED, requests, leases: [], isFrozen: true });
    assert.deepEqual(placesInLine(frozen, ['j'], clock).get('j'), { position: 2, of: 2, why });
    assert.deepEqual(written({ config: UNLIMITED, requests, leases: [] }).rows, []);
  });

  it('of a pool that is drained nobody is told that what runs is left alone', () => {
    const view = { config: UNLIMITED, requests: [request('j', { v4: 8 })], leases: [], isFrozen: true };
    const { why } = placesInLine(lineOf(snapshot(view, NOW, 'draining')), ['j'], clock).get('j') ?? {};
    assert.equal(why, 'the pool is drained: nothing new is granted, and every lease is asked back');
  });

  it('of another version of jobctl is refused', () => {
    const line = { ...written({ config: UNLIMITED, requests: [], leases: [] }), v: 2 } as unknown as WaitingLine;
    assert.throws(() => placesInLine(line, ['j'], clock), /line of pool 'default': written in form 2.*update it/);
  });
});

describe('quota: whether another job waits for lent slices', () => {
  const mine = { job: 'exp-1', demand: { priority: 3, units: { v5litepod: 8 } } };
  const waiting = (more: object) => ({ ...request('other/r/1', { v5litepod: 4 }), ...more });
  const cases: Record<string, { view?: object; admission?: PoolSnapshot['admission']; more?: object; want: boolean }> =
    {
      'nobody waits': { want: false },
      'one of the same priority waits': { view: { requests: [waiting({ priority: 3 })] }, want: true },
      'one of a higher priority waits': { view: { requests: [waiting({ priority: 1 })] }, want: true },
      'one of a lower priority waits': { view: { requests: [waiting({ priority: 4 })] }, want: false },
      'one of a lower priority has a reservation': {
        view: {
          requests: [waiting({ priority: 4 })],
          memory: { ...NO_MEMORY, reservations: [{ id: 'other/r/1', tier: 0, madeAt: NOW }] },
        },
        want: true,
      },
      'one waits for another type': { view: { requests: [waiting({ priority: 1, units: { v4: 8 } })] }, want: false },
      'the job itself asks': { view: { requests: [{ ...waiting({ priority: 1 }), id: 'exp-1/r/2' }] }, want: false },
      'the pool is frozen': { admission: 'frozen', want: true },
      'the pool drains': { admission: 'draining', want: true },
      'the pool has lost its memory': {
        more: { rebuilding: { since: NOW, until: NOW, waitsFor: [], waitsForCount: 0 } },
        want: true,
      },
    };
  for (const [name, { view = {}, admission, more, want }] of Object.entries(cases))
    it(name, () => {
      const of = snapshot({ config: UNLIMITED, requests: [], leases: [], ...view }, NOW, admission);
      assert.equal(isWaitedFor({ ...of, ...more }, mine), want);
    });
});
