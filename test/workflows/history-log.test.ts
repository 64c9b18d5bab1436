import assert from 'node:assert/strict';
import type { HistoryLine } from '../../quota/pool-history.js';
import { HistoryLog } from '../../workflows/quota/history-log.js';
import { TextPages } from '../../workflows/quota/queries.js';

const NOW = Date.UTC(2026, 10, 21, 23, 59, 59);
const line = (at: number, job = 'j'): HistoryLine => ({ at, kind: 'granted', job });
const textOf = (lines: readonly string[] | undefined): readonly unknown[] =>
  (lines ?? []).map((one) => (JSON.parse(one) as HistoryLine).job);

describe('lines of a pool’s history', () => {
  it('are due half a minute after the first, or at once when there are many', () => {
    const log = new HistoryLog('p', 7, NOW);
    assert.equal(log.dueAt, undefined);
    log.add(line(NOW));
    log.add(line(NOW + 20_000));
    assert.equal(log.dueAt, NOW + 30_000);
    for (let index = 0; index < 200; index++) log.add(line(NOW));
    assert.equal(log.dueAt, 0);
  });

  it('lie in the day of the first, under the pool’s epoch and a number that grows', () => {
    const log = new HistoryLog('p', 7, NOW);
    log.add(line(NOW, 'first'));
    log.add(line(NOW + 5_000, 'of the next day'));
    const { day, name, lines } = log.nextPart(NOW + 30_000) ?? {};
    assert.deepEqual([day, name, textOf(lines)], ['2026-11-21', '7-00000000', ['first', 'of the next day']]);
    log.written();
    log.add(line(NOW + 40_000));
    assert.equal(log.nextPart(NOW + 70_000)?.name, '7-00000001');
  });

  it('keep name and content until they are written, also over a continue-as-new, and then give way to the next', () => {
    const log = new HistoryLog('p', 7, NOW);
    log.add(line(NOW, 'one'));
    const part = log.nextPart(NOW);
    log.add(line(NOW, 'two'));
    assert.deepEqual(log.nextPart(NOW), part, 'asked again before it was written');
    const carry = JSON.parse(JSON.stringify(log.carry())) as ReturnType<HistoryLog['carry']>;
    const next = new HistoryLog('p', 7, NOW + 1, carry);
    assert.deepEqual(next.nextPart(NOW + 1), part);
    next.written();
    const second = next.nextPart(NOW + 1);
    assert.deepEqual([second?.name, textOf(second?.lines)], ['7-00000001', ['two']]);
  });

  it('wait for a store that is away, the newest 5,000 of them', () => {
    const log = new HistoryLog('p', 7, NOW);
    for (let index = 0; index < 6_000; index++) log.add(line(NOW, `j${index}`));
    assert.deepEqual([log.carry().lines.length, textOf(log.carry().lines)[0]], [5_000, 'j1000']);
  });
});

describe('an answer in pages', () => {
  it('is whole when its pages are put together, and made once for each version', () => {
    let made = 0;
    const text = 'x'.repeat(2_500_000);
    const pages = new TextPages(() => {
      made += 1;
      return text;
    });
    const first = pages.page('a', 0);
    const all = Array.from({ length: first.pages }, (_, page) => pages.page('a', page).text);
    assert.deepEqual([first.pages, all.join('') === text, made], [3, true, 1]);
    pages.page('b', 0);
    assert.equal(made, 2);
  });
});
