import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { fileObject } from '../../domain/store-layout.js';
import { type JobmanFolder, withJobmanFolder } from '../end-to-end/jobman-job.js';
import type { TestStack } from '../end-to-end/test-stack.js';

const BYTES = 64 * 1024 * 1024;
const HOSTS = 4;

interface StoreCall {
  readonly kind: string;
  readonly subject: string;
  readonly details: { readonly method: string };
}

describe('a file of 64 MiB on four hosts', function () {
  this.timeout(4 * 60_000);
  let stack: TestStack;
  let folder: JobmanFolder;

  withJobmanFolder((...own) => {
    [stack, folder] = own;
  });

  async function readsOf(object: string): Promise<number> {
    const text = await (await fetch(`${stack.rehearsal.endpoints.admin}/admin/journal`)).text();
    const lines = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StoreCall]));
    const isRead = ({ kind, subject, details }: StoreCall): boolean =>
      kind === 'store-call' && subject === `${stack.store.bucket}/${object}` && details.method === 'objects.get';
    return lines.filter(isRead).length;
  }

  it('is read by each of them from the store, once, and not by the worker', async () => {
    const content = randomBytes(BYTES / 2).toString('hex');
    const sha256 = createHash('sha256').update(content).digest('hex');
    folder.write('tokens', content);
    const id = await folder.submit(`
name: big-file
tpu: { accelerator: v5litepod-16, name: me, zone: us-east1-d, version: v2-alpha-tpuv5-lite, pricing: spot }
setup: { modules: [files, command] }
files: [{ from: tokens, to: ~/tokens }]
command: { run: sha256sum < tokens }
`);
    const outcome = await stack.jobs.wait(id);
    assert.equal(outcome.result, 'succeeded', `${JSON.stringify(outcome)}\n${stack.tail()}`);
    for (let host = 0; host < HOSTS; host += 1) {
      assert.match(
        await folder.logOf(id, 'files', host),
        /^jobctl: \S*tokens, 67\.1 MB in \d+\.\d s, from the store\n/,
      );
      assert.match(await folder.logOf(id, 'command', host), new RegExp(`^${sha256} `));
    }
    // The submitter and the worker look whether it is there. Over SSH each host would have cost the worker eight reads.
    const reads = await readsOf(fileObject(sha256));
    assert.ok(reads >= HOSTS && reads < 2 * HOSTS, `${reads} reads`);
  });
});
