import assert from 'node:assert/strict';
import { AcceleratorWaits } from '../../activities/attempt/accelerator-waits.js';
import type { AttemptHost } from '../../activities/attempt/attempt-hosts.js';
import type { RunStatus } from '../../cloud/hosts/port.js';

const host = (number: number): AttemptHost => ({ number }) as AttemptHost;
const waiting = (waitsFor: string): RunStatus => ({ kind: 'starting', waitsFor });
const RUNNING: RunStatus = { kind: 'running', startedAt: 1, outputBytes: 0 };

/** Answers these, one at each look. */
const says = (...all: RunStatus[]) => {
  const left = [...all];
  return () => Promise.resolve(left.shift() ?? RUNNING);
};

describe('a wait for an accelerator', () => {
  it('is told to the job, with each change and its end', async () => {
    const told: (string | undefined)[] = [];
    const waits = new AcceleratorWaits((what) => void told.push(what));
    const end = await waits.through(host(0), waiting('7 (hold.py)'), says(waiting('7 (hold.py)'), waiting('8 (b)')));
    assert.deepEqual(end, RUNNING);
    assert.deepEqual(told, ['waits for the accelerator: 7 (hold.py)', 'waits for the accelerator: 8 (b)', undefined]);
  });

  it('of several hosts is one sentence, until the last of them has gone on', async () => {
    const told: (string | undefined)[] = [];
    const waits = new AcceleratorWaits((what) => void told.push(what));
    await waits.through(host(2), waiting('7 (a)'), async () => {
      await waits.through(host(3), waiting('9 (b)'), says());
      return RUNNING;
    });
    const first = 'waits for the accelerator of host 2: 7 (a)';
    assert.deepEqual(told, [first, `${first}, and 1 more host`, first, undefined]);
  });

  it('is over where it cannot be asked any more', async () => {
    const told: (string | undefined)[] = [];
    const waits = new AcceleratorWaits((what) => void told.push(what));
    await assert.rejects(waits.through(host(0), waiting('7 (a)'), () => Promise.reject(new Error('gone'))));
    assert.equal(told.at(-1), undefined);
  });

  it('that is none is not told', async () => {
    const waits = new AcceleratorWaits(assert.fail);
    assert.deepEqual(await waits.through(host(0), { kind: 'starting' }, assert.fail), { kind: 'starting' });
  });
});
