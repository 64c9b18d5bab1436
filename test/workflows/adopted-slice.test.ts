import assert from 'node:assert/strict';
import type { AttemptEnd } from '../../contract/job-activities.js';
import { adoptedName } from '../../domain/machines.js';
import type { CreateAnswer } from '../../domain/slice.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { WaitingJob } from './waiting-job.js';

const MINUTE = 60_000;
const ZONE = 'us-east1-d';
const WORD = 'waiting for the word of the owner of node by-hand: gcloud ..';
const FILE = { zones: [ZONE], tpu: { adopt: 'by-hand', allocation_mode: 'tpu-vm' } };
const waiting: CreateAnswer = { kind: 'not-yet', message: WORD, isUntouched: true };

describe('a job that adopts a node', function () {
  this.timeout(60_000);

  it('shows what it waits for, goes on step by step, and runs', async () => {
    const steps: readonly CreateAnswer[] = [
      ...[waiting, waiting, waiting, waiting, waiting, waiting],
      { kind: 'not-yet', message: 'the node is marked' },
      { kind: 'not-yet', message: 'the node does not let jobctl in yet' },
    ];
    const job = await WaitingJob.submit(FILE, {
      create: (_, nth) => steps[nth - 1] ?? { kind: 'accepted' },
      wait: () => READY,
    });
    await job.until(5_000);
    const { slices, why, events } = await job.view();
    assert.equal(slices[0]?.detail, WORD);
    assert.equal(why, 'adopting node by-hand (v6e-8) in us-east1-d');
    await job.until(2 * MINUTE);
    const later = await job.view();
    assert.equal(later.phase, 'running');
    assert.equal(job.asked.length, steps.length + 1);
    // A reason that stays is told once.
    assert.equal(later.events.filter(({ text }) => text.includes('adopting')).length, 1);
    assert.ok(events.length < 8, String(events.length));
  });

  it('fails after a quarter of an hour without a word, and asks for no other slice', async () => {
    const job = await WaitingJob.submit(FILE, { create: () => waiting });
    await job.until(14 * MINUTE);
    assert.equal(job.isOpen, true);
    await job.until(17 * MINUTE);
    assert.match(job.outcome.cause?.message ?? '', /waiting for the word of the owner .*: none within 15 min/);
    assert.equal(job.isOpen, false);
  });

  it('waits longer for a node that has been touched', async () => {
    const job = await WaitingJob.submit(FILE, { create: () => ({ kind: 'not-yet', message: 'its labels' }) });
    await job.until(20 * MINUTE);
    assert.equal((await job.view()).slices[0]?.detail, 'its labels');
  });

  it('can be cancelled while it waits', async () => {
    const job = await WaitingJob.submit(FILE, { create: () => waiting });
    await job.until(MINUTE);
    job.cancel();
    await job.until(2 * MINUTE);
    assert.equal(job.end?.kind, 'cancelled');
  });

  it('makes an ordinary request after the node was taken away', async () => {
    const names: (string | undefined)[] = [];
    let runs = 0;
    const lost: AttemptEnd = {
      kind: 'slices-lost',
      slices: [{ index: 0, cause: 'preempted', message: 'the node is PREEMPTED' }],
    };
    const job = await WaitingJob.submit(FILE, {
      create: (_, __, { ref }) => {
        names.push(adoptedName(ref));
        return { kind: 'accepted' };
      },
      wait: () => READY,
      run: () => (++runs === 1 ? Promise.resolve(lost) : undefined),
    });
    await job.until(5 * MINUTE);
    assert.equal((await job.view()).phase, 'running');
    assert.deepEqual(names, ['by-hand', undefined]);
    const asked = (await job.view()).events.filter(({ kind }) => kind === 'provisioning').map(({ text }) => text);
    assert.match(asked[1] ?? '', /1 x v6e-8 in us-east1-d/);
  });

  it('adopts again if the node was lost before it was ready', async () => {
    const names: (string | undefined)[] = [];
    const job = await WaitingJob.submit(FILE, {
      create: (_, nth, { ref }) => {
        names.push(adoptedName(ref));
        return nth === 1 ? { kind: 'refused', scope: 'moment', message: 'busy' } : { kind: 'accepted' };
      },
      wait: (_, nth) => (nth === 1 ? { kind: 'lost', cause: 'failed', message: 'it stopped' } : READY),
    });
    await job.until(10 * MINUTE);
    assert.equal((await job.view()).phase, 'running');
    assert.deepEqual([...new Set(names)], ['by-hand']);
  });
});
