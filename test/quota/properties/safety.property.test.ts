import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide } from '../../../quota/decide.js';
import type { QuotaLease } from '../../../quota/quota-config.js';
import { holds } from './check.js';
import { CLAIMS } from './claims.js';
import { heldFor } from './oracle.js';
import { NOW, scene } from './scenes.js';

const ANY = { requests: 8, leases: 8, withLimits: true, withCoolDowns: true, withReservations: true };
const anyScene = fc.record({ facts: scene(ANY), isFrozen: fc.constantFrom(false, false, false, true) });

describe('quota SAFETY: of every decision', () => {
  for (const [name, claim] of Object.entries(CLAIMS)) {
    it(name, () => {
      holds(
        anyScene,
        ({ facts, isFrozen }) => {
          const pool = { ...facts, isFrozen };
          const decision = decide(pool, NOW);
          claim(pool, decision, NOW);
          return decision.grants.length > 0 || decision.preemptions.length > 0;
        },
        { interesting: 0.3 },
      );
    });
  }

  it('time alone changes nothing before the next time to look', () => {
    holds(
      scene({ ...ANY, requests: 3 }),
      (facts) => {
        const first = decide(facts, NOW);
        if (first.grants.length + first.preemptions.length > 0) return false;
        const at = (first.nextAt ?? NOW + 100_000) - 1;
        const leases = facts.leases.map((lease): QuotaLease =>
          (lease.state ?? 'held') === 'held' ? { ...lease, heldMs: heldFor(lease, NOW) + at - NOW } : lease,
        );
        const { grants, preemptions } = decide({ ...facts, leases, memory: first.memory }, at);
        assert.deepEqual({ grants, preemptions }, { grants: [], preemptions: [] }, `at ${at}, next ${first.nextAt}`);
        return at > NOW + 1;
      },
      { interesting: 0.05 },
    );
  });
});
