import assert from 'node:assert/strict';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StoredObject, StorePort, StoreReader } from '../../cloud/store/port.js';
import { createStoreReader } from '../../cloud/store/reader.js';
import { contiguous, JobLogReader, type LogStretch, storedAttempts } from '../../client/job-logs.js';
import { LogFollower } from '../../client/log-follower.js';
import { logChunkObject, logPrefix, lostTailObject } from '../../domain/store-layout.js';
import { eventually } from '../cloud/eventually.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';

describe("a job's logs, read from a real store", () => {
  let cloud: RehearsedCloud;
  let store: StorePort;
  let reader: StoreReader;
  let job = '';
  let jobs = 0;

  before(async () => {
    cloud = await startRehearsedCloud();
    const place = { endpoint: cloud.storeEndpoint, bucket: 'logs-test' };
    await ensureBucket({ ...place, projectId: 'p' });
    store = createStore(place);
    reader = createStoreReader(place);
  });
  after(() => cloud.stop());
  beforeEach(() => (job = `job-${jobs++}`));

  async function put(host: number, offset: number, text: string, attempt = 1, stream = 'command'): Promise<string> {
    const name = logChunkObject(logPrefix(job, attempt, stream), String(host), offset);
    await store.write(name, text, 'absent');
    return name;
  }
  async function read(logs: JobLogReader): Promise<Record<number, string>> {
    const byHost: Record<number, string> = {};
    for await (const { host, bytes } of logs.unread()) byHost[host] = (byHost[host] ?? '') + bytes.toString();
    return byHost;
  }
  const open = (host?: number): JobLogReader =>
    new JobLogReader(reader, job, {
      attempt: 1,
      stream: 'command',
      ...(host === undefined ? {} : { hosts: [host] }),
    });

  it('of a job without logs there is nothing', async () => {
    assert.deepEqual(await read(open()), {});
    assert.deepEqual(await storedAttempts(reader, job, 'command'), []);
  });

  it('each host is whole and in order; a second reading gives only what is new', async () => {
    await put(0, 0, 'a\n');
    await put(10, 0, 'x\n');
    await put(0, 2, 'b\n');
    const logs = open();
    assert.deepEqual(await read(logs), { 0: 'a\nb\n', 10: 'x\n' });
    await put(0, 4, 'c\n');
    assert.deepEqual(await read(logs), { 0: 'c\n' });
    assert.deepEqual(await read(logs), {});
  });

  it('a lost tail comes behind all that is stored of its host, once, and is no part of the output', async () => {
    await put(0, 0, 'a\n');
    await put(1, 0, 'x\n');
    const prefix = logPrefix(job, 1, 'command');
    await store.write(lostTailObject(prefix, '0', 4), '[jobctl] lost\n', 'absent');
    const logs = open();
    assert.deepEqual(await read(logs), { 0: 'a\n', 1: 'x\n' }, 'what is stored before it comes first');
    await put(0, 2, 'b\n');
    assert.deepEqual(await read(logs), { 0: 'b\n[jobctl] lost\n' });
    assert.deepEqual(await read(logs), {});
    assert.deepEqual(await read(open(1)), { 1: 'x\n' });
    const names = (await store.list(`${prefix}host-0.`)).map(({ name }) => name);
    assert.ok(names.at(-1)?.endsWith('.lost'), '`gcloud storage cat` prints it last');
  });

  it('one host is that host: 1 is not 10', async () => {
    await put(1, 0, 'one');
    await put(10, 0, 'ten');
    assert.deepEqual(await read(open(1)), { 1: 'one' });
  });

  it('behind a hole nothing is given until it is filled', async () => {
    await put(0, 4, 'cd');
    const logs = open();
    assert.deepEqual(await read(logs), {});
    await put(0, 0, 'abcd');
    assert.deepEqual(await read(logs), { 0: 'abcdcd' });
  });

  it('objects that were joined into one between two readings are not given twice', async () => {
    const old = await put(0, 0, 'abcd');
    const logs = open();
    assert.deepEqual(await read(logs), { 0: 'abcd' });
    await store.remove(old);
    await store.write(old, 'abcdefgh', 'absent');
    assert.deepEqual(await read(logs), { 0: 'efgh' });
  });

  it('many more objects than are fetched at a time stay in order', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => `${String(i).padStart(3, '0')}\n`);
    await Promise.all(lines.map((line, i) => put(0, i * 4, line)));
    assert.deepEqual(await read(open()), { 0: lines.join('') });
  });

  it('of a long log each look lists what is new, and finds a host that had stored nothing', async () => {
    const prefix = logPrefix(job, 1, 'command');
    const names = new Map<string, Buffer>();
    const put = (host: number, offset: number, text: string): unknown =>
      names.set(logChunkObject(prefix, String(host), offset), Buffer.from(text));
    for (let part = 0; part < 1_200; part++) put(part % 2 === 0 ? 1 : 3, (part >> 1) * 2, 'x\n');
    const stored = (name: string): StoredObject | undefined => {
      const content = names.get(name);
      return content && { name, generation: '1', size: content.length, updatedAt: 1 };
    };
    const listed: number[] = [];
    // More objects than are soon written; test/cloud/store-conformance.ts says that a store lists so.
    const counting: StoreReader = {
      bucket: reader.bucket,
      read: async (name, range) => names.get(name)?.subarray(range?.start, range?.end),
      stat: async (name) => stored(name),
      list: async (wanted, from = '', most = Infinity) => {
        const found = [...names.keys()].filter((name) => name.startsWith(wanted) && name >= from);
        const objects = found
          .toSorted()
          .slice(0, most)
          .flatMap((name) => stored(name) ?? []);
        listed.push(objects.length);
        return objects;
      },
    };
    const logs = new JobLogReader(counting, job, { attempt: 1, stream: 'command' });
    assert.deepEqual(await read(logs), { 1: 'x\n'.repeat(600), 3: 'x\n'.repeat(600) });
    assert.deepEqual(listed.splice(0), [1_200]);
    put(1, 1_200, 'y\n');
    for (const host of [0, 2, 20]) put(host, 0, `of ${host}\n`);
    names.set(lostTailObject(prefix, '3', 1_200), Buffer.from('lost\n'));
    assert.deepEqual(await read(logs), { 0: 'of 0\n', 1: 'y\n', 2: 'of 2\n', 3: 'lost\n', 20: 'of 20\n' });
    const objects = listed.splice(0).reduce((sum, length) => sum + length, 0);
    assert.ok(objects < 300, `${objects} objects were listed`);
    for (let part = 0; part < 60; part++) put(20, 6 + part * 2, 'z\n');
    assert.deepEqual(await read(logs), { 20: 'z\n'.repeat(60) });
    assert.deepEqual(await read(logs), {});
  });

  it('attempts are counted as numbers, of the wanted stream alone', async () => {
    for (const attempt of [2, 10, 1]) await put(0, 0, 'x', attempt);
    await put(0, 0, 'x', 11, 'venv');
    assert.deepEqual(await storedAttempts(reader, job, 'command'), [1, 2, 10]);
  });

  it('following goes over attempts, and ends with the job when all is read', async () => {
    const told: string[] = [];
    const follower = new LogFollower(
      reader,
      { job, stream: 'command', firstAttempt: 1 },
      {
        stretch: async ({ host, bytes }) => void told.push(`${host}:${bytes.toString()}`),
        attemptEnd: async (attempt) => void told.push(`end ${attempt}`),
      },
    );
    const toldSoFar = (count: number): Promise<unknown> =>
      eventually(
        `${count} told`,
        async () => told,
        ({ length }) => length === count,
      );
    const end = new AbortController();
    const run = follower.run(end.signal);
    after(() => end.abort());
    await put(0, 0, 'a');
    await toldSoFar(1);
    await put(0, 1, 'b');
    follower.reached({ attempts: 2 });
    await put(0, 0, 'c', 2);
    await toldSoFar(4);
    await put(0, 1, 'd', 2);
    follower.reached({ attempts: 2, endedAt: 1 });
    await run;
    assert.deepEqual(told, ['0:a', '0:b', 'end 1', '0:c', '0:d', 'end 2']);
  });

  it('of a job that closed unseen between two looks the attempts left are read too', async () => {
    const told: string[] = [];
    const sink = {
      stretch: async ({ host, bytes }: LogStretch) => void told.push(`${host}:${bytes.toString()}`),
      attemptEnd: async () => undefined,
    };
    for (const attempt of [1, 2, 3]) await put(0, 0, `a${attempt}`, attempt);
    const follower = new LogFollower(reader, { job, stream: 'command', firstAttempt: 1 }, sink);
    follower.reached({ attempts: 3, endedAt: 1 });
    await follower.run(new AbortController().signal);
    assert.deepEqual(told, ['0:a1', '0:a2', '0:a3']);
  });
});

describe('the order in which stretches of several hosts are given', () => {
  const chunk = (host: number, offset: number, updatedAt: number) => ({
    ...{ name: `${host}.${offset}`, size: 2, generation: '1', updatedAt, host, offset },
  });
  it('is that of storing', () => {
    const order = contiguous([chunk(0, 0, 1), chunk(0, 2, 3), chunk(1, 0, 2)], new Map());
    assert.deepEqual(
      order.map(({ name }) => name),
      ['0.0', '1.0', '0.2'],
    );
  });
  it("but no clock turns a host's own order round", () => {
    const order = contiguous([chunk(0, 2, 1), chunk(0, 0, 5)], new Map());
    assert.deepEqual(
      order.map(({ name }) => name),
      ['0.0', '0.2'],
    );
  });
});
