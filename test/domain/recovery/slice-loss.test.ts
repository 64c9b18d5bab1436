import assert from 'node:assert/strict';
import { conditionFact, lossText } from '../../../domain/recovery/facts.js';
import type { Condition } from '../../../domain/slice.js';

const lost = (cause: 'preempted' | 'failed'): Condition => ({
  kind: 'lost',
  cause,
  message: 'as the API says',
});
const READY: Condition = { kind: 'ready', uid: '1', hosts: [] };
const WAITING: Condition = { kind: 'waiting', detail: 'CREATING' };
const FOREIGN: Condition = { kind: 'foreign', message: 'of another job' };

describe('what a look at a slice showed', () => {
  it('is a fact: a call without an answer is none of the conditions, and each loss but a preemption is a failure', () => {
    const cases: readonly (readonly [Condition | undefined, string])[] = [
      [undefined, 'no answer'],
      [lost('preempted'), 'preempted'],
      [lost('failed'), 'failed'],
      [{ kind: 'lost', cause: 'refused', scope: 'zone', message: 'no capacity' }, 'failed'],
      [READY, 'ready'],
      [WAITING, 'waiting'],
      [{ kind: 'deleting' }, 'deleting'],
      [{ kind: 'missing' }, 'missing'],
      [FOREIGN, 'foreign'],
    ];
    for (const [seen, fact] of cases) assert.equal(conditionFact(seen), fact);
  });

  it('says why a slice is lost, and is no reason while the slice is there', () => {
    assert.equal(lossText(lost('failed')), 'as the API says');
    assert.equal(lossText(FOREIGN), 'of another job');
    assert.equal(lossText({ kind: 'missing' }), 'the node is gone (NOT_FOUND, twice)');
    assert.equal(lossText({ kind: 'deleting' }), 'the slice is being deleted');
    for (const seen of [READY, WAITING])
      assert.throws(() => lossText(seen), new TypeError(`a slice that is '${seen.kind}' is not lost`));
  });
});
