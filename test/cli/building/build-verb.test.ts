import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeScratchFolder } from '../../../cli/job/packing/pack-tree.js';
import { readJobFile } from '../../../cli/job/job-file.js';
import { builtJob } from '../../../cli/job/building/built-job.js';
import { type Ended, jobctl, setEnvironment } from '../command-line.js';
import { committedTree, registryInFolder } from './registry-in-folder.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const JOB = `name: train
build: { image: registry.example.org/team/train }
tpu: { accelerator: v5litepod-8, zone: us-central1-a }
setup: { modules: [docker] }
command: { run: python3 train.py }
`;

describe('jobctl build', function () {
  this.timeout(30_000);
  let work: string;
  let commit: string;
  let env: Readonly<Record<string, string>>;
  const file = (): string => join(work, 'tree/job.yaml');
  const build = (...words: readonly string[]): Promise<Ended> =>
    jobctl(['build', file(), '--allow-unpushed', ...words], { ...env, HOME: work });

  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'build-verb-'));
    env = registryInFolder(work);
    writeFileSync(join(work, 'registry/next'), DIGEST);
    commit = committedTree(join(work, 'tree'), { 'job.yaml': JOB, Dockerfile: 'FROM scratch\n' });
  });
  afterEach(() => {
    removeScratchFolder();
    rmSync(work, { recursive: true });
  });

  it('prints what hosts pull, alone on stdout, and builds nothing twice', async () => {
    const { exitCode, stdout, stderr } = await build();
    assert.deepEqual([exitCode, stdout], [0, `registry.example.org/team/train@${DIGEST}\n`], stderr);
    assert.match(stderr, /^build: pushed registry\.example\.org\/team\/train@sha256:a+$/m);
    const again = await build('--output', 'json', '--set', 'build.pull_image=mirror.example.org/train');
    assert.deepEqual(JSON.parse(again.stdout), {
      image: `mirror.example.org/train@${DIGEST}`,
      ...{ pushed: `registry.example.org/team/train@${DIGEST}`, digest: DIGEST, commit },
    });
    assert.equal((await build()).exitCode, 0);
    assert.equal(readFileSync(join(work, 'registry/builds'), 'utf8').trim().split('\n').length, 1);
  });

  it('of a tree with changes names no commit', async () => {
    writeFileSync(join(work, 'tree/train.py'), '');
    const refused = await build();
    assert.deepEqual([refused.exitCode, refused.stdout], [2, '']);
    assert.match(refused.stderr, /--allow-dirty/);
    const { stdout } = await build('--allow-dirty', '--output', 'json');
    assert.equal((JSON.parse(stdout) as { commit?: string }).commit, undefined);
  });

  it('refuses a file that makes no image, and one whose image is made', async () => {
    writeFileSync(file(), JOB.replace(/^build.*\n/m, '').replace('[docker]', '[]'));
    assert.match((await build()).stderr, /there is no section build, so there is nothing to build/);
    writeFileSync(file(), JOB);
    const { exitCode, stderr } = await build('--set', `build.digest=${DIGEST}`);
    assert.deepEqual([exitCode, /the image is built already/.test(stderr)], [2, true], stderr);
  });

  it('submit keeps the commit beside the digest, and its file still means the same', async () => {
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      const job = await readJobFile(file(), { set: [], isDry: true });
      const built = await builtJob(job, file(), { build: 'local', allowUnpushed: true });
      assert.deepEqual([built.build?.digest, built.build?.remote.commit], [DIGEST, commit]);
      assert.equal(await builtJob(built, file(), {}), built, 'it is built already');
    } finally {
      setEnvironment(before);
    }
  });
});
