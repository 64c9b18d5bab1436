import assert from 'node:assert/strict';
import { patienceLeftMs } from '../../../domain/recovery/decisions.js';

const TWO_MINUTES = 120_000;

describe('the slices of a command that ended are looked at', () => {
  const base = { hosts: 'code 0, unwitnessed', endedAt: 1_000_000, now: 1_000_000, areTakenBack: true } as const;
  const left: Readonly<Record<string, readonly [Partial<Parameters<typeof patienceLeftMs>[1]>, number]>> = {
    'for two minutes from its end': [{}, TWO_MINUTES],
    'for what is left of them by a worker that comes later': [{ now: 1_100_000 }, TWO_MINUTES - 100_000],
    'once by a worker that comes after them': [{ now: 1_300_000 }, 0],
    'once on machines that nobody takes back': [{ areTakenBack: false }, 0],
    'once for a signal of others there': [{ areTakenBack: false, hosts: 'ended by a signal of others' }, 0],
    'for two minutes on one of those that shuts down': [{ areTakenBack: false, hosts: 'shutting down' }, TWO_MINUTES],
  };
  for (const [what, [facts, wantMs]] of Object.entries(left))
    it(what, () => assert.equal(patienceLeftMs('shutdown', { ...base, ...facts }), wantMs));

  it('once if no shutdown can have ended it', () =>
    assert.equal(patienceLeftMs('none', { ...base, hosts: 'shutting down' }), 0));
});
