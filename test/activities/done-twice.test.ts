import assert from 'node:assert/strict';
import { doneTwiceActivity, wasLost } from '../../activities/done-twice.js';
import type { AttemptRecord } from '../../contract/job-activities.js';
import { doneTwiceText } from '../../domain/done-twice.js';
import { attemptObject, logPrefix } from '../../domain/store-layout.js';

const job = { id: 'train', run: 'run' };

type Ending = Pick<AttemptRecord, 'end' | 'ended'>;
type EndFacts = NonNullable<AttemptRecord['ended']>;
const LEFT = { preemption: 'left', infrastructure: 'left', task: 'left', requested: 'left' } as const;
const ended = (end: EndFacts['end'], other: Partial<EndFacts> = {}): EndFacts => ({
  ...{ end, lease: 'stands', restart: 'not asked for', loop: 'none', ...LEFT },
  ...other,
});
const PREEMPTED: Ending = { end: 'slices-lost', ended: ended('slices preempted') };

/** Attempts of eleven steps each. @param firstOf the step at which an attempt begins */
async function askedOf(
  attempts: number,
  firstOf: (attempt: number) => number,
  endOf: (attempt: number) => Ending | undefined = () => PREEMPTED,
) {
  const numbers = Array.from({ length: attempts }, (_, index) => index + 1);
  const read: number[] = [];
  const { findDoneTwice } = doneTwiceActivity({
    logSides: async (prefix, host) => {
      const attempt = numbers.find((each) => prefix === logPrefix(job.id, each, 'command'));
      assert.ok(attempt !== undefined && host === 0, `${prefix} of host ${host}`);
      read.push(attempt);
      return Buffer.from(Array.from({ length: 11 }, (_, at) => `step ${firstOf(attempt) + at}\n`).join(''));
    },
    store: {
      read: async (name) => {
        const record = endOf(numbers.find((each) => name === attemptObject(job.id, each)) ?? 0);
        return record && Buffer.from(JSON.stringify(record));
      },
    },
  });
  const { doneTwice: found, lost } = await findDoneTwice({ job, attempts });
  return { said: found && doneTwiceText(found), found, lost, read };
}

describe('the attempts whose logs tell what was done twice', () => {
  it('are all of a few', async () => {
    const { said, read } = await askedOf(3, (attempt) => 9 * attempt);
    assert.deepEqual(read, [1, 2, 3]);
    assert.equal(said, 'step 18 to 19 by attempt 2; step 27 to 28 by attempt 3');
  });

  it('are the last of many, of which none is said to begin where the job did', async () => {
    const { found, read } = await askedOf(300, () => 1);
    assert.deepEqual(
      read,
      Array.from({ length: 40 }, (_, index) => 261 + index),
    );
    assert.deepEqual(
      found?.again.filter(({ isAll }) => isAll),
      [],
    );
    assert.equal(found?.again.length, 39);
  });

  it('are none where no log can be read', async () => {
    const store = { read: async () => undefined };
    assert.deepEqual(await doneTwiceActivity({ store }).findDoneTwice({ job, attempts: 2 }), {});
  });

  it('are none behind a start that the command asked for', async () => {
    const asked: Ending = { end: 'exited', ended: ended('restart code') };
    const begin = (): number => 1;
    const always = await askedOf(3, begin, () => asked);
    assert.equal(always.said, undefined);
    const once = await askedOf(3, begin, (attempt) => (attempt === 1 ? asked : PREEMPTED));
    assert.equal(once.said, 'step 1 to 11 by attempt 3');
  });
});

describe('an attempt was lost', () => {
  const CASES: Readonly<Record<string, { readonly record: Ending; readonly is: boolean }>> = {
    'by a preemption': { record: PREEMPTED, is: true },
    'by a failure of its slice': { record: { end: 'slices-lost', ended: ended('slices failed') }, is: true },
    'by quota': { record: { end: 'revoked', ended: ended('interrupted', { lease: 'revoked' }) }, is: true },
    'by its own failure, which is tried again': { record: { end: 'exited', ended: ended('another code') }, is: true },
    'by a lost run': { record: { end: 'run-lost', ended: ended('run lost') }, is: true },
    'not by restart_on': { record: { end: 'exited', ended: ended('restart code') }, is: false },
    'not by a loop': { record: { end: 'exited', ended: ended('another code', { loop: 'again' }) }, is: false },
    'not by a loop that ended well': {
      record: { end: 'exited', ended: ended('code 0', { loop: 'again' }) },
      is: false,
    },
    'by a preemption of a loop': {
      record: { end: 'slices-lost', ended: ended('slices preempted', { loop: 'again' }) },
      is: true,
    },
    'not by a restart': {
      record: { end: 'restarted', ended: ended('interrupted', { restart: 'asked for' }) },
      is: false,
    },
    'not by its failure behind a restart': {
      record: { end: 'exited', ended: ended('another code', { restart: 'asked for' }) },
      is: false,
    },
    'not by a stop': { record: { end: 'stopped', ended: ended('interrupted') }, is: false },
    'not by a requeue': { record: { end: 'requeued', ended: ended('interrupted') }, is: false },
    'not by an end that nobody recorded': { record: {}, is: false },
  };
  for (const [name, { record, is }] of Object.entries(CASES)) it(name, () => assert.equal(wasLost(record), is));

  it('not by a missing record', async () => {
    const { said } = await askedOf(2, Number, () => undefined);
    assert.equal(said, undefined);
  });
});
