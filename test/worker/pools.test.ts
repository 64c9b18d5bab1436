import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadWorkerConfig, poolPlacesOf } from '../../worker/config.js';

const LEAST = {
  store: { bucket: 'jobs' },
  ssh: { privateKeyFile: 'k', publicKeyFile: 'k.pub' },
  googleProject: 'my-project',
};

describe("the pools of a worker's configuration", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-worker-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  function placesOf(extra: object, environment: Record<string, string> = {}): unknown {
    const file = join(folder, 'worker.json');
    writeFileSync(file, JSON.stringify({ ...LEAST, ...extra }));
    // As JSON: a file that is not named is not there.
    return JSON.parse(JSON.stringify(poolPlacesOf(loadWorkerConfig({ file, environment, flags: {} }))));
  }

  it('quotaFile and poolFile are of its pool; pools names others', () => {
    const pools = { research: { quotaFile: 'gs://quotas/research.toml' }, v6e: { poolFile: '/etc/v6e.toml' } };
    assert.deepEqual(placesOf({ quotaFile: '/etc/quota.toml', pools }), {
      default: { quotaFile: '/etc/quota.toml' },
      ...pools,
    });
    assert.deepEqual(
      placesOf({ pool: 'main' }, { JOBCTL_QUOTA_FILE: 'q.toml', JOBCTL_POOL_FILE: 'gs://quotas/p.toml' }),
      {
        main: { quotaFile: 'q.toml', poolFile: 'gs://quotas/p.toml' },
      },
    );
  });
  it('its pool may stand in pools alone', () => {
    const pools = { default: { quotaFile: 'q.toml' } };
    assert.deepEqual(placesOf({ pools }), pools);
  });

  const wrong: Record<string, { extra: object; want: RegExp }> = {
    'files that are named twice': {
      extra: { quotaFile: 'a', pools: { default: { poolFile: 'b' } } },
      want: /^ {2}pools\.default: its files are named twice: keep quotaFile and poolFile, or this$/m,
    },
    'a bucket without an object': {
      extra: { pools: { a: { quotaFile: 'gs://quotas' } } },
      want: /^ {2}pools\.a\.quotaFile: a path, or gs:\/\/BUCKET\/OBJECT$/m,
    },
    'a name that no job file can have': {
      extra: { pools: { 'a b': {} } },
      want: /^ {2}pools\.a b: /m,
    },
    'a misspelt field': {
      extra: { pools: { a: { quotafile: 'q' } } },
      want: /^ {2}pools\.a: no such key: quotafile/m,
    },
  };
  for (const [name, { extra, want }] of Object.entries(wrong)) {
    it(`${name}: refused`, () => assert.throws(() => placesOf(extra), { name: 'WorkerConfigError', message: want }));
  }
});

it('a worker reads no key files of jobs unless it is told to', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-worker-'));
  const file = join(folder, 'worker.json');
  writeFileSync(file, JSON.stringify(LEAST));
  assert.equal(loadWorkerConfig({ file, environment: {}, flags: {} }).ssh.readsKeyFiles, false);
  rmSync(folder, { recursive: true });
});
