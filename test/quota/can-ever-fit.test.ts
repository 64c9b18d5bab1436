import assert from 'node:assert/strict';
import { canEverFit } from '../../quota/submission.js';
import type { Ask } from '../../quota/submission.js';
import { UNLIMITED } from '../../quota/quota-config.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { pool } from './builders.js';
import { withRules } from './decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const priced = withRules(pool([v4(8), v4(16)]), { tiers: [{ pricing: 'reserved' }, { pricing: 'spot' }] });
const zoned = withRules(pool(v4(64)), { largestSlice: { a: v4(8), b: v4(16) } });

const cases: Record<string, { config: QuotaConfig; ask: Ask; want: string | undefined }> = {
  'a demand of 0 units': {
    config: pool(v4(8)),
    ask: { units: v4(0) },
    want: '0 v4 asked, a demand is a whole number of 1 or more',
  },
  'a negative demand': {
    config: pool({ v4: 8, v6e: 8 }),
    ask: { units: { v4: 8, v6e: -8 } },
    want: '-8 v6e asked, a demand is a whole number of 1 or more',
  },
  'a fractional demand, in an unlimited pool too': {
    config: UNLIMITED,
    ask: { units: v4(0.5) },
    want: '0.5 v4 asked, a demand is a whole number of 1 or more',
  },
  'a demand of nothing': { config: UNLIMITED, ask: { units: {} }, want: 'no units asked' },
  'more than the tier of its pricing has': {
    config: priced,
    ask: { units: v4(16), pricing: 'reserved' },
    want: '16 v4 asked, the largest tier of its pricing has 8',
  },
  'more than any tier has': {
    config: priced,
    ask: { units: v4(17) },
    want: '17 v4 asked, its largest tier has 16',
  },
  'a pricing that no tier has': {
    config: priced,
    ask: { units: v4(8), pricing: 'ondemand' },
    want: 'no tier of the pool is bought as ondemand',
  },
  'a slice larger than the largest of all its zones': {
    config: zoned,
    ask: { units: v4(32), zones: ['a', 'b'] },
    want: 'a slice of 32 v4 asked, the largest of a, b is 16',
  },
  'several slices, one of which is too large': {
    config: zoned,
    ask: { units: v4(32), slices: 2, zones: ['a'] },
    want: 'a slice of 16 v4 asked, the largest of a is 8',
  },
};
const fitting: Record<string, { config: QuotaConfig; ask: Ask }> = {
  'a slice that one of its zones holds': { config: zoned, ask: { units: v4(16), zones: ['a', 'b'] } },
  'slices that fit one by one': { config: zoned, ask: { units: v4(64), slices: 8, zones: ['a'] } },
  'a zone of which the pool file says nothing': { config: zoned, ask: { units: v4(64), zones: ['c'] } },
  'a job that names no zones': { config: zoned, ask: { units: v4(64) } },
  'a job that names no pricing': { config: priced, ask: { units: v4(16) } },
};

describe('quota: rule 9, what can never start is refused at submit', () => {
  for (const [name, { config, ask, want }] of Object.entries(cases)) {
    it(`refused: ${name}`, () => {
      assert.deepEqual(canEverFit(config, ask), { fits: false, message: `can never start: ${want}` });
    });
  }
  for (const [name, { config, ask }] of Object.entries(fitting)) {
    it(`not refused: ${name}`, () => assert.deepEqual(canEverFit(config, ask), { fits: true }));
  }
});
