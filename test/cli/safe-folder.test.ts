import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloadFile } from '../../cli/jobs/outputs/download-file.js';
import { SafeFolder, UnsafePath } from '../../cli/terminal/safe-folder.js';
import type { StoreReader } from '../../cloud/store/port.js';
import { loaded } from '../own-program.js';

const NOBODY = 65_534;

describe('a folder that files from elsewhere are laid down in', () => {
  let base: string;
  let folder: SafeFolder;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'safe-folder-'));
    mkdirSync(join(base, 'outside'));
    writeFileSync(join(base, 'outside/secret'), 'mine');
    folder = new SafeFolder(join(base, 'safe'));
  });
  afterEach(() => {
    assert.equal(readFileSync(join(base, 'outside/secret'), 'utf8'), 'mine');
    assert.deepEqual(readdirSync(join(base, 'outside')), ['secret']);
    rmSync(base, { recursive: true, force: true });
  });
  const lay = (name: string, text = 'x'): Promise<void> =>
    folder.lay({ name, mode: 0o644 }, (writing) => writing.writeFile(text));

  const wrong = ['', '.', '..', '../x', 'a/../../x', '/etc/x', 'a//x', 'a\0', 'x'.repeat(256), 'x/'.repeat(2500) + 'x'];
  for (const name of wrong)
    it(`takes no name ${JSON.stringify(name.slice(0, 20))}, whatever was judged before`, async () => {
      await assert.rejects(lay(name), UnsafePath);
      await assert.rejects(
        folder.holds(name, 1, async () => 'x'),
        UnsafePath,
      );
      await assert.rejects(folder.link(name, 'a'), UnsafePath);
      if (name !== '') await assert.rejects(folder.folder(name), UnsafePath);
      assert.equal(existsSync(join(base, 'x')), false);
    });

  it('replaces a file that may not be read', async () => {
    await lay('x', 'old');
    chmodSync(join(base, 'safe/x'), 0);
    // Root may read every file, so the program becomes nobody. A relative path needs no rights to the folders above.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) for (const each of ['', 'safe', 'safe/x']) chownSync(join(base, each), NOBODY, NOBODY);
    const { by, file } = loaded(new URL('../../cli/terminal/safe-folder.ts', import.meta.url));
    const code = `const { SafeFolder } = await import('${file}');
      if (${isRoot}) process.setgid(${NOBODY}), process.setuid(${NOBODY});
      const folder = new SafeFolder('safe');
      console.log(await folder.holds('x', 3, async () => ''));
      await folder.lay({ name: 'x', mode: 0o644 }, (writing) => writing.writeFile('new'));`;
    const ran = [...by, '--input-type=module', '--eval', code];
    assert.equal(execFileSync(process.execPath, ran, { cwd: base, encoding: 'utf8' }), 'false\n');
    assert.equal(readFileSync(join(base, 'safe/x'), 'utf8'), 'new');
  });

  it('refuses a second name that is the same file here', async () => {
    await lay('Makefile');
    // As a file system shows it that ignores case.
    linkSync(join(base, 'safe/Makefile'), join(base, 'safe/makefile'));
    await assert.rejects(lay('makefile', 'y'), /"makefile" is the same file here as another name of the list/);
    assert.equal(readFileSync(join(base, 'safe/Makefile'), 'utf8'), 'x');
    assert.deepEqual(readdirSync(join(base, 'safe')).toSorted(), ['Makefile', 'makefile']);
  });

  describe('a file that grows', () => {
    const root = (): string => join(base, 'safe');
    const path = (): string => join(root(), 'a/log');
    const grow = (...texts: readonly string[]): Promise<string> => folder.grow('a/log', pieces(texts));
    async function* pieces(texts: readonly string[]): AsyncGenerator<Buffer> {
      for (const text of texts) yield Buffer.from(text);
    }

    for (const [what, before, want] of [
      ['nothing', undefined, 'done'],
      ['an empty file', '', 'done'],
      ['its beginning', 'ab', 'done'],
      ['its first piece', 'abc', 'done'],
      ['all of it', 'abcdef', 'unchanged'],
    ] as const)
      it(`takes the place of ${what}`, async () => {
        await folder.folder('a');
        if (before !== undefined) writeFileSync(path(), before);
        assert.equal(await grow('abc', 'def'), want);
        assert.equal(readFileSync(path(), 'utf8'), 'abcdef');
        assert.deepEqual(readdirSync(join(root(), 'a')), ['log']);
      });

    for (const other of ['x', 'abX', 'abcX', 'abcdefg'])
      it(`never of ${other}, which would be lost`, async () => {
        await folder.folder('a');
        writeFileSync(path(), other);
        await assert.rejects(grow('abc', 'def'), /a\/log is there with other content, and is left as it is/);
        assert.equal(readFileSync(path(), 'utf8'), other);
        assert.deepEqual(readdirSync(join(root(), 'a')), ['log']);
      });

    it('is not there, and leaves nothing, if its pieces break off', async () => {
      async function* broken(): AsyncGenerator<Buffer> {
        yield Buffer.from('abc');
        throw new Error('cut');
      }
      await assert.rejects(folder.grow('a/log', broken()), /cut/);
      assert.deepEqual(readdirSync(join(root(), 'a')), []);
      writeFileSync(path(), 'ab');
      await assert.rejects(folder.grow('a/log', broken()), /cut/);
      assert.equal(readFileSync(path(), 'utf8'), 'ab');
    });

    it('is written piece by piece: the next is asked for when the one before is in the file', async () => {
      const seen: number[] = [];
      async function* watched(): AsyncGenerator<Buffer> {
        for (let piece = 0; piece < 4; piece++) {
          const [draft = ''] = readdirSync(join(root(), 'a'));
          seen.push(statSync(join(root(), 'a', draft)).size);
          yield Buffer.alloc(1000);
        }
      }
      await folder.grow('a/log', watched());
      assert.deepEqual(seen, [0, 1000, 2000, 3000]);
    });

    it('waits for no pipe of its name', async () => {
      await folder.folder('a');
      execFileSync('/usr/bin/mkfifo', [path()]);
      await assert.rejects(grow('abc'), /a\/log is there and is no file/);
    });
  });

  const content = Buffer.from('content');
  const sha256 = createHash('sha256').update(content).digest('hex');
  const store = {
    read: async (_: string, { start = 0, end = 99 } = {}) => content.subarray(start, end),
  } as unknown as StoreReader;
  const download = (path: string): Promise<unknown> => {
    const file = { kind: 'file', path, sha256, size: content.length, modifiedAt: 0, mode: 0o644 } as const;
    return downloadFile(store, { object: 'o', file, folder }, () => undefined, new AbortController().signal);
  };

  it('is not left by a download through a link, a dangling one, or one in the place of a part', async () => {
    mkdirSync(join(base, 'safe'));
    symlinkSync(join(base, 'outside'), join(base, 'safe/a'));
    symlinkSync(join(base, 'outside/new'), join(base, 'safe/b'));
    await assert.rejects(download('a/secret'), /a is a symbolic link/);
    await assert.rejects(download('b/x'), /b is a symbolic link/);
    const part = `.jobctl-${createHash('sha256').update(`${sha256} c`).digest('hex').slice(0, 24)}.part`;
    symlinkSync(join(base, 'outside/secret'), join(base, 'safe', part));
    await assert.rejects(download('c'), { code: 'ELOOP' });
    symlinkSync(join(base, 'outside/secret'), join(base, 'safe/d'));
    await download('d');
    assert.equal(readFileSync(join(base, 'safe/d'), 'utf8'), 'content');
  });
});
