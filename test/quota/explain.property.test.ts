import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Explainer, inLine } from '../../quota/explain.js';
import { dueText, plainWording, reasonText } from '../../quota/explanation/explain-words.js';
import { planOf } from '../../quota/plan.js';
import type { Pool } from '../../quota/quota-config.js';
import { holds } from './properties/check.js';
import { NOW, scene } from './properties/scenes.js';

const ANY = { requests: 8, leases: 8, withLimits: true, withCoolDowns: true, withReservations: true };
const anyPool: fc.Arbitrary<Pool> = fc
  .record({ facts: scene(ANY), isFrozen: fc.constantFrom(false, false, false, true) })
  .map(({ facts, isFrozen }) => ({ ...facts, isFrozen }));

describe('quota: explanations of any pool', () => {
  it('who has no reason is granted, and who is not granted has one (rule 9)', () => {
    holds(
      anyPool,
      (pool) => {
        const explainer = new Explainer(pool, NOW);
        const granted = new Set(explainer.pass.decision.grants.map(({ id }) => id));
        for (const { id } of pool.requests) {
          const why = explainer.of(id);
          assert.ok(why, `${id} is not explained`);
          assert.equal(why.reasons.length === 0, granted.has(id), `${id}: ${JSON.stringify(why)}`);
          assert.equal(why.position === 0, granted.has(id));
        }
        return granted.size > 0 && granted.size < pool.requests.length;
      },
      { interesting: 0.2 },
    );
  });

  it('every number of a shortage adds up', () => {
    holds(
      anyPool,
      (pool) => {
        const explainer = new Explainer(pool, NOW);
        const shortages = pool.requests.flatMap(({ id, units }) =>
          (explainer.of(id)?.reasons ?? []).flatMap((reason) =>
            reason.code === 'short' ? [{ ...reason, units }] : [],
          ),
        );
        for (const { total, inUse, free, short, type, units } of shortages) {
          assert.ok(free >= 0 && free <= Math.max(0, total - inUse), `${free} free of ${total} with ${inUse} in use`);
          assert.ok(
            short > 0 && short === (units[type] ?? 0) - free,
            `${short} short of ${units[type]} with ${free} free`,
          );
        }
        return shortages.length > 0;
      },
      { interesting: 0.3 },
    );
  });

  it('positions number those who wait on without a gap, in the order of the line', () => {
    holds(
      anyPool,
      (pool) => {
        const { waiting, grants } = planOf(pool, NOW);
        assert.deepEqual(
          waiting.map(({ position }) => position),
          waiting.map((_, index) => index + 1),
        );
        assert.equal(waiting.length + grants.length, pool.requests.length);
        if (pool.config.kind === 'limited')
          assert.equal(inLine(pool.config, pool.requests, pool.leases).length, pool.requests.length);
        return waiting.length > 1;
      },
      { interesting: 0.3 },
    );
  });

  it('every reason and every time by rule is a sentence with all of its words', () => {
    holds(
      anyPool,
      (pool) => {
        const explainer = new Explainer(pool, NOW);
        const words = plainWording(pool.config);
        let said = 0;
        for (const { id } of pool.requests) {
          const why = explainer.of(id);
          assert.ok(why);
          const texts = [
            ...why.reasons.map((reason) => reasonText(reason, why, words)),
            ...why.due.map((due) => dueText(due, words)),
          ];
          for (const text of [...texts, explainer.sentenceOf(id) ?? '']) {
            assert.match(text, /^[a-z0-9'].*[^.]$/);
            assert.doesNotMatch(text, /undefined|NaN|null|\(\)|  /);
          }
          said += texts.length;
        }
        return said > 3;
      },
      { interesting: 0.3 },
    );
  });
});
