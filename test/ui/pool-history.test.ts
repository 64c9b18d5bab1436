import assert from 'node:assert/strict';
import type { AnswerOf } from '../../contract/operations.js';
import { dayRows, MOST_COLOURS, pictureOf, typesOf, unitsWords } from '../../ui/pool-history.js';

type History = AnswerOf<'poolHistory'>;
const HOUR = 3_600_000;
const history = (over: Partial<History> = {}): History => ({
  ...{ pool: 'p', from: 0, to: 4 * HOUR, everyMs: HOUR, gaps: [], calls: [] },
  series: [
    { project: 'vision', type: 'v4', held: [null, 8, null, 4], waiting: [null, 0, null, 2] },
    { project: 'speech', type: 'v4', held: [null, 2, null, 2], waiting: [null, 1, null, 0] },
    { project: 'vision', type: 'v5e', held: [0, 0, 0, 0], waiting: [0, 0, 0, 3] },
  ],
  ...over,
});

describe('the last day of a pool, made ready to be drawn', () => {
  it('is one area upon the other by project, what waited, and the nominal quota, from the first time that is known', () => {
    const { at, lines } = pictureOf(history(), { type: 'v4', project: undefined, nominal: 8 })!;
    assert.deepEqual(at, [HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR]);
    assert.deepEqual(
      lines.map(({ label, top, value }) => [label, top, value]),
      [
        ['speech', [10, null, 6, 6], [2, null, 2, 2]],
        ['vision', [8, null, 4, 4], [8, null, 4, 4]],
        ['waiting', [1, null, 2, 2], [1, null, 2, 2]],
        ['all there is', [8, 8, 8, 8], [8, 8, 8, 8]],
      ],
    );
  });

  it('of one project has its own lines alone, and none for nobody who waited', () => {
    const of = (type: string, project: string) =>
      pictureOf(history(), { type, project, nominal: undefined })?.lines.map(({ label }) => label);
    assert.deepEqual(
      [of('v4', 'vision'), of('v5e', 'vision')],
      [
        ['vision', 'waiting'],
        ['vision', 'waiting'],
      ],
    );
    assert.deepEqual(of('v4', 'nobody'), undefined);
  });

  it('draws the nominal quota from the time on at which its file was put in force', () => {
    const calls = [{ at: 2.5 * HOUR, kind: 'applied', by: 'olga' }];
    const { lines } = pictureOf(history({ calls }), { type: 'v4', project: undefined, nominal: 8 })!;
    assert.deepEqual(lines.at(-1)?.top, [null, 8, 8, 8]);
  });

  it('draws nothing of a time of which nothing is known', () => {
    const series = [{ project: 'vision', type: 'v4', held: [null, null], waiting: [null, null] }];
    assert.equal(pictureOf(history({ series }), { type: 'v4', project: undefined, nominal: 8 }), undefined);
    assert.deepEqual(dayRows(history({ series }), []), [
      {
        ...{ project: 'vision', type: 'v4', nominal: undefined, mean: undefined, most: undefined, now: undefined },
        ...{ borrowedHours: undefined, waitingMean: undefined },
      },
    ]);
  });

  it('has colours for some projects, and one for the rest together', () => {
    const series = Array.from({ length: MOST_COLOURS + 2 }, (_, at) => ({
      ...{ project: `p${at}`, type: 'v4', held: [1, null], waiting: [0, 0] },
    }));
    const { lines } = pictureOf(history({ series }), { type: 'v4', project: undefined, nominal: undefined })!;
    assert.deepEqual([lines.length, lines[0]?.label, lines[0]?.value[0], lines[0]?.top[0]], [8, '2 others', 2, 9]);
  });

  it('says the same in numbers: means and hours of what is known', () => {
    const projects = [{ project: 'vision', type: 'v4', nominal: 5 }] as unknown as AnswerOf<'poolUse'>['projects'];
    const [vision] = dayRows(history(), projects);
    assert.deepEqual(vision, {
      ...{ project: 'vision', type: 'v4', nominal: 5, mean: 6, most: 8, now: 4, borrowedHours: 3, waitingMean: 1 },
    });
    assert.deepEqual(typesOf(history()), ['v4', 'v5e']);
    assert.deepEqual([0, 7.5, 1234.56, 0.041, undefined].map(unitsWords), ['0', '7.5', '1234.56', '0.041', 'unknown']);
  });
});
