import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { MetricsOfHost } from '../../activities/attempt/host-metrics.js';
import { JsonLines, MarkedLines } from '../../activities/attempt/metric-bytes.js';
import { StorePatience } from '../../activities/attempt/store-patience.js';
import { ensureFolder, FolderStore } from '../../cloud/store/folder.js';
import { StoreUnavailable, type StorePort } from '../../cloud/store/port.js';
import { MOST_JSON_BYTES, MOST_LINE_BYTES } from '../../domain/job-metrics/metric-lines.js';
import { readStoredMetrics, type StoredMetrics } from '../../domain/job-metrics/stored-metrics.js';
import { metricsObject } from '../../domain/store-layout.js';

/** Gives `text` to a reader of lines in pieces that end at these places. */
function inPieces(
  text: string,
  cuts: readonly number[],
  into: MarkedLines | JsonLines,
): readonly (string | undefined)[] {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...places, bytes.length].flatMap((end, index) => into.push(bytes.subarray(places[index - 1] ?? 0, end)));
}
type MetricsStore = Pick<StorePort, 'read' | 'stat' | 'write'>;
const cutAnywhere = fc.array(fc.nat({ max: 100_000 }), { maxLength: 30 });

describe('lines with metrics in a stream of bytes', () => {
  const words = [
    'JOBCTL_METRIC',
    'JOBCTL_METRIC a=1\n',
    ' a=1',
    'x',
    '\n',
    '\n',
    '\r',
    'ü',
    'JOBCTL_MET',
    '_',
    ' step=2\n',
    '\r\n',
  ];
  const output = fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join(''));

  it('are the same wherever it is cut', () => {
    let found = 0;
    fc.assert(
      fc.property(output, cutAnywhere, (text, cuts) => {
        const whole = new MarkedLines().push(Buffer.from(text));
        found += whole.length;
        assert.deepEqual(inPieces(text, cuts, new MarkedLines()), whole);
        // Each line that has an end and the word, from the character before the word on.
        const ended = text.split(/[\r\n]/).slice(0, -1);
        assert.equal(whole.length, ended.filter((line) => line.includes('JOBCTL_METRIC')).length);
      }),
    );
    assert.ok(found > 20, `${found} lines: the property shows nothing`);
  });

  it('wait for their end, and are never half read', () => {
    const lines = new MarkedLines();
    assert.deepEqual(lines.push(Buffer.from('JOBCTL_METRIC loss=0.')), []);
    assert.deepEqual(lines.push(Buffer.from('31 step=1\nJOBC')), ['JOBCTL_METRIC loss=0.31 step=1']);
  });

  it('are refused if they are too long, once, and the next is read', () => {
    const lines = new MarkedLines();
    const long = `JOBCTL_METRIC ${'a=1 '.repeat(MOST_LINE_BYTES)}`;
    const found = inPieces(`${long}\nJOBCTL_METRIC b=1\n`, [20, 9000, 20_000, 30_000], lines);
    assert.deepEqual(found, [undefined, 'JOBCTL_METRIC b=1']);
    assert.ok(lines.heldBytes < 100);
  });

  it('hold nothing of a gigabyte without the word and without an end', () => {
    const lines = new MarkedLines();
    const zeros = Buffer.alloc(1 << 20);
    for (let part = 0; part < 64; part++) assert.deepEqual(lines.push(zeros), []);
    assert.ok(lines.heldBytes < 100);
  });
});

describe('lines of the metrics file', () => {
  const text = fc
    .array(fc.constantFrom('{"a":1}', '\n', 'ü', '{', '\r\n', ' '), { maxLength: 40 })
    .map((parts) => parts.join(''));
  it('are the same wherever it is cut', () =>
    fc.assert(
      fc.property(text, cutAnywhere, (file, cuts) =>
        assert.deepEqual(inPieces(file, cuts, new JsonLines()), new JsonLines().push(Buffer.from(file))),
      ),
    ));

  it('are refused if they are too long, once, and the next is read', () => {
    const lines = new JsonLines();
    const found = inPieces(`{"a":${'1'.repeat(3 * MOST_JSON_BYTES)}}\n{"b":1}\n`, [1, 70_000, 140_000, 200_000], lines);
    assert.deepEqual(found, [undefined, '{"b":1}']);
    assert.equal(lines.heldBytes, 0);
  });
});

