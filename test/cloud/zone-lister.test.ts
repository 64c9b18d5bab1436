import assert from 'node:assert/strict';
import { CallBudget } from '../../cloud/machines/api-load.js';
import { ZoneLister, type ZoneWatch, type ZoneListing } from '../../cloud/machines/cloud-tpu/google-tpu.js';

const watching = (over: Partial<ZoneWatch> = {}): ZoneWatch => ({
  isUrgent: true,
  needsQueuedResources: true,
  signal: new AbortController().signal,
  ...over,
});

/** Counts listings; each takes as long as `gate`, if there is one. */
function countingZone(gate?: Promise<void>) {
  const begun: { at: number; withQueuedResources: boolean }[] = [];
  const list = async (withQueuedResources: boolean): Promise<ZoneListing> => {
    begun.push({ at: performance.now(), withQueuedResources });
    await gate;
    return { at: Date.now(), nodes: new Map(), queuedResources: new Map() };
  };
  return { begun, list };
}

describe('the lister of a zone', () => {
  it('serves all who wait with one listing', async () => {
    const { begun, list } = countingZone();
    const lister = new ZoneLister(list, { urgentMs: 10_000, quietMs: 10_000 });
    await Promise.all(Array.from({ length: 20 }, () => lister.next(watching())));
    assert.equal(begun.length, 1);
  });

  it('begins listings a period apart, however eager the watcher', async () => {
    const { begun, list } = countingZone();
    const lister = new ZoneLister(list, { urgentMs: 60, quietMs: 10_000 });
    for (let i = 0; i < 4; i++) await lister.next(watching());
    const gaps = begun.slice(1).map(({ at }, i) => at - (begun[i]?.at ?? 0));
    assert.equal(gaps.length, 3);
    for (const gap of gaps) assert.ok(gap >= 58, `listings ${gap} ms apart, wanted 60`);
  });

  it('hurries for one urgent watcher among quiet ones', async () => {
    const { begun, list } = countingZone();
    const lister = new ZoneLister(list, { urgentMs: 20, quietMs: 60_000 });
    await lister.next(watching());
    const quiet = lister.next(watching({ isUrgent: false }));
    await lister.next(watching());
    await quiet;
    assert.equal(begun.length, 2);
  });

  it('answers with what was listed after the question, never with a listing under way', async () => {
    let open = (): void => undefined;
    const { begun, list } = countingZone(new Promise<void>((resolve) => (open = resolve)));
    const lister = new ZoneLister(list, { urgentMs: 1, quietMs: 1 });
    const first = lister.next(watching());
    while (begun.length === 0) await new Promise(setImmediate);
    const second = lister.next(watching());
    open();
    assert.notEqual(await first, await second);
    assert.equal(begun.length, 2);
  });

  it('never runs two listings at once, however slow they are', async () => {
    let open = (): void => undefined;
    const { begun, list } = countingZone(new Promise<void>((resolve) => (open = resolve)));
    const slow = new ZoneLister(list, { urgentMs: 1, quietMs: 1 });
    const first = slow.next(watching());
    while (begun.length === 0) await new Promise(setImmediate);
    const second = slow.next(watching());
    // Another lister of the same period lists twice meanwhile: the slow one was due before.
    const other = new ZoneLister(countingZone().list, { urgentMs: 1, quietMs: 1 });
    await other.next(watching());
    await other.next(watching());
    assert.equal(begun.length, 1);
    open();
    await Promise.all([first, second]);
  });

  it('lists nothing for a watcher that left', async () => {
    const { begun, list } = countingZone();
    const lister = new ZoneLister(list, { urgentMs: 5, quietMs: 5 });
    await lister.next(watching());
    const leaving = new AbortController();
    const left = lister.next(watching({ signal: leaving.signal }));
    leaving.abort(new Error('left'));
    await assert.rejects(left, /left/);
    await assert.rejects(lister.next(watching({ signal: leaving.signal })), /left/);
    // Timers of one length fire in order: when another lister's second listing is there, this one's was due before.
    const other = new ZoneLister(countingZone().list, { urgentMs: 5, quietMs: 5 });
    await other.next(watching());
    await other.next(watching());
    assert.equal(begun.length, 1);
  });

  it('fails all who waited for a failed listing, and lists again for the next', async () => {
    let isBroken = true;
    const { list } = countingZone();
    const lister = new ZoneLister(
      async (queued) => {
        if (isBroken) throw new Error('503');
        return list(queued);
      },
      { urgentMs: 1, quietMs: 1 },
    );
    const ends = await Promise.allSettled([lister.next(watching()), lister.next(watching())]);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    isBroken = false;
    assert.equal((await lister.next(watching())).nodes.size, 0);
  });

  it('reads queued resources only where somebody needs them', async () => {
    const { begun, list } = countingZone();
    const lister = new ZoneLister(list, { urgentMs: 1, quietMs: 1 });
    await lister.next(watching({ needsQueuedResources: false }));
    await Promise.all([lister.next(watching({ needsQueuedResources: false })), lister.next(watching())]);
    assert.deepEqual(
      begun.map(({ withQueuedResources }) => withQueuedResources),
      [false, true],
    );
  });

  it('sends away who waits when it is closed', async () => {
    const { list } = countingZone();
    const lister = new ZoneLister(list, { urgentMs: 60_000, quietMs: 60_000 });
    await lister.next(watching());
    const waiting = assert.rejects(lister.next(watching()), { name: 'CloudUnavailable' });
    lister.close();
    await waiting;
  });
});

describe('a call budget', () => {
  it('lets a burst through, then one call per interval', () => {
    const budget = new CallBudget({ callsPerSecond: 5, burst: 3 });
    const waits = [1000, 1000, 1000, 1000, 1100, 1201, 1202].map((now) => Math.round(budget.takeAt(now)));
    assert.deepEqual(waits, [0, 0, 0, 200, 100, 0, 198]);
  });

  it('fills up again with time, and never beyond its burst', () => {
    const budget = new CallBudget({ callsPerSecond: 5, burst: 2 });
    const waits = [0, 0, 0, 400, 100_000, 100_000, 100_000].map((now) => Math.round(budget.takeAt(now)));
    assert.deepEqual(waits, [0, 0, 200, 0, 0, 0, 200]);
  });

  it('serves listings first, and else in turn', async () => {
    const budget = new CallBudget({ callsPerSecond: 200, burst: 1 });
    const served: string[] = [];
    const calls = ['GetNode 1', 'GetNode 2', 'ListNodes', 'DeleteNode', 'ListQueuedResources'];
    await Promise.all(calls.map((call) => budget.take(call).then(() => served.push(call))));
    assert.deepEqual(served, ['GetNode 1', 'ListNodes', 'ListQueuedResources', 'GetNode 2', 'DeleteNode']);
  });

  it('that lets nothing through is refused', () => {
    assert.throws(() => new CallBudget({ callsPerSecond: 0, burst: 1 }), RangeError);
    assert.throws(() => new CallBudget({ callsPerSecond: 1, burst: 0.5 }), RangeError);
  });
});
