import assert from 'node:assert/strict';
import { checkFiles } from '../../quota/files/pool-files.js';
import { judgeSubmission, type Submission } from '../../quota/submission.js';
import { UNLIMITED } from '../../quota/quota-config.js';

const checked = checkFiles({
  quotaFile: {
    name: 'q.toml',
    text: `
[toml-schema]
version = "1"
[[total_resources]]
v4 = 16
[[total_resources]]
v4 = 64
v5e = 16
[project_membership]
vision = ["ann", "bob"]
speech = ["bob"]
[project_resources]
`,
  },
  poolFile: {
    name: 'p.toml',
    text: '[[tiers]]\npricing = "reserved"\n[[tiers]]\npricing = "spot"\n[largest_slice.us-east5-a]\nv4 = 8\n[largest_slice.us-east5-b]\nv4 = 32\n',
  },
});
assert.ok(checked.ok);
const { config } = checked;

const ann: Submission = {
  user: 'ann',
  mode: 'trusted',
  ask: { units: { v4: 8 } },
  shown: 'v4-8',
  key: 'tpu.accelerator',
};

describe('what is refused at submit', () => {
  const refusals: Record<string, { job: Partial<Submission>; want: string }> = {
    'a user who is no member': {
      job: { user: 'zed', project: 'vision' },
      want: "project: 'zed' may not submit to 'vision': not a member\n  leave project out to run in none, best effort",
    },
    'a member of several who names none': {
      job: { user: 'bob' },
      want: "project: 'bob' is a member of several projects: vision, speech\n  name one with --project, or project: in the job file",
    },
    'a negative demand': {
      job: { ask: { units: { v4: -8 } } },
      want: 'tpu.accelerator: v4-8 can never start: -8 v4 asked, a demand is a whole number of 1 or more',
    },
    'a demand of nothing': {
      job: { ask: { units: { v4: 0 } } },
      want: 'tpu.accelerator: v4-8 can never start: 0 v4 asked, a demand is a whole number of 1 or more',
    },
    'half a unit': {
      job: { ask: { units: { v4: 8.5 } } },
      want: 'tpu.accelerator: v4-8 can never start: 8.5 v4 asked, a demand is a whole number of 1 or more',
    },
    'a type that the pool lacks': {
      job: { ask: { units: { v6e: 8 } }, shown: 'v6e-8' },
      want: 'tpu.accelerator: v6e-8 can never start: the pool has no v6e (it has v4, v5litepod)',
    },
    'a gang larger than every tier': {
      job: { ask: { units: { v4: 128 }, slices: 16 }, shown: '16 x v4-8' },
      want: 'tpu.accelerator: 16 x v4-8 can never start: 128 v4 asked, its largest tier has 64',
    },
    'a gang larger than the tier of its pricing': {
      job: { ask: { units: { v4: 32 }, pricing: 'reserved' }, shown: 'v4-32' },
      want: 'tpu.accelerator: v4-32 can never start: 32 v4 asked, the largest tier of its pricing has 16',
    },
    'a pricing that no tier has': {
      job: { ask: { units: { v4: 8 }, pricing: 'ondemand' } },
      want: 'tpu.accelerator: v4-8 can never start: no tier of the pool is bought as ondemand',
    },
    'a slice larger than all of its zones hold': {
      job: { ask: { units: { v4: 16 }, zones: ['us-east5-a'] }, shown: 'v4-16' },
      want: 'tpu.accelerator: v4-16 can never start: a slice of 16 v4 asked, the largest of us-east5-a is 8',
    },
  };
  for (const [name, { job, want }] of Object.entries(refusals)) {
    it(name, () => {
      const verdict = judgeSubmission(config, { ...ann, ...job });
      assert.equal(verdict.ok ? 'taken' : verdict.message, want);
    });
  }

  const taken: Record<string, Partial<Submission>> = {
    'a slice that one of its zones holds': { ask: { units: { v4: 16 }, zones: ['us-east5-a', 'us-east5-b'] } },
    'a gang of slices that fit one by one': { ask: { units: { v4: 32 }, slices: 4, zones: ['us-east5-a'] } },
    'a zone of which the pool file says nothing': { ask: { units: { v4: 64 }, zones: ['us-east1-d'] } },
    'one that names no pricing, in a tier of any': { ask: { units: { v4: 64 } } },
  };
  for (const [name, job] of Object.entries(taken)) {
    it(`${name} is taken`, () =>
      assert.deepEqual(judgeSubmission(config, { ...ann, ...job }), { ok: true, project: 'vision' }));
  }
  it('a pool without a quota file takes all that is a demand', () => {
    const large = { ...ann, project: 'any', ask: { units: { v4: 100_000 } } };
    assert.deepEqual(judgeSubmission(UNLIMITED, large), { ok: true, project: 'any' });
    assert.equal(judgeSubmission(UNLIMITED, { ...ann, ask: { units: { v4: -1 } } }).ok, false);
  });
});
