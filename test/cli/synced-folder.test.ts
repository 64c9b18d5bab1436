import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SyncedFolder } from '../../cli/jobs/sync/synced-folder.js';

/** Hosts and their folders: test/hosts/sync.test.ts. */
describe('a folder here that is looked at again', () => {
  let here: string;
  beforeEach(() => (here = mkdtempSync(join(tmpdir(), 'synced-'))));
  afterEach(() => rmSync(here, { recursive: true, force: true }));

  it('shows a change of the same size in the same moment', async () => {
    const file = join(here, 'a');
    writeFileSync(file, 'one');
    const folder = await SyncedFolder.open(here);
    const seen = new Set<string>();
    for (const text of ['one', 'two', 'six']) {
      writeFileSync(file, text);
      seen.add((await folder.look()).files.get('a')?.source.sha256 ?? '');
    }
    assert.equal(seen.size, 3);
  });

  it('has what a bundle has, and the content of links; what it cannot have is named', async () => {
    mkdirSync(join(here, '.git'));
    mkdirSync(join(here, '.venv'));
    for (const name of ['.git/config', '.venv/x', 'kept.py', 'line\nbreak']) writeFileSync(join(here, name), name);
    symlinkSync('kept.py', join(here, 'link'));
    symlinkSync('nowhere', join(here, 'broken'));
    symlinkSync('.', join(here, 'around'));
    symlinkSync('/etc/hostname', join(here, 'out'));
    const { files, problems } = await (await SyncedFolder.open(here)).look();
    assert.deepEqual([...files.keys()], ['kept.py', 'link']);
    assert.equal(files.get('link')?.source.sha256, files.get('kept.py')?.source.sha256);
    assert.deepEqual(problems, [
      '"around": leads to a folder',
      '"broken": leads nowhere',
      '"line\\nbreak": has a line break in its name',
      '"out": leads out of the folder',
    ]);
  });

  it('counts its changes; without any file it is taken for one that is gone, and nothing follows from it', async () => {
    const folder = await SyncedFolder.open(here);
    const version = async (): Promise<number> => (await folder.look()).version;
    assert.deepEqual([await version(), await version()], [0, 0]);
    writeFileSync(join(here, 'a'), 'a');
    writeFileSync(join(here, 'b'), 'b');
    assert.deepEqual([await version(), await version()], [1, 1]);
    rmSync(join(here, 'b'));
    assert.equal(await version(), 2);
    chmodSync(join(here, 'a'), 0o755);
    assert.equal(await version(), 3);
    rmSync(join(here, 'a'));
    await assert.rejects(folder.look(), { message: /has no file any more; nothing is removed from hosts for that$/ });
    writeFileSync(join(here, 'a'), 'a');
    assert.equal(await version(), 4);
  });

  it('is refused if it is none, or larger than hosts can be given again and again', async () => {
    await assert.rejects(SyncedFolder.open(join(here, 'none')), { message: /none: does not exist/ });
    writeFileSync(join(here, 'file'), '');
    await assert.rejects(SyncedFolder.open(join(here, 'file')), { message: /file: is no folder/ });
    truncateSync(join(here, 'file'), 2_000_000_001);
    await assert.rejects((await SyncedFolder.open(here)).look(), { message: /sync takes 2(\.0)? GB at most/ });
  });
});
