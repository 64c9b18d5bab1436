import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { StoragePlace } from './place.js';

const VERSION = 'v3.8.4';
/** A build of gcsfuse from its sources. */
const BUILD_MS = 600_000;
const CLAIM_MS = 60_000;

/** The real gcsfuse, two mounts of one bucket. Without /dev/fuse its claims are pending. */
export function gcsfuse(place: StoragePlace): void {
  const bucket = `${place.bucket}-fuse`;
  const [one, other] = [join(place.folder, 'one'), join(place.folder, 'other')];
  const mounted: string[] = [];

  before(async function () {
    // No /dev/fuse here. Pending, not green: .ci/run, which forbids pending tests, leaves this file out.
    if (!existsSync('/dev/fuse')) this.skip();
    this.timeout(BUILD_MS);
    const program = findGcsfuse();
    await place.gcloud('buckets', 'create', `gs://${bucket}`);
    const here = place.url === undefined ? [] : ['--custom-endpoint', `${place.url}/storage/v1/`, '--anonymous-access'];
    for (const folder of [one, other]) {
      await mkdir(folder);
      // What another mount does is seen at once only if nothing is remembered.
      const options = ['--enable-hns=false', '--implicit-dirs', '--metadata-cache-ttl-secs=0'];
      const ended = await place.run(program, [...here, ...options, bucket, folder]);
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      mounted.push(folder);
    }
  });
  after(async function () {
    this.timeout(CLAIM_MS);
    for (const folder of mounted) execFileSync('fusermount3', ['-u', folder]);
    if (mounted.length > 0) await place.run('gcloud', ['storage', 'rm', '-r', `gs://${bucket}`]);
  });

  const claims: Record<string, () => Promise<void>> = {
    async 'reads in one mount what was written in the other'() {
      await writeFile(join(one, 'file'), 'content');
      assert.equal(await readFile(join(other, 'file'), 'utf8'), 'content');
    },
    async 'appends and truncates'() {
      await writeFile(join(one, 'grown'), 'one ');
      await appendFile(join(one, 'grown'), 'two');
      assert.equal(await readFile(join(other, 'grown'), 'utf8'), 'one two');
      await truncate(join(one, 'grown'), 3);
      assert.equal(await readFile(join(other, 'grown'), 'utf8'), 'one');
    },
    async 'writes a big file, and changes its middle'() {
      const content = randomBytes(70_000_000);
      await writeFile(join(one, 'big'), content);
      assert.ok((await readFile(join(other, 'big'))).equals(content));
      const file = await open(join(one, 'big'), 'r+');
      await file.write(Buffer.from('changed'), 0, 7, 35_000_000);
      await file.close();
      content.write('changed', 35_000_000);
      assert.ok((await readFile(join(other, 'big'))).equals(content));
    },
    async renames() {
      await writeFile(join(one, 'from'), 'moved');
      await rename(join(one, 'from'), join(one, 'to'));
      assert.equal(await readFile(join(other, 'to'), 'utf8'), 'moved');
      assert.ok(!(await readdir(other)).includes('from'));
    },
    async 'makes, lists and removes folders, also those that are none of its own'() {
      await mkdir(join(one, 'folder/in'), { recursive: true });
      await writeFile(join(one, 'folder/in/file'), 'x');
      assert.deepEqual(await readdir(join(other, 'folder')), ['in']);
      await assert.rejects(rmdir(join(one, 'folder')), { code: 'ENOTEMPTY' });
      await rm(join(one, 'folder/in/file'));
      await rmdir(join(one, 'folder/in'));
      await rmdir(join(one, 'folder'));
      assert.ok(!(await readdir(other)).includes('folder'));
      await writeFile(join(place.folder, 'copied'), 'by gcloud');
      await place.gcloud('cp', join(place.folder, 'copied'), `gs://${bucket}/implicit/copied`);
      assert.equal(await readFile(join(one, 'implicit/copied'), 'utf8'), 'by gcloud');
    },
    async 'keeps links, and what was synchronised in the midst of writing'() {
      await symlink('file', join(one, 'link'));
      assert.equal(await readlink(join(other, 'link')), 'file');
      const file = await open(join(one, 'log'), 'w');
      await file.write('a'.repeat(1_000_000));
      await file.sync();
      await file.write('b');
      await file.close();
      assert.equal((await readFile(join(other, 'log'), 'utf8')).length, 1_000_001);
    },
    async 'removes many files'() {
      const names = Array.from({ length: 30 }, (_, index) => `many/${index}`);
      await mkdir(join(one, 'many'));
      for (const name of names) await writeFile(join(one, name), name);
      assert.equal((await readdir(join(other, 'many'))).length, 30);
      for (const name of names) await rm(join(other, name));
      assert.deepEqual(await readdir(join(one, 'many')), []);
    },
  };
  for (const [name, claim] of Object.entries(claims)) {
    it(name, async function () {
      this.timeout(CLAIM_MS);
      await claim();
    });
  }
}

/** On PATH or in Go's folder; else it is built, once. */
function findGcsfuse(): string {
  const built = join(homedir(), 'go/bin/gcsfuse');
  const folders = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'gcsfuse'));
  const found = [...folders, built].find((program) => existsSync(program));
  if (found !== undefined) return found;
  execFileSync('go', ['install', `github.com/googlecloudplatform/gcsfuse/v3@${VERSION}`], { stdio: 'inherit' });
  return built;
}
