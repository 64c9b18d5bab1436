import assert from 'node:assert/strict';
import { type HistoryLine, leaseStories, type OpenLease } from '../../quota/pool-history.js';
import {
  type Gap,
  gapsBetween,
  type HistoryPart,
  type OpenRequest,
  useOverTime,
  type UseSeries,
} from '../../quota/use-over-time.js';

const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 10, 30, 0);
const WINDOW = { from: T0, to: T0 + 4 * HOUR };
const at = (hour: number): number => T0 + hour * HOUR;
const whose = { job: 'a', lease: 1, project: 'vision', user: 'ann', tier: 0, units: { v4: 16 } };
const line = (hour: number, kind: HistoryLine['kind'], more: Partial<HistoryLine> = {}): HistoryLine => ({
  ...{ at: at(hour), kind, ...whose },
  ...more,
});
const granted = (hour: number, since: number, more: Partial<HistoryLine> = {}) =>
  line(hour, 'granted', { since: at(since), ...more });
const OPEN: OpenLease = {
  ...{ job: 'a', number: 1, project: 'vision', user: 'ann', priority: 3, submittedAt: T0, tier: 0, units: { v4: 16 } },
  startedAt: at(-9),
};

interface Known {
  readonly open?: readonly OpenLease[];
  readonly waiting?: readonly OpenRequest[];
  readonly gaps?: readonly Gap[];
}
/** Of four stretches of an hour. */
function use(lines: readonly HistoryLine[], { open = [], waiting = [], gaps = [] }: Known = {}): readonly UseSeries[] {
  const stories = leaseStories(lines, WINDOW, open);
  return useOverTime({ window: WINDOW, stretches: 4, stories, lines, waiting, gaps });
}

describe('who had and who wanted the units of a pool, over time', () => {
  it('holds from the grant until the slices are seen gone, as the mean of each stretch', () => {
    const [series, ...more] = use([granted(0.5, 0.25), line(1, 'chips'), line(2.25, 'freed')]);
    assert.deepEqual(series, { project: 'vision', type: 'v4', held: [8, 16, 4, 0], waiting: [4, 0, 0, 0] });
    assert.equal(more.length, 0);
  });

  it('of a lease from before, and of one that nothing is told of, to the present', () => {
    assert.deepEqual(use([line(1, 'freed')])[0]?.held, [16, 0, 0, 0]);
    assert.deepEqual(use([], { open: [OPEN] })[0]?.held, [16, 16, 16, 16]);
  });

  it('a lease whose end no line tells counts until its last line', () => {
    assert.deepEqual(use([granted(0, 0), line(1.5, 'chips')])[0]?.held, [16, 8, 0, 0]);
  });

  it('those who wait now, and those who gave up, count as those who got their chips', () => {
    const units = { v4: 8 };
    const waiting = [{ project: 'vision', units, since: at(3) }];
    const gone = line(2, 'withdrawn', { since: at(1), units });
    assert.deepEqual(use([gone], { waiting })[0]?.waiting, [0, 8, 0, 8]);
  });

  it('what is not known is null and never 0, and a stretch that is known in part has the mean of that part', () => {
    const gaps = [
      { from: T0, to: at(1), why: '' },
      { from: at(2.5), to: at(3), why: '' },
    ];
    const { held, waiting } = use([granted(2, 0)], { open: [{ ...OPEN, startedAt: at(2) }], gaps })[0]!;
    assert.deepEqual(held, [null, 0, 16, 16]);
    assert.deepEqual(waiting, [null, 16, 0, 0]);
  });

  it('who waited is not known before the last line of a build that did not tell', () => {
    const lines = [
      line(1, 'granted'),
      line(1.5, 'freed'),
      granted(3, 2.5, { lease: 2 }),
      line(4, 'freed', { lease: 2 }),
    ];
    const [series] = use(lines);
    assert.deepEqual(series?.waiting, [null, 0, 8, 0]);
    assert.deepEqual(series?.held, [0, 8, 0, 16]);
  });

  it('keeps types and projects apart, those with most use first, and more than twenty as one', () => {
    const lines = Array.from({ length: 22 }, (_, index) =>
      granted(0, 0, {
        job: `j${index}`,
        project: `p${index}`,
        units: { v4: 100 - index, ...(index === 0 && { v5e: 1 }) },
      }),
    );
    const open = lines.map(({ job = '', project = '', units = {} }) => ({
      ...OPEN,
      job,
      project,
      units,
      startedAt: T0,
    }));
    const all = use(lines, { open });
    assert.deepEqual(
      all.filter(({ type }) => type === 'v5e').map(({ project }) => project),
      ['p0'],
    );
    const v4 = all.filter(({ type }) => type === 'v4');
    assert.deepEqual(
      [v4.length, v4[0]?.project, v4.at(-1)?.project, v4.at(-1)?.held[0]],
      [21, 'p0', '2 others', 80 + 79],
    );
  });
});

describe('where lines of a history are missing', () => {
  const part = (
    epoch: number,
    number: number,
    from: number,
    to: number,
    more: Partial<HistoryPart> = {},
  ): HistoryPart => ({
    ...{ epoch, number, from: at(from), to: at(to) },
    ...more,
  });
  const gaps = (parts: readonly HistoryPart[], isFirst = false): readonly string[] =>
    gapsBetween(parts, WINDOW, isFirst).map(
      ({ from, to, why }) => `${(from - T0) / HOUR}-${(to - T0) / HOUR} ${why.split(' ').slice(0, 3).join(' ')}`,
    );

  it('nowhere if each part follows the one before, whatever their order, and a quiet time is none', () => {
    assert.deepEqual(gaps([part(1, 8, 3, 3.5), part(1, 7, 0.5, 1), { epoch: 1, from: at(3.6), to: at(3.7) }]), []);
  });

  it('before the first part of all, between parts if one is gone, and around one that cannot be read', () => {
    assert.deepEqual(gaps([part(1, 0, 1, 2)]), ['0-1 the pool has']);
    assert.deepEqual(gaps([{ epoch: 1, from: at(2), to: at(2.5) }], true), ['0-2 the pool has']);
    assert.deepEqual(gaps([part(1, 4, 0, 1), part(1, 6, 2, 3)]), ['1-2 lines of its']);
    assert.deepEqual(gaps([part(1, 4, 0, 1), part(1, 5, 1.5, 2, { isDamaged: true }), part(1, 6, 3, 4)]), [
      '1-3 lines could not',
    ]);
  });

  it('between two memories of the pool', () => {
    assert.deepEqual(gaps([part(9, 4, 0, 1), part(10, 0, 2, 3)]), ['1-2 the pool lost']);
  });
});
