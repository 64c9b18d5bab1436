import assert from 'node:assert/strict';
import { jobOutputs, readSetUp } from '../../client/job-records.js';
import { hostsWithChunks } from '../../cloud/store/log-chunks.js';
import { JobLogReader, storedAttempts, storedEvents, storedJobLog, storedStreams } from '../../client/job-logs.js';
import { MOST_WHOLE_BYTES, type StoredObject, type StoreReader } from '../../cloud/store/port.js';
import {
  jobEventsObject,
  jobLogPrefix,
  logChunkObject,
  logPrefix,
  outputManifestObject,
  setUpObject,
} from '../../domain/store-layout.js';
import { readSetUpRecord } from '../../domain/set-up-record.js';
import { ofRealHosts } from '../../server/routes/logs.js';

/** A bucket that hosts write into. An object without content has as many bytes as are asked for. */
class Bucket implements StoreReader {
  readonly bucket = 'b';
  calls = 0;
  /** Bytes of the longest answer. */
  longest = 0;
  readonly #objects = new Map<string, string | undefined>();

  put(name: string, content?: string): void {
    this.#objects.set(name, content);
  }

  async list(prefix: string, startOffset = '', most = Infinity): Promise<readonly StoredObject[]> {
    // A reader that never ends is ended here.
    assert.ok(++this.calls < 10_000, `list ${prefix} from ${startOffset}, for the 10,000th time`);
    const bytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const names = [...this.#objects.keys()].filter((name) => name.startsWith(prefix));
    const sorted = names.toSorted(bytewise).filter((name) => bytewise(name, startOffset) >= 0);
    return sorted.slice(0, most).map((name) => {
      const size = this.#objects.get(name)?.length ?? 1e12;
      return { name, size, generation: '1', updatedAt: 1 };
    });
  }

  async read(name: string, { start = 0, end = Infinity } = {}): Promise<Buffer | undefined> {
    const content = this.#objects.get(name);
    if (content === undefined && this.#objects.has(name)) {
      this.longest = Math.max(this.longest, end - start);
      return Buffer.alloc(Math.min(end - start, MOST_WHOLE_BYTES + 1));
    }
    return content === undefined ? undefined : Buffer.from(content).subarray(start, Math.min(end, content.length));
  }

  async stat(): Promise<undefined> {
    return undefined;
  }
}

describe('a bucket into which hosts write anything', () => {
  const prefix = logPrefix('j', 1, 'command');
  const garbage = ['x', '!', '', '00', '007', '1e5', '9'.repeat(30), 'a.b', 'é', '-1', '1/logs/a1'];

  it('attempts of logs are found past any other name, in requests that end', async () => {
    const bucket = new Bucket();
    for (const word of garbage) bucket.put(`jobs/j/logs/a${word}/command/host-0.000000000000000`, 'x');
    for (const word of ['zz', '0', '9x']) bucket.put(`jobs/j/logs/a${word}/logs/a1/x`, 'x');
    bucket.put(logChunkObject(logPrefix('j', 1, 'command'), '0', 0), 'x');
    bucket.put(logChunkObject(logPrefix('j', 12, 'command'), '0', 0), 'x');
    assert.deepEqual(await storedAttempts(bucket, 'j', 'command'), [1, 12]);
  });

  it('streams of an attempt are found past any other name, in requests that end', async () => {
    const bucket = new Bucket();
    for (const word of [...garbage, '..', 'A', 'a/b', '%2e', 'n'.repeat(41)])
      bucket.put(`jobs/j/logs/a1/${word}/x`, 'x');
    for (const stream of ['command', 'command-2', 'hook-finally', 'venv'])
      bucket.put(logChunkObject(logPrefix('j', 1, stream), '0', 0), 'x');
    assert.deepEqual(await storedStreams(bucket, 'j', 1), ['a', 'command-2', 'command', 'hook-finally', 'venv', 'x']);
  });

  it('names without an end end in an error that says where they are', async () => {
    let calls = 0;
    class Endless extends Bucket {
      override async list(prefix: string): Promise<readonly StoredObject[]> {
        assert.ok(++calls < 3_000);
        return [{ name: `${prefix}0${calls}/x`, size: 1, generation: '1', updatedAt: 1 }];
      }
    }
    const told = (place: string) =>
      new RegExp(`list gs://b/jobs/j/logs/${place}\\*: there are more than 1000 names that`);
    await assert.rejects(storedStreams(new Endless(), 'j', 1), told('a1/'));
    await assert.rejects(storedAttempts(new Endless(), 'j', 'command'), told('a'));
  });

  it('hosts of a log are found past any other name, in requests that end', async () => {
    const bucket = new Bucket();
    for (let chunk = 0; chunk < 1_000; chunk++) bucket.put(logChunkObject(prefix, '0', chunk), 'x');
    for (const word of garbage) bucket.put(`${prefix}host-${word}.000000000000000`, 'x');
    bucket.put(logChunkObject(prefix, '7', 0), 'x');
    bucket.put(logChunkObject(prefix, '10', 0), 'x');
    assert.deepEqual(await hostsWithChunks(bucket, prefix), [0, 7, 10]);
  });

  it('a log of more than a page is read past any other name', async () => {
    const bucket = new Bucket();
    for (let chunk = 0; chunk < 1_000; chunk++) bucket.put(logChunkObject(prefix, '0', chunk), 'x');
    for (const word of garbage) bucket.put(`${prefix}host-${word}.000000000000000`, 'x');
    const reader = new JobLogReader(bucket, 'j', { attempt: 1, stream: 'command' });
    for await (const { host } of reader.unread()) assert.equal(host, 0);
    bucket.put(logChunkObject(prefix, '0', 1_000), 'y');
    bucket.put(logChunkObject(prefix, '3', 0), 'z');
    const given: string[] = [];
    for await (const { host, bytes } of reader.unread()) given.push(`${host} ${bytes.toString()}`);
    assert.deepEqual(given.toSorted(), ['0 y', '3 z']);
  });

  it('an object of any size is not taken into memory', async () => {
    const bucket = new Bucket();
    bucket.put(outputManifestObject('j', 1, 0));
    bucket.put(setUpObject('j', 1));
    bucket.put(`${prefix}host-0.000000000000000.lost`);
    bucket.put(`${jobLogPrefix('j')}0`);
    bucket.put(`${jobLogPrefix('j')}1`, 'last\n');
    await assert.rejects(jobOutputs(bucket, 'j', {}), /manifests\/a1\/host-0\.jsonl .*is longer than 67108864 bytes/);
    await assert.rejects(readSetUp(bucket, 'j', 1), /setup\/a1\.json is longer than 67108864 bytes/);
    for await (const { bytes } of new JobLogReader(bucket, 'j', { attempt: 1, stream: 'command' }).unread())
      assert.equal(bytes.length, 65_536);
    assert.equal((await storedJobLog(bucket, 'j')).toString(), 'last\n');
    bucket.put(jobEventsObject('j'));
    await assert.rejects(storedEvents(bucket, 'j'), /logs\/events\.jsonl is longer than 67108864 bytes/);
    assert.ok(bucket.longest <= MOST_WHOLE_BYTES + 1);
  });

  it('events of a job are those that a worker may have written, of an older one without kinds', async () => {
    const bucket = new Bucket();
    bucket.put(`${jobLogPrefix('j')}0`, 'x\n2026-11-22T07:14:20.000Z queued: waits for quota\n1970 y\n');
    const at = Date.UTC(2026, 10, 22, 7, 14, 20);
    assert.deepEqual(await storedEvents(bucket, 'j'), [{ at, text: 'queued: waits for quota' }]);
    const event = { at, phase: 'running', kind: 'exited', facts: { host: 0, code: 1 }, text: 'running: x' };
    const lines = [event, { at, text: 'old' }, { at: '1', text: 'x' }, { at }, [], null, { ...event, facts: 'x' }];
    bucket.put(jobEventsObject('j'), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{\n`);
    assert.deepEqual(await storedEvents(bucket, 'j'), [event, { at, text: 'old' }]);
  });

  const record = { v: 1, modules: [], hosts: 1, startedAt: 1, ready: {}, steps: [] };
  for (const wrong of [
    '',
    'null',
    '[]',
    '{}',
    '<html>',
    '{"steps":1}',
    JSON.stringify({ ...record, startedAt: 1e300 }),
  ])
    it(`a set-up record ${JSON.stringify(wrong.slice(0, 20))} counts as none`, async () => {
      const bucket = new Bucket();
      bucket.put(setUpObject('j', 1), wrong);
      assert.equal(await readSetUp(bucket, 'j', 1), undefined);
      assert.deepEqual(readSetUpRecord(JSON.stringify(record)), record);
    });

  it('a position of a followed log costs no listing of hosts that stored nothing', async () => {
    const bucket = new Bucket();
    bucket.put(logChunkObject(prefix, '3', 0), 'x');
    const given = new Map(Array.from({ length: 10_000 }, (_, host) => [host, 1]));
    const { given: believed } = await ofRealHosts(bucket, prefix, { attempt: 1, given });
    assert.deepEqual([[...believed], bucket.calls], [[[3, 1]], 1]);
  });
});
