import assert from 'node:assert/strict';
import { type HostEnd, verdictOf, wasEndedByOthers } from '../../activities/attempt/host-ends.js';

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
    assert.deepEqual(verdictOf([done(0), done(1)]), { kind: 'exited', at: at(0), code: 0, startedAt: 1 });
  });
  it('is that of the host that failed first, by time, in whatever order they are told', () => {
    const ends = [failed(0, 30, 143), failed(2, 10, 7), done(1), failed(3, 20, 143)];
    for (const order of [ends, ends.toReversed()])
      assert.deepEqual(verdictOf(order), { kind: 'exited', at: at(2), code: 7, startedAt: 1 });
  });
  it('is a lost run when a host lost it, though others failed of it', () => {
    assert.deepEqual(verdictOf([failed(0, 10), lost(1)]), { kind: 'run-lost', at: at(1), message: 'gone' });
  });
  it('is fenced when a host knows of a later attempt, whatever the rest say', () => {
    assert.deepEqual(verdictOf([failed(0, 1), { kind: 'fenced', at: at(1), epoch: 3 }]), { kind: 'fenced', epoch: 3 });
  });
  it('is an answer to a stop where the host whose code counts was told to end, and its own where it was not', () => {
    const answered = { ...done(1), isStopped: true } as HostEnd;
    const own = { kind: 'exited', at: at(0), code: 0, startedAt: 1 };
    assert.deepEqual(verdictOf([done(0), answered]), { ...own, isStopped: true });
    const killed = { ...failed(1, 20, 143), isStopped: true } as HostEnd;
    assert.deepEqual(verdictOf([killed, failed(0, 10, 7)]), { ...own, code: 7 }, 'stopped since the other failed');
  });
  it('cannot be told from nothing', () => assert.throws(() => verdictOf([]), RangeError));

  it('may be a shutdown where SIGTERM or SIGKILL came from somebody else, and is none after our own stop', () => {
    const killed = { ...failed(0, 10, 143), signal: 'SIGTERM' } as HostEnd;
    assert.equal(wasEndedByOthers([done(1), killed]), true);
    assert.equal(wasEndedByOthers([failed(0, 10, 137)]), true, 'the shell says 128 and the signal');
    assert.equal(wasEndedByOthers([{ ...killed, isStopped: true } as HostEnd]), false);
    assert.equal(wasEndedByOthers([failed(0, 10, 1), done(1), lost(2)]), false);
  });
});
