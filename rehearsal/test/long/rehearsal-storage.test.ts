import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { gcloudStorage } from '../conformance/storage/gcloud.js';
import { gcsfuse } from '../conformance/storage/gcsfuse.js';
import { StoragePlace } from '../conformance/storage/place.js';
import { pythonStorage } from '../conformance/storage/python.js';
import type { Scratch } from '../scratch.js';
import { scratchFolder } from '../scratch.js';

/** Google's own tools, unmodified, on the rehearsal's Cloud Storage; on Google's with STORAGE_CONFORMANCE_PROJECT set. */
describe('Cloud Storage, as Google’s tools see it', () => {
  const place = new StoragePlace();
  before(() => place.start());
  after(() => place.stop());

  describe('gcloud storage', () => gcloudStorage(place));
  describe('google-cloud-storage for Python', () => pythonStorage(place));
  describe('gcsfuse', () => gcsfuse(place));
});

const MIB = 1024 * 1024;

describe('the rehearsal’s Cloud Storage in a process of its own', function () {
  this.timeout(300_000);
  let scratch: Scratch;
  let server: ChildProcess;
  let url: string;

  beforeEach(async () => {
    scratch = scratchFolder('store-process');
    await start();
    await ask('POST', '/storage/v1/b?project=p', JSON.stringify({ name: 'bucket' }));
  });
  afterEach(async () => {
    await kill();
    scratch.remove();
  });

  async function start(): Promise<void> {
    const program = fileURLToPath(new URL('../store-process.ts', import.meta.url));
    server = spawn(process.execPath, ['--import', 'tsx', program, scratch.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.ok(server.stdout !== null);
    for await (const line of createInterface({ input: server.stdout })) {
      url = line;
      return;
    }
  }

  async function kill(): Promise<void> {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGKILL');
    await ended;
  }

  function ask(
    method: string,
    path: string,
    body: string | AsyncIterable<Buffer> = '',
    headers: Readonly<Record<string, string | number>> = {},
  ): Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly bytes: number;
    readonly text: string;
  }> {
    return new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, { method, headers }, (response) => {
        let [bytes, text] = [0, ''];
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes < MIB) text += chunk.toString();
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text }));
      });
      sent.on('error', reject);
      if (typeof body === 'string') sent.end(body);
      else void send(body, sent);
    });
  }

  /** MB, the most that it ever had. */
  function peakMemory(): number {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024;
  }

  it('takes 1 GB in, and gives it out, with the memory that it has for 1 MB', async () => {
    const block = randomBytes(MIB);
    const length = 1024 * MIB;
    async function* blocks(count: number): AsyncGenerator<Buffer> {
      for (let index = 0; index < count; index += 1) yield await Promise.resolve(block);
    }
    const put = (name: string, count: number): ReturnType<typeof ask> =>
      ask('POST', `/upload/storage/v1/b/bucket/o?uploadType=media&name=${name}`, blocks(count), {
        'content-length': count * MIB,
      });
    await put('small', 1);
    const before = peakMemory();
    assert.equal((await put('big', 1024)).status, 200);
    assert.equal((await ask('GET', '/storage/v1/b/bucket/o/big?alt=media')).bytes, length);
    const begun = await ask('POST', '/upload/storage/v1/b/bucket/o?uploadType=resumable&name=resumed', '{}');
    const session = String(begun.headers['location']).replace(url, '');
    assert.equal((await ask('PUT', session, blocks(1024), { 'content-length': length })).status, 200);
    const grown = peakMemory() - before;
    assert.ok(grown < 150, `${grown} MB more than before`);
  });

  it('killed with SIGKILL amid a thousand writes it has every object that it said it had, whole', async () => {
    const acknowledged = new Set<string>();
    const content = randomBytes(10_000).toString('hex');
    const write = async (name: string): Promise<void> => {
      const answer = await ask(
        'POST',
        `/upload/storage/v1/b/bucket/o?uploadType=media&name=${name}`,
        `${name} ${content}`,
      );
      if (answer.status === 200) acknowledged.add(name);
      if (acknowledged.size === 300) server.kill('SIGKILL');
    };
    const writes = Array.from({ length: 16 }, async (_, writer) => {
      for (let index = 0; index < 64; index += 1) await write(`object-${writer}-${index}`);
    });
    const results = await Promise.allSettled(writes);
    assert.ok(results.some((result) => result.status === 'rejected'));
    assert.ok(acknowledged.size >= 300 && acknowledged.size < 1024, `${acknowledged.size} writes were acknowledged`);
    await start();
    const { items } = JSON.parse((await ask('GET', '/storage/v1/b/bucket/o?fields=items/name')).text) as {
      items: { name: string }[];
    };
    const there = new Set(items.map((item) => item.name));
    assert.deepEqual(
      [...acknowledged].filter((name) => !there.has(name)),
      [],
    );
    for (const name of there) {
      assert.equal((await ask('GET', `/storage/v1/b/bucket/o/${name}?alt=media`)).text, `${name} ${content}`);
    }
  });
});

async function send(body: AsyncIterable<Buffer>, sent: ReturnType<typeof request>): Promise<void> {
  for await (const block of body) {
    if (!sent.write(block)) await new Promise((resolve) => sent.once('drain', resolve));
  }
  sent.end();
}
