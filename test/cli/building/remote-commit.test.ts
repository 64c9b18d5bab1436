import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitLeave } from '../../../cli/job/building/sources.js';
import { remoteCommit } from '../../../cli/job/building/build-image.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { GitTree } from '../../building/git-server.js';
import { jobctl, refusalOf } from '../command-line.js';

const BUILD: BuildSpec = {
  ...{ image: 'host/train', context: '.', dockerfile: 'Dockerfile', args: {}, platform: 'linux/amd64' },
  ...{ pullImage: 'host/train', remote: {} },
};
const NOWHERE = ['--temporal-address', '127.0.0.1:1'];

/** A remote is a folder here; what git is told it is called is another matter. */
describe('the commit that a cluster is to build', function () {
  this.timeout(30_000);
  let work: string;
  let tree: GitTree;
  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'remote-commit-'));
    execFileSync('git', ['init', '-q', '--bare', join(work, 'remote')]);
    tree = new GitTree(join(work, 'tree'), join(work, 'remote'), 'https://host/team/train.git');
    tree.publish({ Dockerfile: 'FROM scratch\n' });
  });
  afterEach(() => rmSync(work, { recursive: true }));

  async function refusal(build: BuildSpec = BUILD, leave: GitLeave = {}, folder = tree.folder): Promise<string> {
    const error: unknown = await remoteCommit(build, folder, leave).then(
      (at) => assert.fail(JSON.stringify(at)),
      (refused: unknown) => refused,
    );
    return (error as Error).message;
  }

  it('is the one that is checked out, from the URL of its remote, in a folder of the repository', async () => {
    const at = { repository: 'https://host/team/train.git', commit: tree.head };
    assert.deepEqual(await remoteCommit(BUILD, tree.folder, {}), { ...at, context: '.' });
    tree.publish({ 'src/app/Dockerfile': 'FROM scratch\n' });
    const inside = await remoteCommit(BUILD, join(tree.folder, 'src/app'), {});
    assert.deepEqual(inside, { ...at, commit: tree.head, context: 'src/app' });
  });

  it('comes from the remote that the branch follows, else from origin, and a password stays here', async () => {
    tree.git('remote', 'add', 'a-fork', 'https://me:s3cret@host/me/train.git');
    tree.push('a-fork');
    assert.equal((await remoteCommit(BUILD, tree.folder, {})).repository, 'https://host/team/train.git');
    tree.git('branch', '-q', '--set-upstream-to', `a-fork/${tree.git('branch', '--show-current')}`);
    assert.equal((await remoteCommit(BUILD, tree.folder, {})).repository, 'https://host/me/train.git');
    const named = { ...BUILD, remote: { repository: 'https://mirror/train.git' } };
    assert.equal((await remoteCommit(named, tree.folder, {})).repository, 'https://mirror/train.git');
  });

  it('is refused where the tree or the remote has something else, and the flags are those of a build here', async () => {
    tree.write({ new: '' });
    const dirty = await refusal();
    assert.match(dirty, /git status shows 1 file [^]*build the folder as it is with --build local --allow-dirty/);
    tree.commit({});
    assert.match(await refusal(), /no branch of a remote has commit[^]*or pass --build local --allow-unpushed/);
    const allowed = await refusal(BUILD, { allowDirty: true });
    assert.match(allowed, /^--allow-dirty: the image is built in the cluster[^]*--build local --allow-dirty$/);
    // Who pushed it from elsewhere says so; the cluster finds out.
    const at = await remoteCommit(BUILD, tree.folder, { allowUnpushed: true });
    assert.deepEqual([at.commit, at.repository], [tree.head, 'https://host/team/train.git']);
  });

  it('is refused where no cluster can fetch it', async () => {
    tree.git('remote', 'set-url', 'origin', join(work, 'remote'));
    assert.match(
      await refusal(),
      /the remote's URL '.*remote' is no URL that a cluster can fetch from[^]*build\.repository/,
    );
    tree.git('remote', 'set-url', 'origin', 'git@host:team/train.git');
    assert.match(await refusal(), /has no key for 'git@host:team\/train\.git'\n[^]*build\.git_secret/);
    const keyed = { ...BUILD, remote: { gitSecret: 'deploy-key' } };
    assert.equal((await remoteCommit(keyed, tree.folder, {})).repository, 'git@host:team/train.git');
  });

  it('is refused without its Dockerfile, or with one that is not in the context', async () => {
    assert.match(await refusal({ ...BUILD, dockerfile: 'gone' }), /'gone' is not in commit/);
    tree.publish({ 'src/a': '' });
    const above = { ...BUILD, dockerfile: '../Dockerfile' };
    assert.match(await refusal(above, {}, join(tree.folder, 'src')), /'\.\.\/Dockerfile' is not in build\.context/);
  });

  it('submit takes it for pods, and builds here for VMs; each flag says otherwise', async () => {
    const env = { JOBCTL_BUILDER: 'buildah', PATH: `${join(work, 'bin')}:${process.env['PATH']}` };
    mkdirSync(join(work, 'bin'));
    writeFileSync(join(work, 'bin/buildah'), '#!/bin/sh\necho "a builder here"\nexit 1\n', { mode: 0o755 });
    const file = join(work, 'job.yaml');
    const submit = (...flags: string[]) => jobctl(['submit', file, '--no-verdict', ...flags, ...NOWHERE], env);
    const job = (machines: string): void =>
      writeFileSync(file, `${machines}\nbuild: {image: host/train, context: tree}\ncommand: {run: x}\n`);
    job('kubernetes: {workers: 1}');
    assert.match((await submit()).stderr, /host\/train of commit [0-9a-f]{12} is built in the cluster, from https:/);
    assert.match((await submit('--build', 'local')).stderr, /a builder here/);
    job('tpu: {accelerator: v5litepod-8, zone: us-west4-a}');
    assert.match((await submit()).stderr, /a builder here/);
    assert.match((await submit('--build', 'remote')).stderr, /is built in the cluster/);
    const { text } = await refusalOf(['submit', file, '--build', 'remote', '--allow-dirty', ...NOWHERE]);
    assert.match(text, /--allow-dirty: the image is built in the cluster/);
  });
});
