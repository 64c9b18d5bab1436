import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import {
  readPatiently,
  StorePatience,
  tellJobOfEnd,
  tellJobOfOutputs,
  tellJobOfTrouble,
} from '../../activities/attempt/store-patience.js';
import { unreachableHosts } from '../../activities/attempt/unreachable-hosts.js';
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

describe('what a job is told while it waits', () => {
  const INPUT = { job: { id: 'train', run: 'r' }, attempt: 2 };
  /** Signals that the job gets, and warnings of those that do not reach it. */
  async function play(story: () => Promise<void> | void, isAway = false): Promise<readonly unknown[]> {
    const heard: unknown[] = [];
    const signal = async ({ name }: { name: string }, news: unknown): Promise<void> => {
      if (isAway) throw new Error('no server');
      heard.push([name, news]);
    };
    const getHandle = (id: string, _: unknown, { firstExecutionRunId: run }: { firstExecutionRunId: string }) => {
      assert.deepEqual([id, run], ['train', 'r']);
      return { signal };
    };
    const none = (): void => undefined;
    const warn = (message: string): void => void heard.push(message);
    const logger = { log: none, trace: none, debug: none, info: none, warn, error: none };
    const withAbortSignal = async (_: unknown, run: () => Promise<unknown>): Promise<unknown> => run();
    const client = { workflow: { getHandle }, withAbortSignal } as never;
    await new MockActivityEnvironment({ heartbeatTimeoutMs: 60_000 }, { client, logger }).run(async () => {
      await story();
      await new Promise((resolve) => setImmediate(resolve));
    });
    return heard;
  }

  const tellers = {
    'of its store': [tellJobOfTrouble, {}, {}],
    'that its command has ended': [tellJobOfEnd, { hasEnded: true }, { hasEnded: true }],
    'of its outputs': [tellJobOfOutputs, { hasEnded: true, isStoringOutputs: true }, {}],
  } as const;
  for (const [what, [teller, waiting, over]] of Object.entries(tellers))
    it(`says ${what}, and that it is over`, async () => {
      const news = await play(() => {
        const tell = teller(INPUT);
        tell('waits');
        tell();
      });
      const told = { v: 1, attempt: 2 };
      assert.deepEqual(news, [
        ['attemptTrouble', { ...told, what: 'waits', ...waiting }],
        ['attemptTrouble', { ...told, ...over }],
      ]);
      assert.deepEqual(await play(() => teller(INPUT)('waits'), true), [`the job was not told ${what}: no server`]);
    });

  it('names the hosts that do not answer, and those that another worker named', async () => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 50 });
    try {
      const unreachable = [{ slice: 0, host: 3, since: 5 }];
      const news = await play(() => {
        unreachableHosts({ ...INPUT, unreachable }, 0).silent({ slice: 0, index: 1 } as never);
        unreachableHosts(INPUT).silent({ slice: 0, index: 1 } as never);
        mock.timers.tick(500);
      });
      const hosts = [{ slice: 0, host: 1, since: 50 }, ...unreachable];
      assert.deepEqual(
        news.map((each) => (each as unknown[])[1]),
        [{ v: 1, attempt: 2, hosts }],
      );
    } finally {
      mock.timers.reset();
    }
  });

  it('is what it waits for as it begins', async () => {
    let tries = 0;
    const news = await play(async () => {
      const read = async (): Promise<string> => {
        if (tries++ === 0) throw new StoreRefused('no such bucket');
        return 'content';
      };
      assert.equal(await readPatiently(INPUT, read), 'content');
    });
    const waits = 'waits for the store, which keeps nothing now: no such bucket';
    assert.deepEqual(
      news.flatMap((each) => (typeof each === 'string' ? [] : [(each as unknown[])[1]])),
      [
        { v: 1, attempt: 2, what: waits },
        { v: 1, attempt: 2 },
      ],
    );
  });
});
