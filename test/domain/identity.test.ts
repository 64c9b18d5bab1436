import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canonicalJson, contentHash, shortHash } from '../../domain/content-hash.js';
import { isValidJobName, jobIdFor, jobNameFrom, labelsOf, ownershipFrom, sliceName } from '../../domain/identity.js';
import { specHash } from '../../domain/machine-kinds/cloud-tpu/plan.js';
import type { Ownership } from '../../domain/slice.js';

/** Google's rule for names of queued resources and nodes. */
const RESOURCE_NAME = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const OWNERSHIP: Ownership = {
  owner: 'a1b2c3d4e5f6',
  job: 'train-7f3k',
  run: '0198f6c2-7f5e-7a41-9d0c-2f1b6a0c9e11',
  generation: 3,
  spec: '0123456789abcdef',
};

describe('names of jobs', () => {
  const names: Record<string, boolean> = {
    train: true,
    't-1': true,
    a: true,
    '': false,
    Train: false,
    '1a': false,
    'a-': false,
    a_b: false,
    'a/b': false,
    ['a'.repeat(40)]: true,
    ['a'.repeat(41)]: false,
  };
  for (const [name, want] of Object.entries(names)) {
    it(`'${name}' is ${want ? 'one' : 'none'}`, () => assert.equal(isValidJobName(name), want));
  }

  it('an id is the name and a suffix', () => assert.equal(jobIdFor({ name: 'train' }, '7f3k'), 'train-7f3k'));
  it('a suffix that makes no id is refused', () => {
    assert.throws(() => jobIdFor({ name: 'train' }, 'A/'), /job id: 'train-A\/' is not/);
  });
  it('any text makes a valid name', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), (text) => isValidJobName(jobNameFrom(text))));
  });
});

describe('names of slices', () => {
  const cases: Record<string, { parts: Parameters<typeof sliceName>[0]; want: string }> = {
    'the prefix is jc without tpu.name': { parts: { job: 'train-7f3k', generation: 1 }, want: 'jc-train-7f3k-g1' },
    'tpu.name is the prefix': { parts: { prefix: 'me', job: 'train-7f3k', generation: 2 }, want: 'me-train-7f3k-g2' },
    'a slice of several has its index': {
      parts: { job: 'train-7f3k', slice: 0, generation: 1 },
      want: 'jc-train-7f3k-s0-g1',
    },
  };
  for (const [name, { parts, want }] of Object.entries(cases)) it(name, () => assert.equal(sliceName(parts), want));

  it('every name is one that Google takes, and other parts give another name', () => {
    const word = (maxLength: number): fc.Arbitrary<string> =>
      fc
        .string({ unit: fc.constantFrom('a', 's', '-', '0', '9'), maxLength, size: 'max' })
        .map((middle) => `p${middle}e`);
    const parts = fc.record({
      prefix: word(50),
      job: word(46),
      slice: fc.option(fc.nat({ max: 255 }), { nil: undefined }),
      generation: fc.integer({ min: 1, max: 9999 }),
    });
    let cut = 0;
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const name = sliceName(a);
        assert.match(name, RESOURCE_NAME);
        assert.ok(name.endsWith(`-g${a.generation}`));
        if (`${a.prefix}-${a.job}` !== `${b.prefix}-${b.job}`)
          assert.notEqual(name, sliceName({ ...b, slice: a.slice, generation: a.generation }));
        assert.notEqual(name, sliceName({ ...a, generation: a.generation + 1 }));
        if (`${a.prefix}-${a.job}`.length > 60) cut += 1;
      }),
      { numRuns: 500 },
    );
    assert.ok(cut > 20, `${cut} names were cut`);
  });

  it('that several slices of one request are called by leave room for the number of the last', () => {
    for (const [slices, length] of [
      [10, 61],
      [11, 60],
      [256, 59],
    ] as const) {
      const name = sliceName({ prefix: 'p'.repeat(30), job: 'j'.repeat(45), generation: 12, slices });
      assert.deepEqual([name.length, `${name}-${slices - 1}`.length], [length, 63]);
      assert.match(`${name}-${slices - 1}`, RESOURCE_NAME);
    }
    assert.equal(sliceName({ job: 'train', generation: 1, slices: 2 }), 'jc-train-g1');
  });

  it('a job whose id ends like a slice is not taken for that slice of another job', () => {
    assert.notEqual(sliceName({ job: 'exp-s1', generation: 1 }), sliceName({ job: 'exp', slice: 1, generation: 1 }));
  });

  it('two long jobs that differ at the end only have different names', () => {
    const job = 'j'.repeat(45);
    const names = ['a', 'b'].map((end) => sliceName({ prefix: 'p'.repeat(30), job: job + end, generation: 1 }));
    assert.notEqual(names[0], names[1]);
    assert.deepEqual(
      names.map((name) => name.length),
      [63, 63],
    );
  });
});

describe('ownership labels', () => {
  it('come back as they went', () => assert.deepEqual(ownershipFrom(labelsOf(OWNERSHIP)), OWNERSHIP));
  for (const key of ['owner', 'job', 'run', 'generation', 'spec']) {
    it(`without ${key} a resource is nobody's that we know`, () => {
      const { [`jobctl-${key}`]: _, ...rest } = labelsOf(OWNERSHIP);
      assert.equal(ownershipFrom(rest), undefined);
    });
  }
  it("a generation that is no number is nobody's", () => {
    assert.equal(ownershipFrom({ ...labelsOf(OWNERSHIP), 'jobctl-generation': '1x' }), undefined);
  });
  it('no labels at all', () =>
    assert.deepEqual([ownershipFrom(undefined), ownershipFrom(null)], [undefined, undefined]));
  for (const job of ['', 'Train', 'a/b', 'a'.repeat(64)]) {
    it(`'${job.slice(0, 8)}' cannot be a label and is refused`, () =>
      assert.throws(() => labelsOf({ ...OWNERSHIP, job }), RangeError));
  }
});

describe('content hashes', () => {
  it('do not depend on the order of keys, nor on keys that are undefined', () => {
    assert.equal(contentHash({ a: 1, b: { c: 2, d: [1] } }), contentHash({ b: { d: [1], c: 2 }, a: 1, e: undefined }));
  });
  it('are 28 hex digits, 8 for names', () => {
    assert.match(contentHash({}), /^[0-9a-f]{28}$/);
    assert.match(shortHash('x'), /^[0-9a-f]{8}$/);
  });
  it('are the same for ever: jobs that run carry them', () => {
    assert.deepEqual([contentHash({ a: [1, 'ü'] }), shortHash('jc-train')], [KNOWN.content, KNOWN.short]);
  });
  it('differ where the JSON differs', () => {
    let different = 0;
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        if (canonicalJson(a) === canonicalJson(b)) return;
        different += 1;
        assert.notEqual(contentHash(a), contentHash(b));
      }),
    );
    assert.ok(different > 50);
  });
  it('refuse what JSON cannot hold', () => {
    for (const value of [NaN, 1n, () => 1]) assert.throws(() => contentHash({ value }), RangeError);
  });
  it('of a slice change with what is asked for', () => {
    const tpu = { accelerator: 'v6e-1' } as Parameters<typeof specHash>[0];
    assert.notEqual(specHash(tpu), specHash({ ...tpu, accelerator: 'v6e-4' }));
    assert.equal(labelsOf({ ...OWNERSHIP, spec: specHash(tpu) })['jobctl-spec']?.length, 16);
  });
});

const KNOWN = { content: '025c8ffa043a730413e1fd07fed9', short: '6f55bebd' };
