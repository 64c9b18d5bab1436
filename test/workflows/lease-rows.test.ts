import assert from 'node:assert/strict';
import { leaseKey } from '../../domain/lease.js';
import { newRow } from '../../workflows/quota/lease-row.js';
import { LeaseRows } from '../../workflows/quota/lease-rows.js';
import { DEMAND, JOB } from './lease-messages.js';

const rowOf = (number: number, job = 'j') => newRow({ ...JOB, job, number }, DEMAND);

describe('the rows of a lease book', () => {
  it('are found by key and by job, each once, and no more once they are deleted', () => {
    const [first, second, other] = [rowOf(1), rowOf(2), rowOf(1, 'other')];
    const rows = new LeaseRows([first, second, other]);
    const keyOf = ({ lease }: typeof first): string => leaseKey(lease);
    assert.deepEqual([rows.get(keyOf(second)), rows.get('j/r/9')], [second, undefined]);
    assert.deepEqual([rows.ofJob('j'), rows.ofJob('nobody')], [[first, second], []]);
    const renewed = rowOf(1);
    rows.set(keyOf(first), renewed);
    assert.deepEqual([rows.get(keyOf(first)), rows.ofJob('j').length], [renewed, 2]);
    rows.delete(keyOf(first));
    assert.deepEqual([rows.ofJob('j'), rows.all()], [[second], [second, other]]);
    rows.set(keyOf(first), first);
    assert.deepEqual(rows.ofJob('j'), [second, first]);
    for (const row of [first, second]) rows.delete(keyOf(row));
    rows.delete('j/r/9');
    assert.deepEqual([rows.ofJob('j'), rows.ofJob('other')], [[], [other]]);
    rows.set(keyOf(second), second);
    assert.deepEqual(rows.ofJob('j'), [second]);
  });
});
