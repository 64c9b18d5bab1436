import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { startRehearsedCloud, type RehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { type Finished, JobctlUser } from '../end-to-end/jobctl-process.js';
import { testServer } from '../temporal-server.js';
import { until } from '../until.js';

const MIB = 1024 * 1024;
/** Bytes of memory that a submit may take, however large its files are. */
const MOST_MEMORY = 350_000_000;

/** `jobctl submit` as users run it, to a task queue that no worker serves: what is measured is the way to the store. */
describe('large files of a submitter', function () {
  this.timeout(300_000);
  let cloud: RehearsedCloud;
  let store: StorePort;
  let folder: string;
  let user: JobctlUser;
  const scratch = (): string => join(folder, 'tmp');

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'large-files-'));
    mkdirSync(scratch());
    cloud = await startRehearsedCloud();
    const at = { endpoint: cloud.storeEndpoint, bucket: 'large', projectId: 'p' };
    await ensureBucket(at);
    store = createStore(at);
    const server = await testServer();
    user = new JobctlUser({
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: server.namespace,
      JOBCTL_TASK_QUEUE: `large-files-${randomBytes(4).toString('hex')}`,
      JOBCTL_BUCKET: 'large',
      JOBCTL_STORE_ENDPOINT: cloud.storeEndpoint,
      TMPDIR: scratch(),
      NODE_OPTIONS: `--import ${join(folder, 'memory.mjs')}`,
    });
    const tell =
      "process.on('exit', () => process.stderr.write(`memory ${process.resourceUsage().maxRSS * 1024}\\n`));";
    writeFileSync(join(folder, 'memory.mjs'), tell);
  });
  after(async () => {
    rmSync(user.home, { recursive: true });
    rmSync(folder, { recursive: true });
    await cloud.stop();
  });

  function write(name: string, bytes: number): void {
    const file = openSync(join(folder, name), 'w');
    for (let at = 0; at < bytes; at += MIB) writeSync(file, randomBytes(Math.min(MIB, bytes - at)));
    closeSync(file);
  }

  function jobFile(...files: readonly string[]): string {
    const path = join(folder, 'job.yaml');
    const tpu = 'tpu: {accelerator: v6e-8, zone: us-central1-a}';
    writeFileSync(path, `job: {name: large}\n${tpu}\nfiles: [${files.join(', ')}]\ncommand: {run: 'true'}\n`);
    return path;
  }

  const memoryOf = ({ stderr }: Finished): number => Number(/^memory (\d+)$/m.exec(stderr)?.[1]);
  const stored = async (): Promise<readonly number[]> =>
    (await store.list('files/')).map(({ size }) => size).toSorted((a, b) => a - b);

  it('of 1 GiB, and four more beside it, go through 350 MB of memory; again, nothing is sent', async () => {
    const sizes = [1024 * MIB, 100 * MIB, 99 * MIB, 98 * MIB, 97 * MIB];
    sizes.forEach((size, index) => write(`${index}.bin`, size));
    const file = jobFile(...sizes.map((_, index) => `${index}.bin`));
    const begun = Date.now();
    const submitted = await user.run('submit', file);
    assert.equal(submitted.code, 0, submitted.stderr);
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    console.log(`      1.4 GiB in ${seconds} s, ${(memoryOf(submitted) / 1e6).toFixed(0)} MB of memory at most`);
    assert.ok(memoryOf(submitted) < MOST_MEMORY, submitted.stderr);
    assert.deepEqual(
      await stored(),
      sizes.toSorted((a, b) => a - b),
    );
    const generations = (await store.list('files/')).map(({ generation }) => generation);
    assert.equal((await user.run('submit', file)).code, 0);
    assert.deepEqual(
      (await store.list('files/')).map(({ generation }) => generation),
      generations,
    );
    sizes.forEach((_, index) => rmSync(join(folder, `${index}.bin`)));
  });

  it('in a folder: Ctrl-C while it is on its way leaves nothing here, and the next submit brings it', async () => {
    const before = (await stored()).length;
    mkdirSync(join(folder, 'data'));
    for (const name of ['data/a', 'data/b', 'data/c']) write(name, 200 * MIB);
    const file = jobFile('data');
    const stopped = user.start('submit', file);
    await until('it is being packed', () => readdirSync(scratch()).some((name) => name.startsWith('jobctl-packed-')));
    stopped.kill('SIGINT');
    assert.equal((await stopped.finished).code, null);
    assert.deepEqual(readdirSync(scratch()), []);
    assert.equal((await stored()).length, before);
    const submitted = await user.run('submit', file);
    assert.equal(submitted.code, 0, submitted.stderr);
    assert.ok(memoryOf(submitted) < MOST_MEMORY, submitted.stderr);
    assert.deepEqual(readdirSync(scratch()), []);
    assert.equal((await stored()).length, before + 1);
  });
});
