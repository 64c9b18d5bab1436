import assert from 'node:assert/strict';
import {
  commandEnd,
  type HostCondition,
  type HostEnd,
  hostsFact,
  isGood,
  isShutDown,
  preemptedSlices,
  shutDownEnd,
} from '../../../domain/recovery/host-ends.js';

const at = (host: number) => ({ slice: 0, host });
const done = (host: number): HostEnd => ({
  kind: 'done',
  at: at(host),
  code: 0,
  startedAt: 1,
  endedAt: 9,
  isStopped: false,
});
const failed = (host: number, endedAt: number, code = 1): HostEnd => ({
  kind: 'failed',
  at: at(host),
  code,
  startedAt: 1,
  endedAt,
  isStopped: false,
});
const lost = (host: number): HostEnd => ({ kind: 'run-lost', at: at(host), message: 'gone' });

describe("an attempt's end, from its hosts'", () => {
  it('is code 0 when every host ended with 0', () => {
    assert.deepEqual(commandEnd([done(0), done(1)]), { kind: 'exited', at: at(0), code: 0, startedAt: 1 });
  });
  it('is that of the host that failed first, by time, in whatever order they are told', () => {
    const ends = [failed(0, 30, 143), failed(2, 10, 7), done(1), failed(3, 20, 143)];
    for (const order of [ends, ends.toReversed()])
      assert.deepEqual(commandEnd(order), { kind: 'exited', at: at(2), code: 7, startedAt: 1 });
  });
  it('is a lost run when a host lost it, though others failed of it', () => {
    assert.deepEqual(commandEnd([failed(0, 10), lost(1)]), { kind: 'run-lost', at: at(1), message: 'gone' });
  });
  it('is fenced when a host knows of a later attempt, whatever the rest say', () => {
    assert.deepEqual(commandEnd([failed(0, 1), { kind: 'fenced', at: at(1), epoch: 3 }]), { kind: 'fenced', epoch: 3 });
  });
  it('is an answer to a stop where the host whose code counts was told to end, and its own where it was not', () => {
    const answered = { ...done(1), isStopped: true } as HostEnd;
    const own = { kind: 'exited', at: at(0), code: 0, startedAt: 1 };
    assert.deepEqual(commandEnd([done(0), answered]), { ...own, isStopped: true });
    const killed = { ...failed(1, 20, 143), isStopped: true } as HostEnd;
    assert.deepEqual(commandEnd([killed, failed(0, 10, 7)]), { ...own, code: 7 }, 'stopped since the other failed');
  });
  it('names the signal that ended the host whose code counts', () => {
    const signalled = { ...failed(1, 10, 255), signal: 'SIGSEGV' } as HostEnd;
    const end = { kind: 'exited', at: at(1), code: 255, signal: 'SIGSEGV', startedAt: 1 };
    assert.deepEqual(commandEnd([failed(0, 20), signalled]), end);
  });
  it('says how many processes of that host the kernel killed for want of memory', () => {
    const killed = { ...failed(1, 10, 137), killedForMemory: 2 } as HostEnd;
    const end = { kind: 'exited', at: at(1), code: 137, startedAt: 1, killedForMemory: 2 };
    assert.deepEqual(commandEnd([{ ...failed(0, 20), killedForMemory: 1 } as HostEnd, killed]), end);
  });
  it('cannot be told from nothing', () =>
    assert.throws(() => commandEnd([]), new RangeError('an attempt ended on no host')));

  it('may be a shutdown if SIGTERM or SIGKILL came from others, and not after our own stop', () => {
    const killed = { ...failed(0, 10, 143), signal: 'SIGTERM' } as HostEnd;
    assert.equal(hostsFact([done(1), killed]), 'ended by a signal of others');
    assert.equal(hostsFact([{ ...failed(0, 10, 255), signal: 'SIGKILL' } as HostEnd]), 'ended by a signal of others');
    assert.equal(hostsFact([failed(0, 10, 143), { kind: 'fenced', at: at(1), epoch: 3 }]), 'later attempt');
    assert.equal(hostsFact([failed(0, 10, 137)]), 'ended by a signal of others', 'the shell says 128 and the signal');
    assert.equal(hostsFact([{ ...killed, isStopped: true } as HostEnd]), 'failed');
    assert.equal(hostsFact([failed(0, 10, 1), done(1)]), 'failed');
    assert.equal(hostsFact([failed(0, 10, 143), lost(2)]), 'run lost');
  });

  const on = (end: HostEnd, host: HostCondition, more: object = {}): HostEnd => ({ ...end, host, ...more }) as HostEnd;
  const cases: Record<string, { readonly ends: readonly HostEnd[]; readonly want: string }> = {
    'is code 0 where each host was up as it ended': { ends: [on(done(0), 'up'), on(done(1), 'up')], want: 'code 0' },
    'is unwitnessed where one of them cannot say': { ends: [on(done(0), 'up'), done(1)], want: 'code 0, unwitnessed' },
    'is a shutdown where one host shut down, whatever the code': {
      ends: [on(done(0), 'up'), on(done(1), 'stopping')],
      want: 'shutting down',
    },
    'is a shutdown for a code of its own too': { ends: [on(failed(0, 3), 'stopping')], want: 'shutting down' },
    'is a preemption where one host says so, before all else': {
      ends: [on(done(0), 'stopping'), on(failed(1, 3), 'preempted'), lost(2)],
      want: 'preempted',
    },
    'is an answer to our stop, on hosts that are up': {
      ends: [on(done(0), 'up', { isStopped: true }), on(done(1), 'up')],
      want: 'code 0, told to end',
    },
    'is its own where SIGTERM came to the command alone': { ends: [on(failed(0, 3, 143), 'up')], want: 'failed' },
    'is its own for code 0 too': { ends: [on(done(0), 'up', { signal: undefined })], want: 'code 0' },
    'may be a shutdown of a host that cannot say': {
      ends: [on(done(1), 'up'), failed(0, 3, 143)],
      want: 'ended by a signal of others',
    },
  };
  for (const [name, { ends, want }] of Object.entries(cases)) it(name, () => assert.equal(hostsFact(ends), want));

  it('names the slices that are preempted once each, by their first host that says so', () => {
    const at1 = { slice: 1, host: 3 };
    const ends = [
      on(done(2), 'preempted'),
      on(done(1), 'preempted'),
      on(done(0), 'up'),
      { ...on(done(0), 'preempted'), at: at1 },
    ];
    assert.deepEqual(
      preemptedSlices(ends).map(({ index, cause }) => [index, cause]),
      [
        [0, 'preempted'],
        [1, 'preempted'],
      ],
    );
    assert.match(preemptedSlices(ends)[1]?.message ?? '', /host 3/);
  });
  it('of a host that shut down is a lost run, there', () => {
    const message = 'the host was shutting down as the command ended';
    const ends = [lost(3), on(done(0), 'up'), on(done(1), 'stopping')];
    assert.deepEqual(shutDownEnd(ends), { kind: 'run-lost', at: at(1), message });
    assert.throws(() => shutDownEnd([done(0)]), new RangeError('no host was shutting down'));
  });
});

describe('an end on one host', () => {
  const of = (code: number, host?: HostCondition): HostEnd => {
    const exit = { at: at(0), code, startedAt: 1, endedAt: 9, isStopped: false, ...(host && { host }) };
    return { kind: code === 0 ? 'done' : 'failed', ...exit };
  };
  it('is good if it is code 0 of a host that stays', () => {
    assert.deepEqual([of(0), of(0, 'up'), of(1, 'up'), of(0, 'stopping'), of(0, 'preempted')].map(isGood), [
      ...[true, true, false, false, false],
    ]);
  });
  it('may be a shutdown’s where its host said so', () => {
    assert.deepEqual([of(0), of(1, 'up'), of(1, 'stopping'), of(0, 'preempted'), lost(0)].map(isShutDown), [
      ...[false, false, true, true, false],
    ]);
  });
});
