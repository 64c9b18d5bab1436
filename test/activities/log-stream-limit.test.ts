import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { logLimitOf, LogStream } from '../../activities/attempt/log-stream.js';
import { StoreUnavailable } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { lostTailObject } from '../../domain/store-layout.js';
import { Bucket, HOST, PREFIX, START } from './log-bucket.js';

const TEXT = 'this log ends here';

describe('the end of a stored log', () => {
  let bucket: Bucket;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: START });
    bucket = new Bucket();
  });
  afterEach(() => mock.timers.reset());

  const open = (bytes?: number): Promise<LogStream> =>
    LogStream.open(
      {
        store: bucket.port,
        meter: { logLag: () => undefined },
        ...(bytes !== undefined && { limit: { bytes, text: TEXT } }),
      },
      PREFIX,
      HOST,
      new AbortController().signal,
    );
  const feed = async (stream: LogStream, ...texts: readonly string[]): Promise<void> => {
    for (const text of texts) await stream.append(Buffer.from(text));
    await stream.flush();
  };
  /** All that a reader of the log sees, and how many objects hold it. */
  const stored = (): readonly [string, number] => {
    const ordered = [...bucket.objects].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [ordered.map(([, bytes]) => bytes.toString()).join(''), ordered.length];
  };

  it('is its limit, to the byte, with a line behind it that says so once', async () => {
    const stream = await open(5);
    await feed(stream, 'abc', 'defgh');
    assert.deepEqual(stored(), [`abcde\n[jobctl] ${TEXT}\n`, 2]);
    await feed(stream, 'ij', 'k\n');
    assert.deepEqual(stored(), [`abcde\n[jobctl] ${TEXT}\n`, 2]);
    assert.equal(bucket.times('write').length, 2);
    assert.equal(stream.position, 12, 'the host is read on behind it');
  });

  it('has no line of its own before that line if the output ends one there', async () => {
    await feed(await open(6), 'abcde\n', 'f');
    assert.deepEqual(stored(), [`abcde\n[jobctl] ${TEXT}\n`, 2]);
  });

  it('is no limit for output that fits to the byte', async () => {
    await feed(await open(5), 'abcde');
    assert.deepEqual(stored(), ['abcde', 1]);
  });

  it('is said at once, not when the next cut is due', async () => {
    await (await open(5)).append(Buffer.from('abcdef'));
    assert.deepEqual(stored(), [`abcde\n[jobctl] ${TEXT}\n`, 2]);
  });

  it('is said once the store is back', async () => {
    const stream = await open(5);
    bucket.beforeWrite = (name) => {
      if (name === lostTailObject(PREFIX, String(HOST), 5)) throw new StoreUnavailable('away');
    };
    await new MockActivityEnvironment().run(async () => {
      const said = feed(stream, 'abcdef');
      await new Promise((resolve) => setImmediate(resolve));
      bucket.beforeWrite = () => undefined;
      mock.timers.tick(500);
      await said;
    });
    assert.deepEqual(stored(), [`abcde\n[jobctl] ${TEXT}\n`, 2]);
  });

  it('spares a worker that comes later what the host printed behind the limit', async () => {
    bucket.put(0, 'abcde');
    const stream = await open(5);
    stream.skipBeyondLimit(1_000);
    assert.equal(stream.position, 1_000);
    stream.skipBeyondLimit(3);
    assert.equal(stream.position, 1_000);
    await feed(stream, 'x');
    assert.deepEqual(stored(), [`abcde[jobctl] ${TEXT}\n`, 2]);
  });

  it('spares it nothing of a log that has room', async () => {
    bucket.put(0, 'abc');
    const stream = await open(5);
    stream.skipBeyondLimit(1_000);
    assert.equal(stream.position, 3);
  });

  it('may be a lost tail, on a line of its own; the first word stays', async () => {
    const stream = await open();
    await stream.lostTail('not a word');
    assert.deepEqual(stored(), ['[jobctl] not a word\n', 1]);
    await feed(stream, 'half a li');
    await stream.lostTail('gone');
    await stream.lostTail('the second word');
    assert.equal(String(bucket.objects.get(lostTailObject(PREFIX, String(HOST), 9))), '\n[jobctl] gone\n');
  });

  it('is behind all that is held back, which is known since its first byte', async () => {
    const stream = await open();
    assert.equal(stream.heldSince, undefined);
    await stream.append(Buffer.from('a'));
    mock.timers.tick(100);
    await stream.append(Buffer.from('b'));
    assert.equal(stream.heldSince, START);
    await stream.flush();
    assert.equal(stream.heldSince, undefined);
  });
});

describe('what a pool keeps of each log of an attempt', () => {
  const of = (hosts: number, all?: number) =>
    logLimitOf(
      {
        spec: { pool: 'tpus' },
        settings: all === undefined ? {} : { limits: { logBytesPerAttempt: all } },
      } as AttemptInput,
      hosts,
    ).limit;

  it('is all of it where it names no limit', () => assert.equal(of(4), undefined));

  it('is shared by the hosts that write the log, in whole bytes; the log says so', () => {
    assert.deepEqual([of(1, 1_000)?.bytes, of(3, 1_000)?.bytes, of(0, 1_000)?.bytes], [1_000, 333, 1_000]);
    const why = '([limits] log_bytes_per_attempt). What runs goes on, and what it prints from here on is not kept';
    const keeps = 'this log ends here: pool tpus keeps 1000 bytes of each log of an attempt';
    assert.equal(of(1, 1_000)?.text, `${keeps} ${why}`);
    assert.equal(of(3, 1_000)?.text, `${keeps}, a share of 333 for each of 3 hosts ${why}`);
  });
});
