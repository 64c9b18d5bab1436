import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { submittedFiles } from '../../activities/attempt/submitted-files.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { FileSource } from '../../domain/local-files.js';
import { bundleObject, fileObject } from '../../domain/store-layout.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';

/**
 * F3: who may write the bucket put other code under the hash of somebody's file, and it ran as theirs, with their secrets. At
 * 19b9c1e content of up to 256 KiB was not compared with its hash: the forged files below are handed to the hosts.
 */
describe('F3: content that was overwritten in the bucket', function () {
  this.timeout(30_000);
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-f03-'));
  let rehearsal: Rehearsal;
  let store: StorePort;

  before(async () => {
    rehearsal = await startTestRehearsal({ stateDir: folder });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'f03', projectId: 'p' };
    await ensureBucket(options);
    store = createStore(options);
  });
  after(async () => {
    await rehearsal?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const hashOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
  async function contentOf(file: FileSource | Buffer | undefined): Promise<string> {
    assert.ok(file);
    if (Buffer.isBuffer(file)) return file.toString();
    const chunks: Buffer[] = [];
    for await (const chunk of file.read(0)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  for (const size of [108, 200_000])
    it(`(${size} bytes, and forged ones of the same length) ends the job by name, and never reaches a host`, async () => {
      const content = Buffer.alloc(size, 'alice ');
      const sha256 = hashOf(content);
      await store.replace(fileObject(sha256), content, 'application/octet-stream');
      const read = async (): Promise<string> =>
        contentOf((await submittedFiles(store, { 'train.py': sha256 })).get('train.py'));
      assert.equal(await read(), content.toString());
      for (const evil of [Buffer.alloc(size, 'mallory '), Buffer.from('short')]) {
        await store.replace(fileObject(sha256), evil, 'application/octet-stream');
        await assert.rejects(read(), { type: 'InvalidJob', nonRetryable: true, message: /is not what was submitted/ });
      }
    });

  it('a bundle is named by its content in the same way', () => {
    assert.notEqual(bundleObject(hashOf(Buffer.from('a'))), bundleObject(hashOf(Buffer.from('b'))));
  });
});