describe('the metrics of a host in the store', () => {
  const NOW = Date.UTC(2026, 10, 30);
  const place = { job: 'train', attempt: 2, host: 0 };
  let folder: string;
  let store: FolderStore;
  let writes: number[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-host-metrics-'));
    await ensureFolder(folder);
    store = new FolderStore(folder);
    writes = [];
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: NOW });
  });
  afterEach(() => {
    mock.timers.reset();
    rmSync(folder, { recursive: true });
  });

  /** The rules of writing alone, thousands of times. */
  const inMemory = (): MetricsStore => {
    const objects = new Map<string, { readonly content: Buffer; readonly generation: string }>();
    return {
      read: async (name) => objects.get(name)?.content,
      stat: async (name) => {
        const { generation } = objects.get(name) ?? {};
        return generation === undefined ? undefined : { name, size: 0, generation, updatedAt: 0 };
      },
      write: async (name, content, expected) => {
        const { generation } = objects.get(name) ?? {};
        if (generation !== (expected === 'absent' ? undefined : expected.generation)) return { kind: 'conflict' };
        writes.push(Date.now() - NOW);
        objects.set(name, { content: Buffer.from(content), generation: String(writes.length) });
        return { kind: 'written', generation: String(writes.length) };
      },
    };
  };
  const open = (of = place, into: MetricsStore = store): Promise<MetricsOfHost> =>
    MetricsOfHost.open(
      { store: into, patience: new StorePatience(new AbortController().signal), isFollowed: () => false },
      of,
    );
  const stored = async (of = place, from: MetricsStore = store): Promise<StoredMetrics | undefined> => {
    const text = await from.read(metricsObject(of.job, of.attempt, of.host));
    return text && readStoredMetrics(text.toString());
  };
  const points = async (name = 'loss'): Promise<readonly number[] | undefined> =>
    (await stored())?.series.find((series) => series.name === name)?.points.step;
  const line = (step: number): string => `step ${step}\nJOBCTL_METRIC loss=${step / 8} step=${step}\n`;
  const lines = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => line(from + index)).join('');
  /** Lets a second pass, and what it begins come to its end. */
  const second = async (): Promise<void> => {
    mock.timers.tick(1000);
    await new Promise((resolve) => setImmediate(resolve));
  };

  it('are those of the output and of the file', async () => {
    const metrics = await open();
    assert.deepEqual([metrics.outputFrom(0), metrics.fileFrom], [0, 0]);
    metrics.output(Buffer.from(lines(0, 3)));
    metrics.file(Buffer.from('{"step":1,"acc":0.5}\nnot json\n{"step":2,'));
    assert.equal(metrics.fileFrom, 40);
    await metrics.flush();
    const found = await stored();
    assert.deepEqual(
      found?.series.map(({ name, count }) => [name, count]),
      [
        ['step', 4],
        ['loss', 3],
        ['acc', 1],
      ],
    );
    assert.deepEqual([found?.refused, found?.read.file], [1, 30]);
  });

  it('are no object for a program that tells none', async () => {
    const metrics = await open(place, inMemory());
    metrics.output(Buffer.from('step 1\n'.repeat(10_000)));
    for (let passed = 0; passed < 60; passed++) await second();
    await metrics.flush();
    assert.deepEqual(writes, []);
  });

  it('are written at a bounded rate, whatever a program prints', async () => {
    const into = inMemory();
    const metrics = await open(place, into);
    for (let step = 0; step < 1_800; step++) {
      metrics.output(Buffer.from(line(step)));
      await second();
    }
    await metrics.flush();
    assert.equal((await stored(place, into))?.series[0]?.points.step.length, 900, 'thinned at 1,000');
    // One in 2 s for ten minutes, then one in 30 s.
    assert.ok(writes.length > 250 && writes.length < 345, `${writes.length} writes in half an hour`);
  });

  it('cost 10 KiB a second at most, and seldom a write for other hosts', async () => {
    const big = await open({ ...place, host: 1 }, inMemory());
    for (let step = 0; step < 900; step++) {
      const values = Array.from({ length: 90 }, (_, index) => `metric_of_some_length_${index}=${Math.PI * step}`);
      big.output(Buffer.from(`JOBCTL_METRIC ${values.join(' ')} step=${step}\n`));
      await second();
    }
    assert.ok(writes.length >= 2 && writes.length <= 4, `${writes.length} writes in 15 minutes`);
  });

  it('lose nothing and count nothing twice when workers follow one another, at any place', async () => {
    const output = Buffer.from(lines(0, 400));
    const file = Buffer.from(Array.from({ length: 300 }, (_, step) => `{"step":${step},"acc":${step}}\n`).join(''));
    const into = inMemory();
    const alone = await open(place, into);
    alone.outputFrom(0);
    alone.output(output);
    alone.file(file);
    await alone.flush();
    const want = await stored(place, into);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ reads: fc.nat(6000), logBehind: fc.nat(400), file: fc.nat(4000), dies: fc.boolean() }), {
          minLength: 1,
          maxLength: 6,
        }),
        async (workers) => {
          const another = inMemory();
          let logEnd = 0;
          for (const worker of [...workers, { reads: output.length, logBehind: 0, file: file.length, dies: false }]) {
            const metrics = await open(place, another);
            const from = metrics.outputFrom(logEnd);
            assert.ok(from <= logEnd);
            const end = Math.min(output.length, from + worker.reads);
            metrics.output(output.subarray(from, end));
            const fileFrom = metrics.fileFrom;
            metrics.file(file.subarray(fileFrom, fileFrom + worker.file));
            // A worker that dies has stored its log up to anywhere, its metrics maybe not.
            logEnd = Math.max(logEnd, end - worker.logBehind);
            if (!worker.dies) await metrics.flush();
          }
          const found = (await stored(place, another))?.series;
          // Steps come of both, in any order.
          for (const name of ['loss', 'acc'])
            assert.deepEqual(
              found?.find((series) => series.name === name),
              want?.series.find((series) => series.name === name),
            );
        },
      ),
      { numRuns: 50 },
    );
  });

  it('say how much of the output nobody looked through', async () => {
    const first = await open();
    first.output(Buffer.from(line(1)));
    await first.flush();
    const { length } = line(1);
    const second = await open();
    const from = second.outputFrom(100 * 1024 * 1024);
    assert.equal(from, 96 * 1024 * 1024);
    second.output(Buffer.from(line(2)));
    await second.flush();
    const found = await stored();
    assert.equal(found?.missedBytes, from - length);
    assert.equal((await open()).outputFrom(from + line(2).length), from + line(2).length);
  });

  it('are not waited for by a log: the store may refuse them, and then they are in the next write', async () => {
    await new MockActivityEnvironment().run(async () => {
      let isAway = true;
      const away: MetricsStore = {
        read: (...asked) => store.read(...asked),
        stat: (name) => store.stat(name),
        write: async (name, content, expected) => {
          if (isAway) throw new StoreUnavailable('away');
          return store.write(name, content, expected);
        },
      };
      const metrics = await open(place, away);
      metrics.output(Buffer.from(lines(0, 2)));
      await metrics.flush();
      assert.equal(await stored(), undefined);
      isAway = false;
      await metrics.flush();
      assert.deepEqual(await points(), [0, 1]);
    });
  });

  it('are those of the worker that is ahead while two ship one run', async () => {
    const [slow, quick] = [await open(), await open()];
    slow.output(Buffer.from(lines(0, 2)));
    quick.output(Buffer.from(lines(0, 5)));
    await slow.flush();
    await quick.flush();
    slow.output(Buffer.from(lines(2, 3)));
    await slow.flush();
    assert.deepEqual(await points(), [0, 1, 2, 3, 4]);
    mock.timers.tick(120_000);
    slow.output(Buffer.from(lines(3, 4)));
    await slow.flush();
    assert.deepEqual(await points(), [0, 1, 2, 3], 'the other has not written for two minutes');
  });

  it('begin anew over an object that no worker wrote', async () => {
    await store.replace(metricsObject(place.job, place.attempt, place.host), '{"v":1}');
    const metrics = await open();
    metrics.output(Buffer.from(lines(0, 1)));
    await metrics.flush();
    assert.deepEqual(await points(), [0]);
  });

  it('are read from 20,000 lines a second at most', async () => {
    const metrics = await open();
    metrics.output(Buffer.from('JOBCTL_METRIC a=1\n'.repeat(50_000)));
    await metrics.flush();
    const found = await stored();
    assert.deepEqual([found?.series[0]?.count, found?.refused], [20_000, 30_000]);
  });
});
