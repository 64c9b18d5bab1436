import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { isOver, KnownOutput, lostTailText } from '../../activities/attempt/lost-tail.js';
import type { AttemptEnd } from '../../contract/job-activities.js';

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

describe('what a log says of its missing end', () => {
  const NOW = Date.UTC(2026, 10, 27, 12);
  beforeEach(() => mock.timers.enable({ apis: ['Date'], now: NOW }));
  afterEach(() => mock.timers.reset());
  const lost = (...messages: readonly string[]): AttemptEnd => ({
    kind: 'slices-lost',
    slices: messages.map((message, index) => ({ index, cause: 'preempted', message })),
  });

  it('is since when nothing is known, five seconds before what was read last, and why', () => {
    assert.equal(
      lostTailText(NOW - 60_500, lost('the node is PREEMPTED', 'taken')),
      'what this host may have printed after 2026-11-27T11:58:54.500Z is not stored; that is 66 s at most: the node is PREEMPTED; taken',
    );
    assert.match(
      lostTailText(NOW, { kind: 'no-output' } as AttemptEnd),
      /11:59:55.000Z is not stored; that is 5 s at most$/,
    );
  });

  it('is said once nobody goes on with the command', () => {
    const kinds = ['slices-lost', 'exited', 'run-lost', 'no-output', 'fenced', 'handed-over', 'host-bad'];
    assert.deepEqual(
      kinds.filter((kind) => isOver({ kind } as AttemptEnd)),
      ['slices-lost', 'exited', 'run-lost'],
    );
  });
});
