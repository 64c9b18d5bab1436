import assert from 'node:assert/strict';
import fc from 'fast-check';
import { byTime, inTimeOrder } from '../../quota/decision/time-order.js';

const asked = (submittedAt: number, id: string) => ({ request: { submittedAt, id } });
const ids = (waiting: readonly ReturnType<typeof asked>[]): string[] => waiting.map(({ request }) => request.id);

describe('the order of time', () => {
  const cases: Record<string, { times: readonly number[]; want: string }> = {
    'first come, first served': { times: [30, 10, 20], want: 'bca' },
    'of one millisecond, by id': { times: [20, 10, 20, 10], want: 'bdac' },
    'times a quarter of a millisecond apart': { times: [0.75, 0.5, 0.25, 0], want: 'dcba' },
    'times further apart than a number with a place in it can say': { times: [2 ** 53 - 1, 1, 0], want: 'cba' },
  };
  for (const [name, { times, want }] of Object.entries(cases)) {
    it(name, () => {
      assert.equal(ids(inTimeOrder(times.map((time, index) => asked(time, 'abcd'[index] ?? '')))).join(''), want);
    });
  }

  it('is the same as comparing two by two, whatever the times', () => {
    const whole = fc.integer({ min: 1_800_000_000_000, max: 1_800_000_000_050 });
    const any = fc.oneof(whole, fc.nat({ max: Number.MAX_SAFE_INTEGER }), fc.constantFrom(0.5, 1.5, 0.25));
    const times = fc.oneof(fc.array(whole, { maxLength: 40 }), fc.array(any, { maxLength: 40 }));
    let keyed = 0;
    fc.assert(
      fc.property(times, (drawn) => {
        const waiting = drawn.map((time, index) => asked(time, `job-${(index * 7) % 41}`));
        if (drawn.every((time) => time >= 1_800_000_000_000 && time <= 1_800_000_000_050)) keyed += 1;
        assert.deepEqual(ids(inTimeOrder(waiting)), ids(waiting.toSorted(byTime)));
      }),
      { numRuns: 400 },
    );
    assert.ok(keyed > 50, `${keyed} of times that fit into keys`);
  });
});
