import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  bestOf,
  chosenOf,
  digits,
  isFar,
  isLowBetter,
  type Metric,
  metricNames,
  MOST_COMPARED,
  numberIn,
  numericAxes,
  overParameter,
  overSteps,
  type Told,
  toggled,
  valueOf,
} from '../../ui/comparison.js';

const metric = (name: string, points: readonly (readonly [step: number, value: number | null])[]): Metric => {
  const [step, value] = [points.map(([at]) => at), points.map(([, each]) => each)];
  const time = step.map(() => 1);
  const last = { step: step.at(-1) ?? 0, time: 1, value: value.at(-1) ?? null };
  return { name, count: step.length, isThinned: false, falls: 0, last, points: { step, time, value } };
};
const told = (...metrics: readonly Metric[]): Told => ({
  ...{ host: 0, attempts: [1], refused: 0, beyondNames: 0, missedBytes: 0 },
  metrics: [...metrics],
});

describe('members of a group that are compared', () => {
  it('are read from the address: numbers, each once, and at most twelve', () => {
    assert.deepEqual(chosenOf('3,0,3,x,-1,1e3,,17'), [3, 0, 17]);
    assert.deepEqual(chosenOf(null), []);
    assert.equal(chosenOf(Array.from({ length: 50 }, (_, at) => at).join()).length, MOST_COMPARED);
  });

  it('are chosen and dropped one by one, and a thirteenth changes nothing', () => {
    assert.deepEqual(toggled([1, 2], 3), [1, 2, 3]);
    assert.deepEqual(toggled([1, 2], 1), [2]);
    const all = Array.from({ length: MOST_COMPARED }, (_, at) => at);
    assert.equal(toggled(all, 99), all);
  });

  it('have the names of their metrics: those of most members first, and of these a loss', () => {
    const one = told(metric('b', []), metric('acc', []), metric('loss', []));
    const other = told(metric('loss', []), metric('acc', []), metric('a', []));
    assert.deepEqual(metricNames([one, undefined, other]), ['loss', 'acc', 'a', 'b']);
  });

  it('stand over all steps: a step that a member skipped joins its line, a value that is none breaks it', () => {
    const lines = [metric('x', [[0, 1], [2, null], [4, 3]]), undefined, metric('x', [[1, 5], [4, 6]])]; // prettier-ignore
    assert.deepEqual(overSteps(lines), [
      [0, 1, 2, 4],
      [1, undefined, null, 3],
      [undefined, undefined, undefined, undefined],
      [undefined, 5, undefined, 6],
    ]);
    assert.deepEqual(overSteps([undefined]), [[], []]);
  });

  it('have each of their values at its own step', () => {
    const steps = fc.uniqueArray(fc.nat(50), { maxLength: 20 }).map((all) => all.toSorted((a, b) => a - b));
    let shared = 0;
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 5 }), (all) => {
        const metrics = all.map((own, at) =>
          metric(
            'x',
            own.map((step) => [step, step * 100 + at]),
          ),
        );
        const [places, ...lines] = overSteps(metrics);
        assert.deepEqual(
          places,
          [...new Set(all.flat())].toSorted((a, b) => a - b),
        );
        for (const [at, line] of lines.entries()) {
          const seen: readonly number[] = places.filter((_, place) => line[place] !== undefined);
          assert.deepEqual(seen, all[at]);
          for (const [place, step] of places.entries())
            if (line[place] !== undefined) assert.equal(line[place], step * 100 + at);
        }
        if (places.length < all.flat().length) shared++;
      }),
    );
    assert.ok(shared > 0, 'no two members told the same step: this shows nothing');
  });

  const member = (values: Readonly<Record<string, string | number | boolean>>): { readonly values: typeof values } => ({
    values,
  });

  it('stand over a parameter that is a number in all of them and differs', () => {
    const members = [
      member({ lr: 0.1, seed: 1, name: 'a', text: '3', flag: true }),
      member({ lr: 0.01, seed: 1, name: '7', text: '1e2', flag: false }),
    ];
    assert.deepEqual(numericAxes(['lr', 'seed', 'name', 'text', 'flag', 'none'], members), ['lr', 'text']);
    assert.deepEqual(overParameter('lr', members, [5, undefined]), [
      [0.01, 0.1],
      [undefined, 5],
      [undefined, undefined],
    ]);
    assert.deepEqual(['', ' ', 'x', true, undefined, Infinity, '1e-4'].map(numberIn), [
      ...Array.from({ length: 6 }, () => undefined),
      1e-4,
    ]);
  });

  it('have a logarithmic axis if all numbers are above 0 and span a hundredfold or more', () => {
    const cases: readonly (readonly [readonly (number | null | undefined)[], boolean])[] = [
      [[0.0003, 0.03], true],
      [[0.001, 0.1], true],
      [[1, 99], false],
      [[1e-5, null, undefined, 1], true],
      [[0, 1_000], false],
      [[-1, 1_000], false],
      [[], false],
      [[5], false],
    ];
    for (const [values, isIt] of cases) assert.equal(isFar(values), isIt, String(values));
  });

  it('have a best one: the lowest, or the highest where that is better', () => {
    assert.equal(bestOf([undefined, 3, 1, 2], true), 2);
    assert.equal(bestOf([undefined, 3, 1, 2], false), 1);
    assert.equal(bestOf([undefined], true), undefined);
    assert.deepEqual(['loss', 'train/loss', 'eval/acc@5', 'mfu'].map(isLowBetter), [true, true, false, false]);
  });

  it('say nothing of a value that was not finite', () => {
    assert.equal(valueOf(metric('x', [[1, null]]), 'last'), undefined);
    assert.equal(valueOf(undefined, 'least'), undefined);
    assert.deepEqual([digits(undefined), digits(0.123_456_789), digits(1_234_567)], ['', '0.12346', '1234600']);
  });
});
