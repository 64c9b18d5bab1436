import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadWorkerConfig, WorkerConfigError } from '../../worker/config.js';

const PEM = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
const verified = { serverKeys: { k1: PEM } };

describe("verified mode in a worker's configuration", () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'jobctl-worker-'))));
  after(() => rmSync(folder, { recursive: true }));

  function load(store: object, more: object, environment: Record<string, string> = {}) {
    const file = join(folder, 'worker.json');
    const ssh = { privateKeyFile: 'k', publicKeyFile: 'k.pub' };
    writeFileSync(file, JSON.stringify({ store, ssh, googleProject: 'my-project', ...more }));
    return loadWorkerConfig({ file, environment, flags: {} });
  }
  const problem = (store: object): string => {
    try {
      load(store, { verified });
    } catch (error) {
      if (error instanceof WorkerConfigError) return error.message;
      throw error;
    }
    return assert.fail(`${JSON.stringify(store)} was taken`);
  };

  it('row 4 of the audit: is refused without a second bucket, and with one that is the first, and the message says what to do', () => {
    const wanted =
      /\n {2}store\.systemBucket: is missing, and in verified mode hosts .* setup server --bucket BUCKET --system-bucket NAME.*docs\/security\.md/;
    assert.match(problem({ bucket: 'my-jobs' }), wanted);
    assert.match(
      problem({ bucket: 'my-jobs', systemBucket: 'my-jobs' }),
      /\n {2}store\.systemBucket: 'my-jobs' is the job bucket too, .* setup server --bucket BUCKET --system-bucket NAME/,
    );
  });

  it('is taken with one, of the file or of the environment; trusted mode needs none', () => {
    assert.equal(load({ bucket: 'my-jobs', systemBucket: 'of-system' }, { verified }).store.systemBucket, 'of-system');
    const environment = { JOBCTL_SYSTEM_BUCKET: 'of-system' };
    assert.equal(load({ bucket: 'my-jobs' }, { verified }, environment).store.systemBucket, 'of-system');
    assert.equal(load({ bucket: 'my-jobs' }, {}).store.systemBucket, undefined);
  });
});
