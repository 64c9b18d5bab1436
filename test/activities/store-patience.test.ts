import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { StorePatience } from '../../activities/attempt/store-patience.js';
import { StoreRefused, StoreUnavailable } from '../../cloud/store/port.js';

describe('the patience with a store', () => {
  let now: number;
  let pauses: number[];
  let told: (string | undefined)[];
  let abort: AbortController;
  beforeEach(() => {
    [now, pauses, told, abort] = [1_000_000, [], [], new AbortController()];
  });
  const patience = (): StorePatience =>
    new StorePatience(abort.signal, (what) => told.push(what), {
      now: () => now,
      pause: async (ms) => {
        pauses.push(ms);
        now += ms;
      },
    });
  const run = (story: () => Promise<void>): Promise<void> => new MockActivityEnvironment().run(story);
  /** A call that fails so often, and then answers. */
  function failing(times: number, error: Error): () => Promise<string> {
    return async () => {
      if (times-- > 0) throw error;
      return 'answer';
    };
  }
  const WAITS = 'waits for the store, which keeps nothing now: ';

  it('has no news of a call that is answered, or of a store that is busy for less than ten seconds', () =>
    run(async () => {
      const waiting = patience();
      assert.equal(await waiting.through(failing(0, new Error())), 'answer');
      assert.equal(await waiting.through(failing(5, new StoreUnavailable('busy'))), 'answer');
      assert.deepEqual([pauses, told], [[500, 1_000, 2_000, 4_000, 8_000], []]);
    }));

  it('tells of one that is away for longer, and that it is over, once', () =>
    run(async () => {
      await patience().through(failing(9, new StoreUnavailable('away')));
      assert.deepEqual(told, [`${WAITS}away`, undefined]);
      assert.deepEqual(pauses.slice(-5), [8_000, 15_000, 15_000, 15_000, 15_000]);
    }));

  it('tells at once of one that refuses', () =>
    run(async () => {
      await patience().through(failing(1, new StoreRefused('no such bucket')));
      assert.deepEqual([told, pauses], [[`${WAITS}no such bucket`, undefined], [500]]);
    }));

  it('says that it is over once none of its calls waits, and begins anew after that', () =>
    run(async () => {
      let answer: () => void = () => undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      let tries = 0;
      const waiting = patience();
      const slow = waiting.through(async () => {
        if (tries++ === 0) throw new StoreRefused('first');
        await answered;
      });
      await waiting.through(failing(1, new StoreRefused('second')));
      assert.deepEqual(told, [`${WAITS}first`], 'the first still waits');
      answer();
      await slow;
      assert.deepEqual(told.slice(1), [undefined]);
      await waiting.through(failing(1, new StoreRefused('third')));
      assert.deepEqual(told.slice(2), [`${WAITS}third`, undefined]);
    }));

  it('is none with an error of our own, nor once the signal has ended the tries', () =>
    run(async () => {
      await assert.rejects(patience().through(failing(1, new TypeError('a bug'))), TypeError);
      abort.abort();
      await assert.rejects(patience().through(failing(1, new StoreRefused('no such bucket'))), StoreRefused);
      assert.deepEqual([told, pauses], [[], []]);
    }));
});
