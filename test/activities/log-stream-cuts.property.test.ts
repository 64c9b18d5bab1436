import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { LogStream } from '../../activities/attempt/log-stream.js';
import { StoreRefused, StoreUnavailable } from '../../cloud/store/port.js';
import { CUT_BYTES } from '../../domain/output-lines.js';
import { logChunkObject } from '../../domain/store-layout.js';
import { Bucket, HOST, PREFIX, START } from './log-bucket.js';

describe("the cuts of one host's log", () => {
  let bucket: Bucket;
  let lags: number[];
  let warnings: string[];
  let abort: AbortController;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: START });
    [bucket, lags, warnings, abort] = [new Bucket(), [], [], new AbortController()];
  });
  afterEach(() => mock.timers.reset());

  const open = (into = bucket): Promise<LogStream> =>
    LogStream.open(
      { store: into.port, meter: { logLag: (seconds) => void lags.push(seconds) } },
      PREFIX,
      HOST,
      abort.signal,
    );
  /** Its warnings need an activity's context. */
  const cutting = (name: string, test: () => Promise<void>): void => {
    it(name, () => {
      const none = (): void => undefined;
      const warn = (message: string): void => void warnings.push(message);
      const logger = { log: none, trace: none, debug: none, info: none, warn, error: none };
      return new MockActivityEnvironment({}, { logger }).run(test);
    });
  };
  /** Lets time pass, and what it set off come to its end. */
  const pass = async (ms: number): Promise<void> => {
    mock.timers.tick(ms);
    await settled();
  };
  const say = (stream: LogStream, text: string): void | Promise<void> => stream.append(Buffer.from(text));

  cutting('come 300 ms after the first byte held back, and say how late that byte is', async () => {
    const stream = await open();
    await say(stream, 'ab');
    await pass(100);
    await say(stream, 'c');
    assert.equal(stream.position, 3);
    await pass(199);
    assert.deepEqual(bucket.chunks(), []);
    await pass(1);
    assert.deepEqual(bucket.chunks(), [[0, 'abc']]);
    await pass(700);
    await say(stream, 'd');
    assert.equal(stream.position, 4);
    await pass(300);
    assert.deepEqual(bucket.chunks(), [
      [0, 'abc'],
      [3, 'd'],
    ]);
    assert.deepEqual(lags, [0.3, 0.3]);
    assert.deepEqual(bucket.times('list'), [0], 'the end is looked up once');
  });

  cutting('are counted from the next byte after a flush', async () => {
    const stream = await open();
    await say(stream, 'a');
    await pass(200);
    await stream.flush();
    await say(stream, 'b');
    await pass(299);
    assert.equal(bucket.text, 'a');
    await pass(1);
    assert.equal(bucket.text, 'ab');
  });

  cutting('are rarer once the stream is a minute old', async () => {
    const stream = await open();
    await pass(60_000);
    await say(stream, 'a');
    await pass(1_999);
    assert.equal(bucket.text, '');
    await pass(1);
    assert.equal(bucket.text, 'a');
  });

  cutting('come at once when a MiB is held back, and their reader waits for them', async () => {
    const stream = await open();
    assert.equal(stream.append(Buffer.alloc(CUT_BYTES - 1, 'x')), undefined);
    const full = say(stream, 'y');
    assert.ok(full instanceof Promise);
    await full;
    assert.deepEqual([bucket.text.length, bucket.text.at(-1)], [CUT_BYTES, 'y']);
  });

  cutting('keep what comes in while one is written for the next, whose lateness counts from there', async () => {
    const stream = await open();
    await say(stream, 'ab');
    bucket.beforeWrite = async () => {
      bucket.beforeWrite = () => undefined;
      await pass(500);
      await say(stream, 'cd');
      await pass(200);
    };
    await stream.flush();
    assert.deepEqual(bucket.chunks(), [
      [0, 'ab'],
      [2, 'cd'],
    ]);
    assert.deepEqual([lags, stream.position], [[0.7, 0], 4]);
  });

  cutting("go on where this host's stored bytes end, whatever else lies beside them", async () => {
    bucket.put(3, 'defg');
    bucket.put(0, 'abc');
    bucket.put(0, 'of another host', 10);
    bucket.put(90, 'of another host', 2);
    bucket.objects.set(`${PREFIX}host-${HOST}.note`, Buffer.alloc(50));
    bucket.objects.set('elsewhere', Buffer.alloc(50));
    assert.equal((await open()).position, 7);
    assert.deepEqual(bucket.times('write'), []);
  });

  cutting('drop what another worker has stored meanwhile, and store the rest behind it', async () => {
    const stream = await open();
    await say(stream, 'abcdefg');
    bucket.put(0, 'abcd');
    await stream.flush();
    assert.deepEqual(bucket.chunks(), [
      [0, 'abcd'],
      [4, 'efg'],
    ]);
    assert.equal(stream.position, 7);
  });

  cutting('store nothing until the output has passed a worker that is ahead', async () => {
    const stream = await open();
    await say(stream, 'abcd');
    bucket.put(0, 'abcdefghij');
    await stream.flush();
    assert.equal(stream.position, 4);
    for (const text of ['ef', 'ghijk']) {
      await say(stream, text);
      await stream.flush();
    }
    assert.deepEqual(bucket.chunks(), [
      [0, 'abcdefghij'],
      [10, 'k'],
    ]);
  });

  cutting('are made again if the object in their way was deleted', async () => {
    const stream = await open();
    await say(stream, 'abc');
    await stream.flush();
    await say(stream, 'defgh');
    bucket.put(3, 'd');
    bucket.beforeList = () => bucket.objects.clear();
    const flushed = stream.flush();
    await settled();
    await pass(500);
    await flushed;
    assert.deepEqual([...bucket.objects.values()].map(String), ['defgh']);
    const name = logChunkObject(PREFIX, String(HOST), 3);
    assert.deepEqual(warnings, [
      `waiting for the store: store: write gs://logs/${name}: it is refused (HTTP 412), and is not there`,
    ]);
  });

  cutting('wait for an empty object in their way, which the host may have put there, to be deleted', async () => {
    const stream = await open();
    bucket.put(0, '');
    await say(stream, 'abc');
    const flushed = stream.flush();
    await settled();
    assert.equal(warnings.length, 1);
    bucket.objects.clear();
    await pass(500);
    await flushed;
    assert.equal(bucket.text, 'abc');
  });

  cutting('are not counted from a piece without bytes', async () => {
    const stream = await open();
    await say(stream, '');
    await pass(200);
    await say(stream, 'a');
    await pass(299);
    assert.equal(bucket.text, '');
  });

  cutting('are tried again while the store is away, at pauses that double from half a second to 15 s', async () => {
    bucket.beforeList = isAway;
    const opening = open();
    await settled();
    for (let ms = 0; ms < 50_000; ms += 500) await pass(500);
    assert.deepEqual(bucket.times('list'), [0, 500, 1_500, 3_500, 7_500, 15_500, 30_500, 45_500]);
    assert.equal(warnings[0], 'waiting for the store: away');
    bucket.beforeList = () => undefined;
    await pass(15_000);
    assert.equal((await opening).position, 0);
  });

  cutting('hold back what could not be written, and store it once though an answer was lost', async () => {
    const stream = await open();
    await say(stream, 'abc');
    bucket.afterWrite = () => {
      bucket.afterWrite = () => undefined;
      throw new StoreUnavailable('no answer');
    };
    const flushed = stream.flush();
    await settled();
    await say(stream, 'de');
    await pass(500);
    await flushed;
    assert.equal(bucket.text, 'abcde');
    assert.equal(stream.position, 5);
  });

  cutting('wait for a bucket that refuses, until somebody has mended it', async () => {
    const stream = await open();
    await say(stream, 'abc');
    bucket.beforeWrite = () => {
      throw new StoreRefused('no such bucket');
    };
    const flushed = stream.flush();
    await settled();
    assert.deepEqual([bucket.times('write').length, warnings], [1, ['waiting for the store: no such bucket']]);
    bucket.beforeWrite = () => undefined;
    await pass(500);
    await flushed;
    assert.equal(bucket.text, 'abc');
  });

  cutting('are given up when the signal says so: while they wait, and before', async () => {
    bucket.beforeList = isAway;
    const opening = open();
    opening.catch(() => undefined);
    await settled();
    abort.abort(new Error('handed over'));
    await assert.rejects(opening, /handed over/);
    await assert.rejects(open(), /away/);
  });

  cutting('that a timer makes reject nowhere when they are given up', async () => {
    const stream = await open();
    await say(stream, 'a');
    bucket.beforeWrite = () => {
      throw new StoreRefused('no such bucket');
    };
    await pass(300);
    assert.equal(bucket.times('write').length, 1);
  });

  cutting('leave an exact prefix of the output, whatever several streams cut and whenever one dies', async () => {
    const seen = { conflicts: 0, deaths: 0, runs: 0 };
    await fc.assert(
      fc.asyncProperty(STORY, async ({ steps, turns }) => {
        seen.runs += 1;
        bucket = new Bucket();
        let turn = 0;
        const wait = async (): Promise<void> => {
          for (let left = turns[turn++ % turns.length] ?? 0; left > 0; left--) await Promise.resolve();
        };
        bucket.beforeWrite = async (name) => {
          await wait();
          if (bucket.objects.has(name)) seen.conflicts += 1;
        };
        bucket.afterWrite = wait;
        const streams = [await open(), await open()];
        const feed = (stream: LogStream, bytes: number): void =>
          void stream.append(Buffer.from(OUTPUT.slice(stream.position, stream.position + bytes)));
        for (const { who, bytes, next } of steps) {
          const stream = streams[who] as LogStream;
          feed(stream, bytes);
          if (next === 'flush') await stream.flush();
          if (next === 'both') await Promise.all(streams.map((each) => each.flush()));
          if (next === 'die') {
            seen.deaths += 1;
            // Its last write may still take effect, and nobody hears the answer.
            void stream.flush();
            streams[who] = await open();
          }
          assert.ok(OUTPUT.startsWith(bucket.text));
        }
        const last = await open();
        feed(last, OUTPUT.length - last.position);
        await last.flush();
        assert.equal(bucket.text, OUTPUT);
      }),
      { numRuns: STORIES },
    );
    assert.ok(seen.conflicts >= seen.runs / 2 && seen.deaths >= seen.runs / 3, JSON.stringify(seen));
  });
});

function isAway(): never {
  throw new StoreUnavailable('away');
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const STORIES = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 300);
const OUTPUT = Array.from({ length: 150 }, (_, index) => String.fromCodePoint(97 + (index % 26))).join('');
/** Two workers that ship one output, each with its own cuts; `turns` is how long the store takes, write by write. */
const STORY = fc.record({
  steps: fc.array(
    fc.record({
      who: fc.constantFrom(0, 1),
      bytes: fc.integer({ min: 1, max: 30 }),
      next: fc.constantFrom('hold', 'flush', 'flush', 'both', 'die'),
    }),
    { minLength: 4, maxLength: 12 },
  ),
  turns: fc.array(fc.nat(4), { minLength: 1, maxLength: 5 }),
});
