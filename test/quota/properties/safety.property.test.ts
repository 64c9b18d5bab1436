import fc from 'fast-check';
import { decide } from '../../../quota/decide.js';
import { holds } from './check.js';
import { CLAIMS } from './claims.js';
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
});
