import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Packing } from '../../domain/local-files.js';
import { packBundle, bundleEntries } from '../../cli/job/packing/bundle.js';

describe('what goes into a bundle', function () {
  this.timeout(30_000);

  let top: string;
  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), 'bundle-entries-'));
  });
  afterEach(() => rmSync(top, { recursive: true, force: true }));

  const write = (...names: readonly string[]): void => {
    for (const name of names) {
      mkdirSync(join(top, name.endsWith('/') ? name : dirname(name)), { recursive: true });
      if (!name.endsWith('/')) writeFileSync(join(top, name), `${name}\n`);
    }
  };
  const git = (...words: readonly string[]): void => {
    const settings = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main'];
    execFileSync('git', [...settings, '-C', top, ...words], { stdio: 'ignore' });
  };
  const pathsOf = async (bundle: Packing = {}, folder = top): Promise<readonly string[]> =>
    (await bundleEntries(folder, bundle)).paths;

  it("all but AXLearn's list, at any depth; a user's list takes its place, by name and by path", async () => {
    write(
      'train.py',
      'venv/bin/python',
      'lib/__pycache__/a.pyc',
      'lib/a.py',
      '.DS_Store',
      '.env',
      'data/big/x',
      'lib/data/y',
      'out/',
    );
    assert.deepEqual(await pathsOf(), [
      '.env',
      'data',
      'data/big',
      'data/big/x',
      'lib',
      'lib/a.py',
      'lib/data',
      'lib/data/y',
      'out',
      'train.py',
    ]);
    const { paths, leftOut } = await bundleEntries(top, { exclude: ['venv', 'data/big', '*.pyc', '.*'] });
    assert.deepEqual(paths, [
      'data',
      'lib',
      'lib/__pycache__',
      'lib/a.py',
      'lib/data',
      'lib/data/y',
      'out',
      'train.py',
    ]);
    assert.deepEqual(leftOut, ['.DS_Store', '.env', 'data/big/', 'lib/__pycache__/a.pyc', 'venv/']);
  });

  it('what git ignores stays behind, by the rules of every folder from the top of the repository down', async () => {
    write(
      'proj/train.py',
      'proj/.env',
      'proj/ckpt/1',
      'proj/sub/x.log',
      'proj/sub/keep.log',
      'proj/private',
      'proj/sub/private',
    );
    git('init', '-q');
    writeFileSync(join(top, '.gitignore'), '.env\n*.log\n');
    writeFileSync(join(top, 'proj/.gitignore'), '/ckpt/\n/private\n');
    writeFileSync(join(top, 'proj/sub/.gitignore'), '!keep.log\n');
    writeFileSync(join(top, '.git/info/exclude'), 'nothing\n');
    const mine = join(top, 'proj');
    assert.deepEqual(await pathsOf({}, mine), [
      '.gitignore',
      'sub',
      'sub/.gitignore',
      'sub/keep.log',
      'sub/private',
      'train.py',
    ]);
    // git's own answer is the oracle.
    const asGit = execFileSync('git', ['-C', mine, 'ls-files', '-co', '--exclude-standard'])
      .toString()
      .trim()
      .split('\n');
    assert.deepEqual((await pathsOf({}, mine)).filter((path) => path !== 'sub').toSorted(), asGit.toSorted());
    assert.deepEqual(
      (await pathsOf({ withIgnored: true }, mine)).filter((path) => /env|ckpt|log|private/.test(path)),
      ['.env', 'ckpt', 'ckpt/1', 'private', 'sub/keep.log', 'sub/private', 'sub/x.log'],
    );
  });

  it('what git tracks goes though it is ignored, unless the bundle excludes it', async () => {
    write('data/README', 'data/huge', 'a.py');
    writeFileSync(join(top, '.gitignore'), 'data/\n');
    git('init', '-q');
    git('add', '-f', 'data/README', 'a.py');
    assert.deepEqual(await pathsOf(), ['.gitignore', 'a.py', 'data', 'data/README']);
    assert.deepEqual(await pathsOf({ exclude: ['.git', 'data'] }), ['.gitignore', 'a.py']);
  });

  it('rules tell capitals from small letters, as git does', async () => {
    write('Lib/a.py', 'lib/b.py', 'MANIFEST', 'BUILD', 'build/x', '.Venv/c');
    writeFileSync(join(top, '.gitignore'), 'lib/\nManifest\n/build\n');
    const want = ['.Venv', '.Venv/c', '.gitignore', 'BUILD', 'Lib', 'Lib/a.py', 'MANIFEST'];
    assert.deepEqual(await pathsOf(), want);
  });

  it("the repository stays behind whatever is excluded, and goes where nothing of git's is listened to", async () => {
    write('a.py', 'data/x');
    git('init', '-q');
    assert.deepEqual(await pathsOf({ exclude: ['data'] }), ['a.py']);
    assert.ok((await pathsOf({ exclude: ['data'], withIgnored: true })).includes('.git/config'));
  });

  it("in a worktree, through a link and by the user's own rules git ignores the same", async () => {
    write('a.pem', 'b.py', 'c.own');
    git('init', '-q');
    git('add', 'b.py');
    git('commit', '-qm', 'x');
    const tree = join(top, 'tree');
    git('worktree', 'add', '-q', tree);
    for (const name of ['a.pem', 'c.own']) writeFileSync(join(tree, name), '');
    writeFileSync(join(top, '.git/info/exclude'), '*.pem\n');
    writeFileSync(join(top, 'mine'), '*.own\n');
    git('config', 'core.excludesFile', join(top, 'mine'));
    assert.deepEqual(await pathsOf({}, tree), ['b.py']);
    symlinkSync(tree, join(top, 'link'));
    const { says } = await packBundle(join(top, 'link'), {}, { isDry: true });
    assert.match(says, /^bundle: 1 file of .*; \.git, a\.pem, c\.own stay behind$/);
  });

  it('a folder of the repository that an ignored link has taken the place of is not followed', async () => {
    write('data/x', 'a.py', 'elsewhere/x');
    git('init', '-q');
    git('add', 'data/x', 'a.py');
    rmSync(join(top, 'data'), { recursive: true });
    symlinkSync('elsewhere', join(top, 'data'));
    writeFileSync(join(top, '.gitignore'), '/data\n/elsewhere\n');
    assert.deepEqual(await pathsOf(), ['.gitignore', 'a.py']);
  });

  const listed = async (bundle: Packing = {}) => {
    const { packed, says, warnings } = await packBundle(top, bundle);
    assert.ok(packed);
    const chunks: Buffer[] = [];
    for await (const chunk of packed.source.read(0)) chunks.push(chunk);
    const archive = Buffer.concat(chunks);
    const tar = (...words: readonly string[]): string =>
      execFileSync('tar', ['-z', ...words], { input: archive }).toString();
    const names = tar('-t')
      .split('\n')
      .filter((name) => name !== '');
    await packed.remove();
    return { sha256: packed.source.sha256, says, warnings, names, contentOf: (name: string) => tar('-xO', name) };
  };

  it("in a repository it tells which code it is, under AXLearn's names, without a remote's password", async () => {
    write('a.py', 'prod.key');
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'first');
    git('remote', 'add', 'origin', 'https://alice:ghp@secret@github.com/a/b.git?private_token=glpat');
    for (const name of ['a.py', 'prod.key']) writeFileSync(join(top, name), 'changed\n');
    write('new.py');
    const { names, contentOf } = await listed({ exclude: ['*.key'] });
    assert.deepEqual(names.filter((name) => name.startsWith('.git.')).toSorted(), [
      '.git.branch',
      '.git.commit',
      '.git.diff',
      '.git.porcelain',
      '.git.remote',
    ]);
    assert.match(contentOf('.git.commit'), /^[0-9a-f]{40}\n$/);
    assert.equal(contentOf('.git.branch'), 'main\n');
    assert.equal(contentOf('.git.remote').split('\n')[0], 'origin\thttps://github.com/a/b.git (fetch)');
    assert.match(contentOf('.git.diff'), /-a\.py\n\+changed/);
    assert.doesNotMatch(contentOf('.git.diff'), /prod/);
    assert.equal(contentOf('.git.porcelain'), ' M a.py\n M prod.key\n?? new.py\n');
  });

  it('the same files are the same bundle, whenever and wherever they were made; a mode makes another', async () => {
    write('a.py', 'sub/b.py');
    const first = (await listed()).sha256;
    rmSync(join(top, 'a.py'));
    write('a.py');
    assert.equal((await listed()).sha256, first);
    chmodSync(join(top, 'a.py'), 0o755);
    assert.notEqual((await listed()).sha256, first);
  });

  it('says what it holds and what stays behind, and warns of links that lead out', async () => {
    write('a.py', 'venv/x');
    symlinkSync('/mnt/data', join(top, 'data'));
    symlinkSync('a.py', join(top, 'b.py'));
    const { says, warnings } = await listed();
    assert.match(says, /^bundle: 3 files of \/.*, 5 B \(\d+ B packed\); venv\/ stays behind$/);
    assert.deepEqual(warnings, [
      'bundle: data -> /mnt/data: what a link outside of the bundle leads to is not on the hosts',
    ]);
  });

  it('a folder with nothing to pack, or with too much, is refused with what is in it', async () => {
    await assert.rejects(listed(), { name: 'NotPackable', message: 'has nothing to be packed' });
    mkdirSync(join(top, '.gitignore'));
    await assert.rejects(listed(), /nothing to be packed/);
    rmSync(join(top, '.gitignore'), { recursive: true });
    write('venv/x');
    await assert.rejects(
      listed(),
      /^NotPackable: has nothing to be packed: venv\/ stay behind \(bundle\.exclude, \.gitignore\)$/,
    );
    write('data/a', 'a.py');
    truncateSync(join(top, 'data/a'), 2.1e9);
    await assert.rejects(
      listed(),
      /has 2\.1 GB; a bundle has 2\.0 GB at most\. Most is in data \(2\.1 GB\), a\.py \(5 B\): leave data out/,
    );
  });
});
