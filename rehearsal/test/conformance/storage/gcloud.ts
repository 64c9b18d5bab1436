import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoragePlace } from './place.js';

/** gcloud takes seconds for each command, and minutes on a machine that does other things too. */
const SUITE_MS = 180_000;

/** The short form: one life of a bucket. */
export function gcloudStorageInShort(place: StoragePlace): void {
  it('makes a bucket, copies into it, lists it, prints what is in it, and takes it away', async function () {
    this.timeout(SUITE_MS);
    const bucket = `gs://${place.bucket}`;
    writeFileSync(join(place.folder, 'short.txt'), 'in short\n');
    await place.gcloud('buckets', 'create', bucket, '--location=us-central1');
    await place.gcloud('cp', 'short.txt', `${bucket}/dir/`);
    const [listed, printed] = await Promise.all([
      place.gcloud('ls', '-r', bucket),
      place.gcloud('cat', `${bucket}/dir/short.txt`),
    ]);
    assert.match(listed, RegExp(`^${bucket}/dir/short\\.txt$`, 'm'));
    assert.equal(printed, 'in short\n');
    await place.gcloud('rm', '-r', bucket);
  });
}

/** What issue 5 lists: buckets, cp, cat, ls, rsync, rm, compose, and what belongs to them. */
export function gcloudStorage(place: StoragePlace): void {
  const bucket = `gs://${place.bucket}`;
  const file = (name: string): string => join(place.folder, name);
  const big = randomBytes(20_000_000);
  const refusal = async (...args: readonly string[]): Promise<string> => {
    const ended = await place.run('gcloud', ['storage', ...args]);
    assert.notEqual(ended.code, 0, `gcloud storage ${args.join(' ')} succeeded`);
    return ended.stderr;
  };

  before(async function () {
    this.timeout(SUITE_MS);
    await place.gcloud('buckets', 'create', bucket, '--location=us-central1', '--uniform-bucket-level-access');
    writeFileSync(file('big.bin'), big);
    writeFileSync(file('small.txt'), 'small\n');
  });
  after(async function () {
    this.timeout(SUITE_MS);
    await place.run('gcloud', ['storage', 'rm', '-r', bucket]);
  });

  const claims: Record<string, () => Promise<void>> = {
    async 'describes, lists and changes a bucket'() {
      await place.gcloud('buckets', 'update', bucket, '--versioning', '--update-labels=team=vision');
      const described = await place.gcloud(
        'buckets',
        'describe',
        bucket,
        '--format=json(location,labels,versioning_enabled)',
      );
      assert.deepEqual(JSON.parse(described), {
        location: 'US-CENTRAL1',
        labels: { team: 'vision' },
        versioning_enabled: true,
      });
      assert.match(await place.gcloud('buckets', 'list', '--format=value(name)'), RegExp(`^${place.bucket}$`, 'm'));
      await place.gcloud('buckets', 'update', bucket, '--no-versioning', '--clear-labels');
      assert.match(await refusal('buckets', 'create', bucket), /409/);
      assert.match(await refusal('buckets', 'describe', `${bucket}-nobody`), /not found: 404/);
    },
    async 'copies small and big files up and down, whole'() {
      await place.gcloud('cp', 'small.txt', 'big.bin', `${bucket}/up/`);
      await place.gcloud('cp', `${bucket}/up/big.bin`, 'down.bin');
      assert.ok(readFileSync(file('down.bin')).equals(big));
      assert.equal(await place.gcloud('cat', '-r', '1-3', `${bucket}/up/small.txt`), 'mal');
    },
    async 'downloads in slices, and uploads in components'() {
      const sliced = {
        CLOUDSDK_STORAGE_SLICED_OBJECT_DOWNLOAD_THRESHOLD: '4M',
        CLOUDSDK_STORAGE_SLICED_OBJECT_DOWNLOAD_COMPONENT_SIZE: '4M',
      };
      const composite = {
        CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_ENABLED: 'True',
        CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_THRESHOLD: '4M',
        CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_COMPONENT_SIZE: '8M',
      };
      const settings = Object.entries({ ...sliced, ...composite }).map(([name, value]) => `${name}=${value}`);
      const gcloud = (...args: readonly string[]): Promise<{ code: number; stderr: string }> =>
        place.run('env', [...settings, 'gcloud', 'storage', ...args]);
      assert.equal((await gcloud('cp', 'big.bin', `${bucket}/composite.bin`)).code, 0);
      const described = await place.gcloud(
        'objects',
        'describe',
        `${bucket}/composite.bin`,
        '--format=value(component_count)',
      );
      assert.equal(Number(described), 3);
      assert.equal((await gcloud('cp', `${bucket}/composite.bin`, 'sliced.bin')).code, 0);
      assert.ok(readFileSync(file('sliced.bin')).equals(big));
    },
    async 'copies from a pipe'() {
      const ended = await place.run('gcloud', ['storage', 'cp', '-', `${bucket}/piped.txt`], 'from a pipe\n');
      assert.equal(ended.code, 0, ended.stderr);
      assert.equal(await place.gcloud('cat', `${bucket}/piped.txt`), 'from a pipe\n');
    },
    async 'keeps a folder and its copy the same'() {
      for (const path of ['a/1', 'a/b/2', 'a/b/3']) {
        mkdirSync(join(place.folder, 'tree', path, '..'), { recursive: true });
        writeFileSync(join(place.folder, 'tree', path), path);
      }
      await place.gcloud('rsync', '-r', 'tree', `${bucket}/tree`);
      rmSync(file('tree/a/b/3'));
      writeFileSync(file('tree/a/1'), 'changed');
      await place.gcloud('rsync', '-r', '--delete-unmatched-destination-objects', 'tree', `${bucket}/tree`);
      const listed = await place.gcloud('ls', `${bucket}/tree/**`);
      assert.deepEqual(
        listed.trim().split('\n'),
        ['a/1', 'a/b/2'].map((path) => `${bucket}/tree/${path}`),
      );
      await place.gcloud('rsync', '-r', `${bucket}/tree`, 'back', '--checksums-only');
      assert.equal(readFileSync(file('back/a/1'), 'utf8'), 'changed');
    },
    async 'lists long, deep and by wildcard'() {
      await place.gcloud('cp', 'small.txt', `${bucket}/listed/deep/small.txt`);
      const long = await place.gcloud('ls', '-l', '-r', `${bucket}/listed`);
      assert.match(long, RegExp(`^ +6 +\\S+Z +${bucket}/listed/deep/small\\.txt$`, 'm'));
      assert.equal((await place.gcloud('ls', `${bucket}/listed/`)).trim(), `${bucket}/listed/deep/`);
      assert.equal((await place.gcloud('ls', `${bucket}/li*/**/*.txt`)).trim(), `${bucket}/listed/deep/small.txt`);
      assert.match(await refusal('ls', `${bucket}/nobody/`), /matched no objects/);
    },
    async 'moves, composes, describes and changes objects'() {
      await place.gcloud('cp', 'small.txt', `${bucket}/parts/1`);
      await place.gcloud('mv', `${bucket}/parts/1`, `${bucket}/parts/2`);
      await place.gcloud('objects', 'compose', `${bucket}/parts/2`, `${bucket}/parts/2`, `${bucket}/whole`);
      assert.equal(await place.gcloud('cat', `${bucket}/whole`), 'small\nsmall\n');
      await place.gcloud('objects', 'update', `${bucket}/whole`, '--custom-metadata=a=b', '--content-type=a/b');
      const described = await place.gcloud(
        'objects',
        'describe',
        `${bucket}/whole`,
        '--format=json(content_type,component_count,custom_fields.a)',
      );
      assert.deepEqual(JSON.parse(described), { component_count: 2, content_type: 'a/b', custom_fields: { a: 'b' } });
    },
    async 'writes under a precondition, and says 412 where it does not hold'() {
      await place.gcloud('cp', 'small.txt', `${bucket}/once`, '--if-generation-match=0');
      assert.match(
        await refusal('cp', 'small.txt', `${bucket}/once`, '--if-generation-match=0'),
        /412.*pre-conditions/,
      );
    },
    async 'signs URLs that are good here'() {
      if (place.url === undefined) return;
      const key = await fetch(`${place.url}/_rehearsal/service-account-key`);
      writeFileSync(file('key.json'), await key.text());
      await place.gcloud('cp', 'small.txt', `${bucket}/signed.txt`);
      const options = ['--private-key-file=key.json', '--region=us-central1', '--format=value(signed_url)'];
      // Then it looks whether Google itself would take the URL, and fails where Google cannot be reached.
      const signed = await place.run('gcloud', ['storage', 'sign-url', `${bucket}/signed.txt`, ...options]);
      const url = new URL(signed.stdout.trim());
      // It knows no other host than Google's, so that is what was signed.
      const got = await place.run('curl', [
        '-s',
        '-H',
        `Host: ${url.host}`,
        `${place.url}${url.pathname}${url.search}`,
      ]);
      assert.equal(got.stdout, 'small\n');
    },
    async 'packs what it sends, and it arrives unpacked'() {
      await place.gcloud('cp', '--gzip-in-flight-all', 'small.txt', 'big.bin', `${bucket}/in-flight/`);
      assert.equal(await place.gcloud('cat', `${bucket}/in-flight/small.txt`), 'small\n');
      await place.gcloud('cp', `${bucket}/in-flight/big.bin`, 'unpacked.bin');
      assert.ok(readFileSync(file('unpacked.bin')).equals(big));
    },
    async 'removes what matches'() {
      await place.gcloud('rm', '-r', `${bucket}/up`, `${bucket}/tree`);
      assert.match(await refusal('ls', `${bucket}/up/**`), /matched no objects/);
    },
  };
  for (const [name, claim] of Object.entries(claims)) {
    it(name, async function () {
      this.timeout(SUITE_MS);
      await claim();
    });
  }
}
