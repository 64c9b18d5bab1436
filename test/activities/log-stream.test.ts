import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { LogStream } from '../../activities/attempt/log-stream.js';
import { StorePatience } from '../../activities/attempt/store-patience.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { offsetOfChunk } from '../../domain/store-layout.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { until } from '../until.js';

describe("the shipping of one host's output", function () {
  this.timeout(30_000);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-log-stream-'));
  let rehearsal: Rehearsal;
  let store: StorePort;
  let prefix = '';
  let round = 0;
  /** Streams that died hold output that they would store for ever. */
  const over = new AbortController();

  before(async () => {
    rehearsal = await startTestRehearsal({ stateDir: directory });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'logs', projectId: 'p' };
    await ensureBucket(options);
    store = createStore(options);
  });
  beforeEach(() => {
    prefix = `logs/${round++}/`;
  });
  after(async () => {
    over.abort(new Error('the test is over'));
    await rehearsal.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  async function stored(): Promise<Buffer> {
    const chunks = await store.list(`${prefix}host-0.`);
    return Buffer.concat(
      await Promise.all(chunks.map(async ({ name }) => (await store.read(name)) ?? Buffer.alloc(0))),
    );
  }
  const open = (into: Pick<StorePort, 'list' | 'write'> = store, patience?: StorePatience): Promise<LogStream> =>
    LogStream.open(
      { store: into as StorePort, meter: { logLag: () => undefined }, ...(patience && { patience }) },
      prefix,
      0,
      over.signal,
    );
  /** Feeds `output` from where the stream wants it, in pieces of `size`. */
  async function feed(stream: LogStream, output: Buffer, until: number, size: number): Promise<void> {
    for (let at = stream.position; at < until; at = stream.position)
      await stream.append(output.subarray(at, Math.min(at + size, until)));
  }
  /** Its log lines need an activity's context. */
  const inActivity = (work: () => Promise<void>): Promise<void> => new MockActivityEnvironment().run(work);

  it('stores every byte once, over several streams that follow each other', () =>
    inActivity(async () => {
      const output = randomBytes(300_000);
      const first = await open();
      await feed(first, output, 100_000, 7_001);
      await first.flush();
      const second = await open();
      assert.equal(second.position, 100_000);
      await feed(second, output, output.length, 50_000);
      await second.flush();
      assert.ok((await stored()).equals(output));
    }));

  it('two that ship the same output at one time leave no hole and no double', () =>
    inActivity(async () => {
      const output = randomBytes(200_000);
      const streams = await Promise.all([open(), open()]);
      await Promise.all(
        streams.map(async (stream, index) => {
          for (let until = 20_000; until <= output.length; until += 20_000) {
            await feed(stream, output, until, 3_000 + index * 1_111);
            await stream.flush();
          }
        }),
      );
      assert.ok((await stored()).equals(output));
    }));

  it('holds back while the store is away, and loses nothing', () =>
    inActivity(async () => {
      const admin = new RehearsalAdmin(rehearsal.endpoints.admin);
      const output = randomBytes(10_000);
      const stream = await open();
      await admin.post('refuse', { method: 'objects.insert', code: 'UNAVAILABLE', times: 3 });
      await feed(stream, output, output.length, 1_000);
      await stream.flush();
      assert.ok((await stored()).equals(output));
    }));

  /** The code that the admin interface takes, and what a bucket means by it. */
  const refusals = {
    PERMISSION_DENIED: 'rights or billing (403)',
    NOT_FOUND: 'no such bucket (404)',
    FAILED_PRECONDITION: 'retention (412)',
  };
  for (const [code, what] of Object.entries(refusals)) {
    it(`waits for a store that refuses for ${what}, says so, and loses nothing`, () =>
      inActivity(async () => {
        const admin = new RehearsalAdmin(rehearsal.endpoints.admin);
        const output = randomBytes(2_500_000);
        const told: (string | undefined)[] = [];
        const patience = new StorePatience(over.signal, (news) => told.push(news));
        const stream = await open(store, patience);
        await admin.post('refuse', { method: 'objects.insert', code });
        const isDone = feed(stream, output, output.length, 100_000).then(() => stream.flush());
        await until('it waits', async () => told.length > 0);
        await admin.stopRefusing();
        await isDone;
        assert.ok((await stored()).equals(output));
        assert.equal(told.length, 2, told.join('\n'));
        assert.match(told[0] ?? '', /^waits for the store, which keeps nothing now: store: write gs:\/\/logs\//);
        assert.equal(told[1], undefined, 'it is over');
      }));
  }

  it('says behind what is stored that a tail is lost, on a line of its own, and goes on from there', () =>
    inActivity(async () => {
      const stream = await open();
      await stream.append(Buffer.from('half a li'));
      await stream.flush();
      await stream.lostTail('gone');
      await stream.lostTail('the second word');
      assert.equal((await stored()).toString(), 'half a li\n[jobctl] gone\n');
      assert.equal((await open()).position, 9);
    }));

  it('knows, opened again, since when what is stored last was read', () =>
    inActivity(async () => {
      const stream = await open();
      assert.equal(stream.storedSince, undefined);
      const ends: number[] = [];
      for (const text of ['one', 'two', 'three']) {
        await stream.append(Buffer.from(text));
        await stream.flush();
        ends.push(Date.now());
        assert.equal((await open()).storedSince === undefined, text === 'one');
      }
      const [first = 0, second = 0] = ends;
      const since = (await open()).storedSince ?? 0;
      assert.ok(since >= first - 1_000 && since <= second + 1_000, 'of "two", which was whole before "three" was read');
    }));

  it('stores once what was written though its answer was lost', () =>
    inActivity(async () => {
      const admin = new RehearsalAdmin(rehearsal.endpoints.admin);
      const output = randomBytes(5_000);
      const stream = await open();
      await admin.post('refuse', { method: 'objects.insert', code: 'UNAVAILABLE', times: 1, afterEffect: true });
      await feed(stream, output, output.length, 1_000);
      await stream.flush();
      assert.ok((await stored()).equals(output));
    }));

  it('stored bytes are an exact prefix of the output, wherever several streams cut it and whenever one dies', function () {
    this.timeout(120_000);
    return inActivity(async () => {
      const seen = { conflicts: 0, deaths: 0 };
      await fc.assert(
        fc.asyncProperty(story, async (steps) => {
          prefix = `logs/${round++}/`;
          const output = randomBytes(LONGEST);
          const streams = [await open(), await open()];
          for (const { who, bytes, next } of steps) {
            const stream = streams[who] as LogStream;
            await feed(stream, output, Math.min(stream.position + bytes, output.length), bytes);
            if (stream.position - bytes < (await storedEnd())) seen.conflicts += 1;
            if (next === 'flush') await stream.flush();
            if (next === 'both') await Promise.all(streams.map((each) => each.flush()));
            if (next === 'die') {
              seen.deaths += 1;
              await dieWhileWriting(output, bytes);
              streams[who] = await open();
            }
            await storedEnd();
          }
          const last = await open();
          await feed(last, output, output.length, 100);
          await last.flush();
          assert.ok((await stored()).equals(output));
        }),
        { numRuns: STORIES },
      );
      assert.ok(seen.conflicts >= STORIES / 2 && seen.deaths >= STORIES / 3, JSON.stringify(seen));
    });
  });

  /** End of what is stored, which neither has a hole nor stores a byte twice. */
  async function storedEnd(): Promise<number> {
    let end = 0;
    for (const { name, size } of await store.list(`${prefix}host-0.`)) {
      assert.equal(offsetOfChunk(name), end, `a hole or a double at ${end}: ${name}`);
      end += size;
    }
    return end;
  }
  /** A worker that is killed between a write and its answer. */
  async function dieWhileWriting(output: Buffer, bytes: number): Promise<void> {
    await new Promise<void>((written) => {
      const killed: Pick<StorePort, 'list' | 'write'> = {
        list: (name) => store.list(name),
        write: async (...args) => {
          await store.write(...args);
          written();
          return new Promise(() => undefined);
        },
      };
      void open(killed).then(async (stream) => {
        if (stream.position === output.length) return written();
        await stream.append(output.subarray(stream.position, stream.position + bytes));
        await stream.flush();
      });
    });
  }
});

/** Bytes of an output. */
const LONGEST = 400;
const STORIES = 8;
/** Two workers that ship one output in turns, each with its own cuts. */
const story = fc.array(
  fc.record({
    who: fc.constantFrom(0, 1),
    bytes: fc.integer({ min: 1, max: 60 }),
    next: fc.constantFrom('hold', 'flush', 'flush', 'both', 'die'),
  }),
  { minLength: 4, maxLength: 12 },
);
