import assert from 'node:assert/strict';
import fc from 'fast-check';
import { JobLogReader, storedAttempts } from '../../client/job-logs.js';
import { hostsWithChunks } from '../../cloud/store/log-chunks.js';
import { logStart, type LogWindow } from '../../cloud/store/log-starts.js';
import { sinceOption, lineMatcher } from '../../cli/jobs/job-filter.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StoreReader } from '../../cloud/store/port.js';
import { createStoreReader } from '../../cloud/store/reader.js';
import { logChunkObject, logPrefix } from '../../domain/store-layout.js';
import { startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { startCountingProxy } from './counting-proxy.js';
import { MapStore } from './map-store.js';

const JOB = 'train';
const PREFIX = logPrefix(JOB, 1, 'command');

describe('the window of a log', function () {
  this.timeout(60_000);
  let store: MapStore;
  beforeEach(() => void (store = new MapStore()));

  /** @returns the output's length */
  function put(host: number, parts: readonly string[], from = 0, at?: number): number {
    let offset = from;
    for (const part of parts) {
      store.put(logChunkObject(PREFIX, String(host), offset), part, at);
      offset += Buffer.byteLength(part);
    }
    return offset;
  }

  async function shown(window: LogWindow, host = 0, reader: StoreReader = store): Promise<string> {
    const start = await logStart(reader, PREFIX, host, window);
    const place = { attempt: 1, stream: 'command', hosts: [host], starts: new Map([[host, start]]) };
    const parts: Buffer[] = [];
    for await (const { bytes } of new JobLogReader(reader, JOB, place).unread()) parts.push(bytes);
    return Buffer.concat(parts).toString();
  }

  it('is the last lines, however the output was cut, with lines that count and lines that do not', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b', 'é', ' '), maxLength: 8 });
    const cuts = fc.array(fc.nat(60), { minLength: 3, maxLength: 12 });
    let counted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 5, maxLength: 12 }),
        cuts,
        fc.nat(6),
        fc.boolean(),
        async (lines, at, tail, ends) => {
          store = new MapStore();
          const whole = Buffer.from(lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));
          const places = [...new Set([0, ...at.filter((cut) => cut < whole.length), whole.length])].toSorted(
            (a, b) => a - b,
          );
          for (let i = 0; i + 1 < places.length; i++)
            store.put(logChunkObject(PREFIX, '0', places[i] as number), whole.subarray(places[i], places[i + 1]));
          const all = whole.toString().match(/[^\n]*\n|[^\n]+$/g) ?? [];
          assert.equal(await shown({ tail }), tail === 0 ? '' : all.slice(-tail).join(''));
          const isWanted = (text: Buffer): boolean => text.includes('a');
          const wanted = all.flatMap((text, index) => (text.includes('a') ? [index] : []));
          const first = wanted.length < tail ? 0 : wanted.at(-tail);
          assert.equal(await shown({ tail, isWanted }), tail === 0 ? '' : all.slice(first).join(''));
          if (tail > 0 && all.length > tail && places.length > 3) counted++;
        },
      ),
      {
        numRuns: 200,
        examples: [
          [[], [], 1, false],
          [['a'], [], 1, true],
          [['b', 'a'], [], 0, false],
        ],
      },
    );
    assert.ok(counted > 20, `${counted} interesting cases`);
  });

  it('costs what is wanted, not what is there', async () => {
    const cost = async (chunks: number): Promise<{ requests: number; bytes: number; hosts: number }> => {
      store = new MapStore();
      const parts = Array.from(
        { length: chunks },
        (_, at) => `line ${String(at).padStart(6, '0')} ${'x'.repeat(84)}\n`,
      );
      put(0, parts);
      put(1, ['one\n']);
      const [text, { requests, bytes }] = await store.during(() => shown({ tail: 5 }));
      assert.equal(text, parts.slice(-5).join(''));
      const [hosts, { requests: forHosts }] = await store.during(() => hostsWithChunks(store, PREFIX));
      assert.deepEqual(hosts, [0, 1]);
      const [attempts, { requests: forAttempts }] = await store.during(() => storedAttempts(store, JOB, 'command'));
      assert.deepEqual([attempts, forAttempts], [[1], 3]);
      return { requests, bytes, hosts: forHosts };
    };
    const small = await cost(900);
    const large = await cost(4_100);
    assert.equal(small.hosts, 1);
    assert.ok(large.hosts <= 3);
    // Five pages: to list them all are 5 requests and 0.6 MB, and to read them all 4,100 more.
    assert.ok(large.requests <= small.requests + 8, `${small.requests} and ${large.requests} requests`);
    assert.ok(large.bytes < small.bytes + 100_000, `${large.bytes} bytes`);
  });

  it('of large chunks no more is read than the lines need', async () => {
    const part = `${'y'.repeat(99)}\n`.repeat(10_486);
    put(
      0,
      Array.from({ length: 40 }, () => part),
    );
    const [text, { bytes, requests }] = await store.during(() => shown({ tail: 20 }));
    assert.equal(text, part.slice(0, 2_000));
    assert.ok(bytes < 200_000, `${bytes} bytes`);
    assert.ok(requests < 8, `${requests} requests`);
    const [more] = await store.during(() => shown({ tail: 30_000 }));
    assert.equal(more.length, 3_000_000);
  });

  it('begins with the line that ends in the first chunk stored since, and reads none before it', async () => {
    const early = Array.from({ length: 2_500 }, (_, at) => `old ${at}\n`);
    const [before, since] = [Date.UTC(2026, 10, 22), Date.UTC(2026, 10, 23)];
    const length = put(0, [...early, 'half of'], 0, before);
    put(0, [' a line\n', 'new 1\n', 'new 2\n'], length, since);
    const [text, { requests }] = await store.during(() => shown({ since }));
    assert.equal(text, 'half of a line\nnew 1\nnew 2\n');
    assert.ok(requests < 20, `${requests} requests`);
    assert.equal(await shown({ since, tail: 1 }), 'new 2\n');
    assert.equal(await shown({ since, tail: 10 }), 'half of a line\nnew 1\nnew 2\n');
    assert.equal(await shown({ since: Date.now() + 60_000 }), '');
    assert.equal((await shown({ since: 0 })).length, length + 20);
  });

  it('goes on behind its end as the log grows', async () => {
    const length = put(0, ['a\n', 'b\n', 'c\n']);
    const start = await logStart(store, PREFIX, 0, { tail: 0 });
    const silent = await logStart(store, PREFIX, 1, { tail: 0 });
    const starts = new Map([
      [0, start],
      [1, silent],
    ]);
    const logs = new JobLogReader(store, JOB, { attempt: 1, stream: 'command', hosts: [0, 1], starts });
    const read = async (): Promise<string> => {
      let text = '';
      for await (const { host, bytes } of logs.unread()) text += `${host}:${bytes.toString()}`;
      return text;
    };
    assert.equal(await read(), '');
    put(0, ['d\n'], length);
    assert.equal(await read(), '0:d\n');
    put(1, ['late\n']);
    assert.equal(await read(), '1:late\n');
    assert.equal(await read(), '');
  });

  it('is the same over HTTP, for as many requests', async () => {
    const cloud = await startRehearsedCloud();
    const proxy = await startCountingProxy(cloud.storeEndpoint);
    try {
      const place = { endpoint: cloud.storeEndpoint, bucket: 'window' };
      await ensureBucket({ ...place, projectId: 'p' });
      const real = createStore(place);
      put(0, [...Array.from({ length: 40 }, (_, at) => `line ${at}\n`), 'no end']);
      for (const { name } of await store.list(PREFIX))
        await real.write(name, (await store.read(name)) ?? Buffer.alloc(0), 'absent');
      const reader = createStoreReader({ ...place, endpoint: proxy.url });
      for (const tail of [0, 1, 5, 100]) {
        const [wanted, { requests }] = await store.during(() => shown({ tail }));
        const [text, counted] = await proxy.during(() => shown({ tail }, 0, reader));
        assert.deepEqual([text, counted.requests], [wanted, requests], `the last ${tail}`);
      }
    } finally {
      await proxy.close();
      await cloud.stop();
    }
  });
});

