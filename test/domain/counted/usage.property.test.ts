import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  type CHARGED_PARTS,
  chargedOf,
  doingOf,
  type Flow,
  flowsOf,
  noUsage,
  PARTS,
  sumOf,
  usageAt,
  usageWith,
  withLost,
} from '../../../domain/counted/usage.js';

/** A moment of a job's life, as its workflow sees it, until the next one. */
const moment = fc.record({
  lastsMs: fc.nat(10_000_000),
  isLeased: fc.boolean(),
  slices: fc.array(
    fc.record({
      isLeaving: fc.boolean(),
      chips: fc.constantFrom(4, 8, 256),
      place: fc.record({ zone: fc.constantFrom('a', 'b'), pricing: fc.constantFrom('spot', 'ondemand') }),
    }),
    { maxLength: 4 },
  ),
  work: fc.record({
    attempt: fc.constantFrom('closed', 'setting-up', 'running', 'stopped'),
    number: fc.nat(3),
    isKept: fc.boolean(),
  }),
  /** Looks at the account in between, which change nothing. */
  looks: fc.array(fc.nat(10_000_000), { maxLength: 3 }),
});

const LEASED = 16;

describe("the account of a job's chips", () => {
  it('has each chip of the lease, and each chip held beside it, in one part at each moment', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(fc.array(moment, { maxLength: 30 }), (moments) => {
        let usage = noUsage(0);
        let [at, expected, charged] = [0, 0, 0];
        for (const { lastsMs, isLeased, slices, work, looks } of moments) {
          const leased = isLeased ? LEASED : 0;
          const flows = flowsOf({ leased, held: slices, doing: doingOf(work) });
          usage = usageWith(usage, flows, at);
          // By chips, not by flows: each chip of the lease or held beside it counts once, whatever part it is in.
          const held = slices.reduce((sum, { chips }) => sum + chips, 0);
          const paid = slices.reduce((sum, { chips, isLeaving }) => sum + (isLeaving ? 0 : chips), 0);
          expected += Math.max(leased, held) * lastsMs;
          charged += paid * lastsMs;
          for (const look of looks) usage = usageWith(usage, flows, at + Math.min(look, lastsMs));
          at += lastsMs;
          for (const { part } of flows) seen.set(part, (seen.get(part) ?? 0) + 1);
        }
        usage = usageAt(usage, at);
        assert.equal(sumOf(usage.parts), expected);
        assert.equal(chargedOf(usage.parts), charged);
        assert.equal(
          usage.charged.reduce((sum, { chipMs }) => sum + chipMs, 0),
          charged,
        );
        assert.ok(PARTS.every((part) => Number.isSafeInteger(usage.parts[part])));
      }),
      { numRuns: 300 },
    );
    // Lost work is told later: no moment has it.
    for (const part of PARTS) assert.ok(part === 'lost' || (seen.get(part) ?? 0) > 50, `${part}: ${seen.get(part)}`);
  });

  it('moves lost work out of useful work, and no more than there was', () => {
    const running: Flow[] = [{ part: 'useful', chips: 8, place: { zone: 'a', pricing: 'spot' } }];
    const usage = usageAt(usageWith(noUsage(0), running, 0), 1_000);
    const cases: Record<string, [number, number]> = { some: [3_000.7, 3_000], all: [9_000, 8_000], none: [-5, 0] };
    for (const [name, [chipMs, want]] of Object.entries(cases)) {
      const { parts } = withLost(usage, chipMs);
      assert.deepEqual([parts.lost, parts.useful], [want, 8_000 - want], name);
    }
  });

  it('counts no time twice when a clock goes back', () => {
    const usage = usageAt(usageWith(noUsage(0), [{ part: 'idle', chips: 1 }], 0), 1_000);
    assert.deepEqual(usageAt(usage, 500), usage);
  });
});

describe('the ready chips of a job', () => {
  const CASES: Record<string, [Parameters<typeof doingOf>[0], (typeof CHARGED_PARTS)[number]]> = {
    'wait for the other slices of a first start': [{ attempt: 'closed', number: 0, isKept: false }, 'idle'],
    'are set up': [{ attempt: 'setting-up', number: 1, isKept: false }, 'setUp'],
    'are set up again': [{ attempt: 'setting-up', number: 2, isKept: false }, 'restart'],
    'run the command': [{ attempt: 'running', number: 2, isKept: false }, 'useful'],
    'wait for slices in the place of lost ones': [{ attempt: 'closed', number: 1, isKept: false }, 'restart'],
    'are kept for people': [{ attempt: 'closed', number: 1, isKept: true }, 'idle'],
    'save and stop while a person has paused the job': [{ attempt: 'running', number: 1, isKept: true }, 'useful'],
  };
  for (const [name, [facts, want]] of Object.entries(CASES)) it(name, () => assert.equal(doingOf(facts), want));
});
