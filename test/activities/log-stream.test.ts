import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { LogStream } from '../../activities/attempt/log-stream.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { type Rehearsal, startRehearsal } from '../../rehearsal/index.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';

describe("the shipping of one host's output", function () {
  this.timeout(30_000);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-log-stream-'));
  let rehearsal: Rehearsal;
  let store: StorePort;
  let prefix = '';
  let round = 0;

  before(async () => {
    rehearsal = await startRehearsal({ stateDir: directory, subnetOctet: 125, sshPort: 2297 });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'logs', projectId: 'p' };
    await ensureBucket(options);
    store = createStore(options);
  });
  beforeEach(() => {
    prefix = `logs/${round++}/`;
  });
  after(async () => {
    await rehearsal.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  async function stored(): Promise<Buffer> {
    const chunks = await store.list(`${prefix}host-0.`);
    return Buffer.concat(
      await Promise.all(chunks.map(async ({ name }) => (await store.read(name)) ?? Buffer.alloc(0))),
    );
  }
  const open = (): Promise<LogStream> =>
    LogStream.open({ store, meter: { logLag: () => undefined } }, prefix, 0, new AbortController().signal);
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
});
