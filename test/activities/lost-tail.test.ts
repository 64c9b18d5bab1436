import assert from 'node:assert/strict';
import { KnownOutput } from '../../activities/attempt/lost-tail.js';

const BEGUN = 1_000;
const STORED = 2_000;
const running = (outputBytes: number) => ({ kind: 'running', startedAt: BEGUN, outputBytes }) as const;

/** True where it is this moment's. */
const isNow = (until: number | undefined): boolean => until !== undefined && Math.abs(Date.now() - until) < 10_000;

describe('until when the output of a host is known', () => {
  it('is unknown, and nothing is missed, while nobody told the host to start', () => {
    assert.equal(new KnownOutput(undefined).until(undefined), undefined);
  });

  it('is when the host was told to start, whatever became of its answer', () => {
    const known = new KnownOutput(undefined);
    known.asked();
    assert.ok(isNow(known.until(undefined)));
  });

  it('is since the beginning where an earlier worker may have started it, and nothing is stored', () => {
    assert.equal(new KnownOutput(BEGUN).until(undefined), BEGUN);
  });

  it('is what an earlier worker stored, also when the host was asked and never answered', () => {
    const known = new KnownOutput(BEGUN);
    known.asked();
    assert.equal(known.until(STORED), STORED);
  });

  it('is not now while output that was printed before is still being read', () => {
    const known = new KnownOutput(BEGUN);
    known.attached(running(100), 40);
    known.read(99);
    assert.equal(known.until(STORED), STORED);
    known.read(100);
    assert.ok(isNow(known.until(STORED)));
  });

  it('is now where all that was printed is stored', () => {
    const known = new KnownOutput(BEGUN);
    known.attached(running(100), 100);
    assert.ok(isNow(known.until(STORED)));
  });

  it('says nothing new by what is read before the host answered', () => {
    const known = new KnownOutput(BEGUN);
    known.read(1_000);
    assert.equal(known.until(undefined), BEGUN);
  });
});
