import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { UnreachableHosts } from '../../activities/attempt/unreachable-hosts.js';
import type { HostTarget } from '../../cloud/hosts/port.js';
import type { UnreachableHost } from '../../contract/job.js';

const NOW = Date.UTC(2026, 10, 27);
const target = (slice: number, index: number): HostTarget => ({ slice, index }) as HostTarget;

describe('a host that does not answer', () => {
  let told: (readonly UnreachableHost[])[];
  beforeEach(() => {
    told = [];
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: NOW });
    mock.method(performance, 'now', () => Date.now() - NOW + 1_000_000);
  });
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });
  const hosts = (before: readonly UnreachableHost[] = []): UnreachableHosts =>
    new UnreachableHosts(before, (news) => told.push(news));
  const pass = (ms: number): void => mock.timers.tick(ms);

  it('is news once it misses a try 15 s after the first that it missed, with the time of that one', () => {
    const silent = hosts();
    silent.silent(target(0, 1));
    pass(14_999);
    silent.silent(target(0, 1));
    pass(500);
    assert.deepEqual([told, silent.since(target(0, 1)), silent.isSilent(target(0, 1))], [[], undefined, true]);
    silent.silent(target(0, 1));
    silent.silent(target(0, 1));
    pass(499);
    assert.deepEqual(told, []);
    pass(1);
    assert.deepEqual(told, [[{ slice: 0, host: 1, since: NOW }]]);
    assert.equal(silent.since(target(0, 1)), NOW);
    silent.silent(target(0, 1));
    pass(60_000);
    assert.equal(told.length, 1, 'it is told once');
  });

  it('is no news if it answers before, and counts anew', () => {
    const silent = hosts();
    silent.silent(target(0, 1));
    pass(10_000);
    silent.answered(target(0, 1));
    assert.equal(silent.isSilent(target(0, 1)), false);
    silent.silent(target(0, 1));
    pass(10_000);
    silent.silent(target(0, 1));
    pass(500);
    assert.deepEqual(told, []);
  });

  it('is news again when it answers', () => {
    const silent = hosts([{ slice: 0, host: 1, since: 5 }]);
    assert.deepEqual([silent.isSilent(target(0, 1)), silent.since(target(0, 1))], [true, 5], 'another worker said so');
    assert.deepEqual([silent.isSilent(target(1, 1)), silent.since(target(1, 1))], [false, undefined]);
    silent.answered(target(0, 1));
    pass(500);
    assert.deepEqual([told, silent.isSilent(target(0, 1))], [[[]], false]);
    silent.answered(target(0, 1));
    pass(500);
    assert.equal(told.length, 1);
  });

  it('is told with all others, in their order, 64 at most: many fall silent at once', () => {
    const silent = hosts();
    const all = [...Array.from({ length: 70 }, (_, index) => target(1, 69 - index)), target(0, 3)];
    for (const each of all) silent.silent(each);
    pass(15_000);
    for (const each of all) silent.silent(each);
    pass(500);
    assert.equal(told.length, 1);
    const places = told[0]?.map(({ slice, host }) => [slice, host]) ?? [];
    assert.deepEqual(places, [[0, 3], ...Array.from({ length: 63 }, (_, index) => [1, index])]);
    pass(500);
    silent.answered(target(0, 3));
    pass(500);
    assert.equal(told.length, 2);
  });
});
