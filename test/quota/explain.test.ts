import assert from 'node:assert/strict';
import { explainWaiting, ordinal, position } from '../../quota/explain.js';
import { UNLIMITED } from '../../quota/quota-config.js';
import { lease, pool, project, request } from './builders.js';

const NOW = 100;

describe('quota: why a job waits', () => {
  const config = pool({ v5litepod: 32 }, project('own', { v5litepod: 16 }));
  const leases = [lease('old', { v5litepod: 24 })];
  const requests = [
    request('second', { v5litepod: 16 }, { submittedAt: 2 }),
    request('first', { v5litepod: 32 }, { submittedAt: 1 }),
    request('own', { v5litepod: 16 }, { project: 'own', submittedAt: 3, priority: 5 }),
  ];
  const place = (id: string): number | undefined => position(config, requests, leases, NOW, id);
  const why = (id: string): string | undefined => explainWaiting(config, requests, leases, NOW, id);

  it('in-quota demand stands first, then by priority and submit time', () => {
    assert.deepEqual([place('own'), place('first'), place('second'), place('old')], [1, 2, 3, undefined]);
  });
  it('one sentence says what is asked, what is free, and the place in line', () => {
    assert.equal(why('second'), '16 v5litepod asked, 8 of 32 free in the pool; 3rd in line');
    assert.equal(why('nobody'), undefined);
  });
  it('several types are each named', () => {
    const two = pool({ v4: 8, v6e: 4 });
    const asked = [request('a', { v4: 8, v6e: 4 })];
    assert.equal(
      explainWaiting(two, asked, [lease('l', { v4: 16 })], NOW, 'a'),
      '8 v4 and 4 v6e asked, 0 of 8 v4 free, 4 of 4 v6e free in the pool; 1st in line',
    );
  });
  it('an unlimited pool says so', () => {
    const asked = [request('a', { v4: 8 })];
    assert.equal(explainWaiting(UNLIMITED, asked, [], NOW, 'a'), '8 v4 asked; no quota file: the pool is unlimited');
    assert.equal(position(UNLIMITED, asked, [], NOW, 'a'), 1);
  });
  it('ordinals are English', () => {
    assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111].map(ordinal), [
      '1st',
      '2nd',
      '3rd',
      '4th',
      '11th',
      '12th',
      '13th',
      '21st',
      '22nd',
      '101st',
      '111th',
    ]);
  });
});