describe('what --since and --grep take', () => {
  it('a duration or a time', () => {
    const near = (at: number, ms: number): void => assert.ok(Math.abs(at - ms) < 5_000, `${at}, not ${ms}`);
    near(sinceOption('10m'), Date.now() - 600_000);
    near(sinceOption('90'), Date.now() - 90_000);
    assert.equal(sinceOption('2026-11-23T10:00:00Z'), Date.UTC(2026, 10, 23, 10));
    assert.equal(sinceOption('2026-11-23'), Date.UTC(2026, 10, 23));
    for (const wrong of ['yesterday', '', '-5m', '10 m', '2026-13-45', '10:00'])
      assert.throws(() => sinceOption(wrong), /How long ago, such as 90s, 10m or 1h30m, or a time such as 2026/, wrong);
  });

  const wrong: Readonly<Record<string, string>> = {
    'loss (': 'missing closing ), at character 6: `(`',
    'a[b': 'missing closing ], at character 2: `[b`',
    '*x': 'missing argument to repetition operator, at character 1: `*x`',
    '(?=a)b': 'invalid or unsupported Perl syntax, at character 1: `(?=a)b`',
    'a)b': 'unexpected ), at character 2: `)b`',
  };
  for (const [pattern, says] of Object.entries(wrong))
    it(`'${pattern}' is no regular expression: ${says}`, () =>
      assert.rejects(lineMatcher(pattern), (error: Error) => {
        assert.equal(error.message.split('\n')[0], `--grep: '${pattern}' is not a regular expression: ${says}`);
        return true;
      }));

  it('a line that was redrawn matches by what is seen of it', async () => {
    const isWanted = await lineMatcher('^(?i)LOSS \\d+$');
    assert.deepEqual(
      ['loss 3', '10%\rloss 4\r', 'loss 5\r10%'].map((line) => isWanted(Buffer.from(line))),
      [true, true, false],
    );
  });
});
