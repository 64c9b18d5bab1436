import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OWN_FOLDER } from '../../cloud/store/folder-files.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { StorePort } from '../../cloud/store/port.js';
import { wordsOf } from '../own-program.js';
import { exerciseStore } from './store-conformance.js';

describe('a folder as a store', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'jobctl-folder-store-'));
  after(() => rmSync(scratch, { recursive: true, force: true }));
  let count = 0;
  const folderOf = async (): Promise<{ readonly path: string; readonly store: StorePort }> => {
    const path = join(scratch, `a folder ${++count}`);
    const bucket = pathToFileURL(path).href;
    await ensureStore({ bucket });
    return { path, store: openStore({ bucket }) };
  };

  exerciseStore('a folder', async () => {
    const { store } = await folderOf();
    return { store, reader: openStore({ bucket: store.bucket }), prefix: 'run/', close: async () => undefined };
  });

  it('keeps an object as a file of its name, and nothing else when it is removed', async () => {
    const { path, store } = await folderOf();
    await store.write('jobs/j/logs/a1/command/host-0.000', 'a line\n', 'absent');
    assert.equal(readFileSync(join(path, 'jobs/j/logs/a1/command/host-0.000'), 'utf8'), 'a line\n');
    await store.remove('jobs/j/logs/a1/command/host-0.000');
    assert.deepEqual(readdirSync(path), [OWN_FOLDER]);
    assert.deepEqual(readdirSync(join(path, OWN_FOLDER, 'new')), []);
  });

  it('is made once; what is no store is refused, and never read as an empty one', async () => {
    const { path, store } = await folderOf();
    assert.equal(await ensureStore({ bucket: store.bucket }), 'exists');
    await store.write('a', 'x', 'absent');
    // As where a file server is not mounted.
    renameSync(path, `${path} elsewhere`);
    for (const make of [() => undefined, () => mkdirSync(path)]) {
      make();
      const refused = { name: 'StoreRefused', message: /is no folder of a store.*setup server/ };
      await assert.rejects(store.read('a'), refused);
      await assert.rejects(store.stat('a'), refused);
      await assert.rejects(store.list(''), refused);
      await assert.rejects(store.find('*', 1), refused);
      await assert.rejects(store.remove('a'), refused);
      await assert.rejects(store.write('a', 'y', 'absent'), refused);
      await assert.rejects(store.probe(), refused);
    }
    assert.deepEqual(readdirSync(path), []);
  });

  for (const name of [
    '../a',
    'a/../../b',
    '/etc/passwd',
    'a//b',
    'a/',
    '',
    'a/./b',
    'a\0b',
    `${OWN_FOLDER}/store.json`,
  ])
    it(`refuses the name ${JSON.stringify(name)}`, async () => {
      const { store } = await folderOf();
      const refused = { name: 'StoreRefused', message: /which no object of a folder has/ };
      await assert.rejects(store.write(name, 'x', 'absent'), refused);
      await assert.rejects(store.read(name), refused);
      await assert.rejects(store.remove(name), refused);
    });

  it('follows no symbolic link, of a file or of a folder, and lists none', async () => {
    const { path, store } = await folderOf();
    const outside = join(scratch, 'outside');
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, 'secret'), 'secret');
    mkdirSync(join(path, 'jobs'));
    symlinkSync(join(outside, 'secret'), join(path, 'jobs/file'));
    symlinkSync(outside, join(path, 'jobs/folder'));
    const refused = { name: 'StoreRefused', message: /symbolic link/ };
    await assert.rejects(store.read('jobs/file'), refused);
    await assert.rejects(store.read('jobs/folder/secret'), refused);
    await assert.rejects(store.write('jobs/folder/new', 'x', 'absent'), refused);
    await assert.rejects(store.remove('jobs/folder/secret'), refused);
    assert.deepEqual(await store.list(''), []);
    assert.deepEqual(readdirSync(outside), ['secret']);
  });

  it('says so where an object would be a folder, and a folder an object', async () => {
    const { store } = await folderOf();
    await store.write('a/b', 'x', 'absent');
    await assert.rejects(store.write('a', 'x', 'absent'), { name: 'StoreRefused', message: /objects below this name/ });
    await assert.rejects(store.write('a/b/c', 'x', 'absent'), { name: 'StoreRefused', message: /name of a folder/ });
    assert.equal(await store.read('a'), undefined);
  });

  it('loses no change of processes that write at once, of which one is killed', async function () {
    this.timeout(60_000);
    const { store } = await folderOf();
    await store.write('count', JSON.stringify({ value: 0 }), 'absent');
    const program = [...wordsOf(new URL('folder-writer.ts', import.meta.url)), store.bucket];
    let counted = 0;
    const start = (times: number) => {
      const child = spawn(process.execPath, [...program, String(times)], { stdio: ['ignore', 'pipe', 'inherit'] });
      child.stdout.on('data', (dots: Buffer) => {
        counted += dots.length;
        // In the midst of whatever it does.
        if (times === Infinity) child.kill('SIGKILL');
      });
      return new Promise<number | null>((resolve) => child.once('close', resolve));
    };
    assert.deepEqual(await Promise.all([start(40), start(40), start(Infinity)]), [0, 0, null]);
    const { value } = JSON.parse((await store.read('count'))?.toString() ?? '') as { readonly value: number };
    // The last of the one that was killed may have been written, and not told.
    assert.ok(value === counted || value === counted + 1, `${counted} were told, and ${value} counted`);
  });

  it('finishes the change of a process that was killed between its claim and the rename', async () => {
    const { path, store } = await folderOf();
    const first = await store.write('record', 'one', 'absent');
    assert.ok(first.kind === 'written');
    // What such a process leaves: its whole content beside, and the claim that names it.
    const { createHash, randomUUID } = await import('node:crypto');
    const left = randomUUID();
    writeFileSync(join(path, OWN_FOLDER, 'new', left), 'two');
    const claim = createHash('sha256').update(`${first.generation} record`).digest('hex');
    symlinkSync(left, join(path, OWN_FOLDER, 'claims', claim));
    assert.equal((await store.read('record'))?.toString(), 'one');
    assert.deepEqual(await store.write('record', 'three', first), { kind: 'conflict' });
    assert.equal((await store.read('record'))?.toString(), 'two');
    await store.replace('record', 'four');
    assert.equal((await store.read('record'))?.toString(), 'four');
  });
});
