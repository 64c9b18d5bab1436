import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { LeaseHold } from '../../workflows/job/lease.js';
import { Inbox } from '../../workflows/inbox.js';
import { OneAtATime } from '../../workflows/one-at-a-time.js';
import { BareRun } from './bare-run.js';
import { DEMAND } from './lease-messages.js';

/** Answers that a test ends itself. */
class Answers {
  readonly ends: { readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  readonly asked = new OneAtATime(() => new Promise((end, fail) => this.ends.push({ end, fail })));
}

describe('an answer of which one is under way at a time', () => {
  it('is given at once, and once more for all that asked meanwhile', async () => {
    const { asked, ends } = new Answers();
    const first = asked.ask();
    assert.equal(ends.length, 1, 'at once');
    for (let times = 0; times < 1_000; times++) await asked.ask();
    assert.equal(ends.length, 1);
    ends[0]?.end();
    await turn();
    assert.equal(ends.length, 2, 'once more');
    ends[1]?.end();
    await first;
    assert.equal(ends.length, 2, 'and no more');
    void asked.ask();
    assert.equal(ends.length, 3, 'a later question is answered anew');
  });

  it('that fails says so to who asked first, and the next question is answered', async () => {
    const { asked, ends } = new Answers();
    const first = asked.ask();
    await asked.ask();
    ends[0]?.fail(new Error('cancelled'));
    assert.ok(first);
    await assert.rejects(first, /cancelled/);
    assert.equal(ends.length, 1);
    void asked.ask();
    assert.equal(ends.length, 2);
  });
});

describe('a job whose pool asks 2,500 times in one workflow task', () => {
  afterEach(() => BareRun.end());

  it('has one message on its way: Temporal takes 2,000 activities of a workflow, and fails the task beyond', async () => {
    const run = new BareRun();
    const lease = new LeaseHold('p', DEMAND, { present: [] }, { number: 1, epoch: 0, askedAt: 1 });
    const inbox = new Inbox();
    lease.listen(inbox);
    inbox.open();
    for (let epoch = 0; epoch < 2_500; epoch++) run.send('restate', { epoch });
    const sent = (): readonly number[] => run.commands().flatMap(({ scheduleActivity }) => scheduleActivity?.seq ?? []);
    const [first = 0, ...others] = sent();
    assert.deepEqual(others, []);
    run.activator.resolveActivity({ seq: first, result: { completed: {} } });
    await turn();
    const [second = 0, ...more] = sent();
    assert.ok(second > first, 'the last question is answered too');
    run.activator.resolveActivity({ seq: second, result: { completed: {} } });
    await turn();
    assert.deepEqual([...more, ...sent()], [], 'and no other');
    await lease.settled();
  });
});
