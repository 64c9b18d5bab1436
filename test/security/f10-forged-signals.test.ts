import assert from 'node:assert/strict';
import { leaseMessageForm } from '../../contract/quota-forms.js';
import { leaseMessagesSignal } from '../../contract/quota.js';
import type { Demand } from '../../domain/lease.js';
import { Inbox, notAhead } from '../../workflows/inbox.js';
import { LeaseHold } from '../../workflows/job/lease.js';
import { BareRun } from '../workflows/bare-run.js';

/**
 * F10: one forged `revoked` of epoch 999999999999999 ended a job's command, and the job never came back: each later word of its
 * pool was older. At 19b9c1e `LeaseHold` took any epoch, and kept it for all lease numbers to come: both tests of a job fail there.
 * The same with a real pool and server: test/long/security/pool-rules.test.ts.
 */
const NEVER = 999_999_999_999_999;
const DEMAND: Demand = { project: 'p', user: 'u', priority: 3, submittedAt: 1, units: { v4: 8 }, zones: ['z'] };

/** A job's side of its lease, as its workflow makes it. */
class Run extends BareRun {
  readonly lease = new LeaseHold('default', DEMAND, { present: [] });

  constructor() {
    super();
    const inbox = new Inbox();
    this.lease.listen(inbox);
    inbox.open();
  }

  say(signal: 'granted' | 'revoked' | 'restate', number: number, epoch: number): this {
    const of = { run: 'run-1', number, epoch };
    const more = { granted: { tier: 0 }, revoked: { reason: 'r', cause: 'quota' }, restate: {} }[signal];
    return this.send(signal, { ...of, ...more });
  }

  /** What was counted as refused, by signal and reason. */
  get refused(): readonly string[] {
    const calls = this.activator.getAndResetSinkCalls();
    return calls.flatMap(({ ifaceName, args }) => {
      const tags = args.find((each): each is object => typeof each === 'object' && each !== null && 'reason' in each);
      const { signal = '', reason = '' } = (tags ?? {}) as { signal?: string; reason?: string };
      return ifaceName.includes('metric') && tags !== undefined ? [`${signal} ${reason}`] : [];
    });
  }
}

describe('F10: forged signals to a job', () => {
  afterEach(() => BareRun.end());
  const now = (): number => Date.now();

  for (const signal of ['granted', 'revoked', 'restate'] as const)
    it(`a ${signal} of an epoch that no pool has reached is dropped and counted, and the pool is heard as before`, () => {
      const run = new Run();
      const epoch = now() - 60_000;
      run.say('granted', 1, epoch);
      assert.ok(run.lease.isHeld);
      assert.deepEqual(run.refused, []);
      run.say(signal, 1, NEVER).say(signal, 1, now() + 11 * 60_000);
      assert.equal(run.lease.revocation, undefined);
      assert.deepEqual(run.refused, [`${signal} malformed`, `${signal} malformed`]);
      run.say('revoked', 1, epoch);
      assert.deepEqual(run.lease.revocation, { reason: 'r', cause: 'quota' }, 'the word of the pool itself');
    });

  it('an epoch of now costs the job its lease, and not its ears: the next number is granted by the pool as it is', () => {
    const run = new Run();
    const epoch = now() - 60_000;
    run.say('granted', 1, epoch).say('revoked', 1, now());
    assert.ok(run.lease.revocation);
    void run.lease.giveBack();
    assert.equal(run.lease.id.number, 2);
    run.say('granted', 2, epoch);
    assert.ok(run.lease.isHeld, 'granted under its next number');
  });

  it('what an older run of the pool says of the same number is still old, also over a continue-as-new', () => {
    const run = new Run();
    const epoch = now() - 60_000;
    run
      .say('granted', 1, epoch)
      .say('restate', 1, epoch + 1_000)
      .say('revoked', 1, epoch);
    assert.equal(run.lease.revocation, undefined);
    void run.lease.giveBack();
    const carry = run.lease.carry();
    assert.deepEqual([carry.epoch, carry.numberEpoch], [epoch + 1_000, 0]);
    run.say('granted', 2, epoch + 1_000);
    assert.equal(run.lease.carry().numberEpoch, undefined, 'the same as the epoch is not carried');
    const next = new LeaseHold('default', DEMAND, { present: [] }, carry);
    assert.deepEqual(next.carry(), carry);
  });

  it('a lease message of a sequence that nobody has reached is dropped, and its sender is heard as before', () => {
    const run = new BareRun();
    const heard: number[] = [];
    const form = notAhead(leaseMessageForm, 'sequence', ({ sequence }) => sequence);
    new Inbox().onEach(leaseMessagesSignal, form, (all) => heard.push(...all.map(({ sequence }) => sequence))).open();
    const lease = { pool: 'p', job: 'j', run: 'r', number: 1 };
    const message = (sequence: number): object => ({ lease, sender: 'job', sequence, body: { kind: 'gone' } });
    const at = now();
    run.send('leaseMessages', [message(NEVER), message(at), message(at + 60_000)]);
    assert.deepEqual(heard, [at, at + 60_000], 'clocks of servers differ by less than ten minutes');
  });
});
