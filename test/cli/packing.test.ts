import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstOutput } from '../first-output.js';
import { packTree, treeEntries } from '../../cli/job/packing/pack-tree.js';
import { until } from '../until.js';

describe('packing a folder', () => {
  let work: string;
  let root: string;
  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'packing-test-'));
    root = join(work, 'tree');
    mkdirSync(root);
  });
  afterEach(() => rmSync(work, { recursive: true }));

  /** Packs all of it, and unpacks it as a host does. @returns where */
  async function roundTrip(gzip?: true): Promise<string> {
    const packed = await packTree({ root, entries: await treeEntries(root), ...(gzip && { gzip }) });
    const [archive, target] = [join(work, 'archive'), join(work, 'out')];
    writeFileSync(archive, await contentOf(packed.source.read(0)));
    await packed.remove();
    assert.equal(packed.source.size, statSync(archive).size);
    assert.equal(packed.source.sha256, createHash('sha256').update(readFileSync(archive)).digest('hex'));
    mkdirSync(target);
    execFileSync('tar', ['-xf', archive, '-C', target, '--no-same-owner', '--overwrite']);
    return target;
  }

  const digest = async (): Promise<string> => {
    const { source, remove } = await packTree({ root, entries: await treeEntries(root) });
    await remove();
    return source.sha256;
  };

  it('every name, link, mode and empty folder arrives', async () => {
    const long = 'x'.repeat(200);
    const names = ['a\nb', '@x', '-rf', 'c:y', '\\\\srv\\z', ' lead', 'trail ', "it's", `${long}/${'ü'.repeat(100)}`];
    mkdirSync(join(root, long));
    mkdirSync(join(root, 'empty'));
    for (const name of names) writeFileSync(join(root, name), name);
    writeFileSync(join(root, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(root, 'secret'), 's', { mode: 0o600 });
    linkSync(join(root, 'run.sh'), join(root, 'same.sh'));
    symlinkSync('../nowhere', join(root, 'dangling'));
    symlinkSync('y'.repeat(300), join(root, 'far'));
    const target = await roundTrip();
    for (const name of names) assert.equal(readFileSync(join(target, name), 'utf8'), name);
    assert.deepEqual(readdirSync(target).toSorted(), readdirSync(root).toSorted());
    assert.ok(lstatSync(join(target, 'empty')).isDirectory());
    assert.equal(statSync(join(target, 'run.sh')).mode & 0o777, 0o755);
    assert.equal(statSync(join(target, 'secret')).mode & 0o777, 0o600);
    assert.equal(statSync(join(target, 'same.sh')).ino, statSync(join(target, 'run.sh')).ino);
    assert.equal(readlinkSync(join(target, 'dangling')), '../nowhere');
    assert.equal(readlinkSync(join(target, 'far')), 'y'.repeat(300));
  });

  it('a large file, one of no bytes, and gzip', async () => {
    const large = Buffer.alloc(3_000_001, 'a line of text\n');
    writeFileSync(join(root, 'large'), large);
    writeFileSync(join(root, 'nothing'), '');
    const target = await roundTrip(true);
    assert.ok(readFileSync(join(target, 'large')).equals(large));
    assert.equal(statSync(join(target, 'nothing')).size, 0);
    assert.ok(statSync(join(work, 'archive')).size < large.length);
  });

  it('a text that is no file of the folder stands among them', async () => {
    writeFileSync(join(root, 'a'), 'a');
    const texts = [
      { name: '.note', text: 'ünder\n' },
      { name: 'none', text: '' },
    ];
    const packed = await packTree({ root, entries: ['a'], texts, gzip: true });
    const archive = join(work, 'archive');
    writeFileSync(archive, await contentOf(packed.source.read(0)));
    assert.equal(String(execFileSync('tar', ['-xOf', archive, 'a', '.note', 'none'])), 'aünder\n');
  });

  it('an empty folder is an archive of nothing', async () => {
    assert.deepEqual(readdirSync(await roundTrip()), []);
  });

  it('the same files are the same bytes, whenever, by whom and in what order they were made', async () => {
    const write = (name: string): void => writeFileSync(join(root, name), name);
    ['b', 'a', 'B', 'ä'].forEach(write);
    const before = await digest();
    ['ä', 'B', 'a', 'b'].forEach((name) => rmSync(join(root, name)));
    ['a', 'ä', 'B', 'b'].forEach(write);
    utimesSync(join(root, 'a'), 1, 1);
    chmodSync(join(root, 'b'), 0o664);
    assert.equal(await digest(), before);
    chmodSync(join(root, 'b'), 0o755);
    assert.notEqual(await digest(), before);
    assert.deepEqual(await treeEntries(root), ['B', 'a', 'b', 'ä']);
  });

  it('what cannot go is named, and nothing is left behind', async () => {
    const refused = async (message: RegExp): Promise<void> =>
      assert.rejects(digest(), { name: 'NotPackable', message });
    mkdirSync(join(root, 'run'));
    writeFileSync(Buffer.concat([Buffer.from(join(root, 'run/bad')), Buffer.from([0xff])]), '');
    await refused(/not UTF-8: bad\\xff in run/);
    rmSync(join(root, 'run'), { recursive: true });
    symlinkSync(Buffer.from([0x61, 0xfe]), join(root, 'odd'));
    await refused(/the link odd, whose target is not UTF-8: a\\xfe/);
    rmSync(join(root, 'odd'));
    const server = createServer().listen(join(root, 'sock'));
    await new Promise((resolve) => server.once('listening', resolve));
    await refused(/has sock, which is neither file, folder nor link/);
    server.close();
  });

  it('a folder of too many entries is refused with the places where they are', async () => {
    for (const [folder, count] of Object.entries({
      'data/train': 60,
      'data/eval': 40,
      src: 3,
      runs: 2,
      doc: 1,
    })) {
      mkdirSync(join(root, folder), { recursive: true });
      for (let i = 0; i < count; i++) symlinkSync('.', join(root, folder, String(i)));
    }
    await assert.rejects(treeEntries(root, 100), {
      message: 'has 112 files and folders; 100 are the most. Most are in data/train (60), data/eval (40), src (3)',
    });
  });

  it('a signal takes the archive away with the process', async () => {
    writeFileSync(join(root, 'a'), 'a');
    const script = `import { packTree } from ${JSON.stringify(join(process.cwd(), 'cli/job/packing/pack-tree.ts'))};
      await packTree({ root: ${JSON.stringify(root)}, entries: ['a'] });
      console.log('packed'); setInterval(() => {}, 1000);`;
    const env = { ...process.env, TMPDIR: work };
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { env });
    const scratch = (): string[] => readdirSync(work).filter((name) => name.startsWith('jobctl-packed-'));
    try {
      await firstOutput(child);
      const [folder = ''] = scratch();
      assert.equal(statSync(join(work, folder)).mode & 0o777, 0o700);
      for (const name of readdirSync(join(work, folder)))
        assert.equal(statSync(join(work, folder, name)).mode & 0o777, 0o600);
      child.kill('SIGINT');
      const signal = await new Promise((resolve) => child.once('exit', (_, name) => resolve(name)));
      assert.equal(signal, 'SIGINT');
      await until('the scratch folder is gone', () => !existsSync(join(work, folder)));
    } finally {
      child.kill('SIGKILL');
    }
  });
});

async function contentOf(read: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of read) chunks.push(chunk);
  return Buffer.concat(chunks);
}
