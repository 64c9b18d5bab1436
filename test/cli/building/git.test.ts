import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildCommit, type GitLeave, buildSources } from '../../../cli/job/building/sources.js';
import { inputsTag } from '../../../cloud/builds/port.js';
import { removeScratchFolder } from '../../../cli/job/packing/pack-tree.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { refusalOf } from '../command-line.js';

const BUILD: BuildSpec = {
  image: '127.0.0.1:9/train',
  context: '.',
  dockerfile: 'Dockerfile',
  args: {},
  platform: 'linux/amd64',
  pullImage: '127.0.0.1:9/train',
  remote: {},
};

const NOWHERE = ['--temporal-address', '127.0.0.1:1'];

describe('the tree and the commit of an image', function () {
  this.timeout(30_000);
  let work: string;
  let tree: string;
  const git = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', tree, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const write = (name: string, text = name): void => {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  };
  function commit(): void {
    git('add', '.');
    git('commit', '-qm', 'x');
  }
  const push = (): string => git('push', '-q', 'origin', 'HEAD');
  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'build-test-'));
    tree = join(work, 'tree');
    execFileSync('git', ['init', '-q', '--bare', join(work, 'remote')]);
    execFileSync('git', ['init', '-q', tree]);
    git('remote', 'add', 'origin', join(work, 'remote'));
    write('Dockerfile', 'FROM scratch\nCOPY . /\n');
    write('.gitignore', 'data\n');
  });
  afterEach(() => {
    removeScratchFolder();
    rmSync(work, { recursive: true });
  });

  async function refusal(leave: GitLeave = {}): Promise<string> {
    const error: unknown = await buildCommit(tree, leave).then(
      () => assert.fail('it was accepted'),
      (refused: unknown) => refused,
    );
    return (error as Error).message;
  }

  it('a clean tree whose commit is on a remote is built', async () => {
    commit();
    push();
    assert.deepEqual(await buildCommit(tree, {}), { commit: git('rev-parse', 'HEAD'), isDirty: false });
    // From a folder in it, and of a commit that has no branch here.
    git('checkout', '-q', '--detach');
    write('src/a');
    commit();
    git('push', '-q', 'origin', 'HEAD:refs/heads/side');
    assert.equal((await buildCommit(join(tree, 'src'), {})).commit, git('rev-parse', 'HEAD'));
  });

  it('files that are changed, staged or untracked are named, also outside of the context; --allow-dirty takes them', async () => {
    write('src/a');
    commit();
    push();
    write('Dockerfile', 'FROM scratch\n');
    write('new file');
    write('data/ignored');
    const text = await refusal();
    assert.match(text, /git status shows 2 files that the commit does not have as they are/);
    assert.match(text, /M Dockerfile[^]*\?\? "new file"[^]*--allow-dirty/);
    await assert.rejects(buildCommit(join(tree, 'src'), {}), /M Dockerfile/);
    assert.equal((await buildCommit(tree, { allowDirty: true })).isDirty, true);
    for (let index = 0; index < 9; index++) write(`many/${index}.${index}`);
    git('add', '.');
    assert.match(await refusal(), /shows 11 files[^]*and 6 more/);
  });

  it('a commit that no remote has is refused beside what is dirty, and each has its flag', async () => {
    commit();
    write('new');
    const text = await refusal();
    const short = git('rev-parse', 'HEAD').slice(0, 12);
    assert.match(text, /\?\? new[^]*no branch of a remote has commit/);
    assert.ok(text.includes(`by \`git branch --remotes --contains ${short}\``), text);
    assert.match(await refusal({ allowDirty: true }), /no branch of a remote has commit/);
    assert.match(await refusal({ allowUnpushed: true }), /\?\? new/);
    assert.equal((await buildCommit(tree, { allowDirty: true, allowUnpushed: true })).isDirty, true);
    git('remote', 'remove', 'origin');
    assert.match(await refusal({ allowDirty: true }), /the repository has no remote that could have commit/);
  });

  it('no repository, and one before its first commit, say so in words of git', async () => {
    assert.match(await refusal(), /has no commit\n {2}fatal: Needed a single revision\n/);
    assert.deepEqual(await buildCommit(tree, { allowDirty: true }), { isDirty: true });
    rmSync(join(tree, '.git'), { recursive: true });
    assert.match(await refusal(), /has no commit\n {2}fatal: not a git repository/);
  });

  it('what git ignores is not built; modes, and files that archives leave out, are', async () => {
    write('run.sh');
    execFileSync('chmod', ['+x', join(tree, 'run.sh')]);
    write('.gitattributes', 'run.sh export-ignore\n');
    commit();
    push();
    write('data/secret');
    const sources = await buildSources(BUILD, tree, await buildCommit(tree, {}));
    assert.ok(sources.isReusable);
    assert.notEqual(sources.context, tree);
    assert.equal(existsSync(join(sources.context, 'data')), false);
    assert.equal(existsSync(join(sources.context, '.git')), false);
    assert.equal(statSync(join(sources.context, 'run.sh')).mode & 0o111, 0o111);
    assert.equal(readFileSync(sources.dockerfile, 'utf8'), 'FROM scratch\nCOPY . /\n');
    const dirty = await buildSources(BUILD, tree, { commit: git('rev-parse', 'HEAD'), isDirty: true });
    assert.deepEqual([dirty.context, dirty.isReusable], [tree, false]);
    assert.match(dirty.tag, /^dirty-[\w.-]+-[0-9a-f]{8}$/);
  });

  it('a context below the top brings its own files alone, and a Dockerfile may lie above it', async () => {
    write('src/a b');
    write('other/c');
    commit();
    push();
    const at = await buildCommit(tree, {});
    const inside = await buildSources({ ...BUILD, dockerfile: '../Dockerfile' }, join(tree, 'src'), at);
    assert.equal(readFileSync(join(inside.context, 'a b'), 'utf8'), 'src/a b');
    assert.equal(readFileSync(inside.dockerfile, 'utf8'), 'FROM scratch\nCOPY . /\n');
    write('src/Dockerfile', 'FROM scratch\n');
    commit();
    push();
    const alone = await buildSources(BUILD, join(tree, 'src'), await buildCommit(tree, {}));
    assert.equal(existsSync(join(alone.context, '../other')), false);
  });

  it('a Dockerfile that is ignored, and a submodule, are refused', async () => {
    write('.gitignore', 'data\nDockerfile\n');
    commit();
    push();
    await assert.rejects(buildSources(BUILD, tree, await buildCommit(tree, {})), /'Dockerfile' is not in commit/);
    git('add', '-f', 'Dockerfile');
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', join(work, 'remote'), 'libs/sub');
    commit();
    push();
    await assert.rejects(
      buildSources(BUILD, tree, await buildCommit(tree, {})),
      /submodule libs\/sub is in the context/,
    );
  });

  it('the same words of a commit have one tag, and each other word another', () => {
    const commitId = 'a'.repeat(40);
    const inputs = { ...BUILD, commit: commitId, context: '' };
    const tag = inputsTag(inputs);
    assert.match(tag, /^a{12}-[0-9a-f]{12}$/);
    assert.equal(inputsTag({ ...inputs, ...{ image: 'x', pullImage: 'y' } }), tag);
    const words = [{ dockerfile: 'x' }, { target: 'x' }, { args: { A: '1' } }, { platform: 'linux/arm64' }];
    const others = [{ commit: 'b'.repeat(40) }, { context: 'src/' }, ...words];
    assert.equal(new Set([tag, ...others.map((word) => inputsTag({ ...inputs, ...word }))]).size, 7);
    // As git and as a job file write a folder.
    assert.equal(inputsTag({ ...inputs, context: 'src' }), inputsTag({ ...inputs, context: 'src/' }));
  });

  it('an open job is not built again by --set', async () => {
    const { exitCode, text } = await refusalOf(['restart', 'a-job', '--set', 'build.target=x', ...NOWHERE]);
    assert.equal(exitCode, 2);
    assert.match(text, /--set build\.target: the image is not built again by itself\n {2}give the job file/);
  });

  it('validate looks for the context and the Dockerfile, with their places in the file', async () => {
    const file = join(tree, 'job.yaml');
    const job = (build: string): void => write('job.yaml', `kubernetes: {}\ncommand: {run: x}\nbuild: ${build}\n`);
    job('{image: train, dockerfile: gone}');
    const { exitCode, text } = await refusalOf(['validate', file]);
    assert.equal(exitCode, 2);
    assert.match(text, /job\.yaml:3:35: dockerfile: 'gone' is no file\n {2}looked for at .*tree\/gone/);
    job('{image: train, context: src}');
    assert.match((await refusalOf(['validate', file])).text, /job\.yaml:3:32: context: 'src' is no folder/);
    job('{image: train}');
    assert.equal((await refusalOf(['validate', file])).exitCode, 0);
  });
});
