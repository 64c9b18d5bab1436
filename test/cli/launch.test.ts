import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Ended, jobctl as jobctlIn, refusalOf } from './command-line.js';

const LAUNCH = ['launch', '--dry-run'];
const COMMAND = ['--', 'python3', 'train.py', '--note', "it's", '${tpu.zone}'];
const RUN = "python3 train.py --note 'it'\\''s' '$''{tpu.zone}'";
const IMAGE = ['--image', 'ghcr.io/team/train'];

describe('jobctl launch', function () {
  this.timeout(60_000);
  const scratch = mkdtempSync(join(tmpdir(), 'launch-'));
  /** With a Dockerfile, as `build` looks for one, and little to pack. */
  const work = join(scratch, 'work');
  before(() => {
    mkdirSync(work);
    writeFileSync(join(work, 'Dockerfile'), 'FROM scratch\n');
  });
  after(() => rmSync(scratch, { recursive: true }));
  const jobctl = (words: readonly string[], env = {}): Promise<Ended> => jobctlIn(words, env, work);

  const CASES: Readonly<Record<string, readonly [readonly string[], object]>> = {
    'pods of an image that is built here, without an accelerator': [
      ['--build', 'local', ...IMAGE],
      { kubernetes: { workers: 1 }, build: { image: 'ghcr.io/team/train' } },
    ],
    'pods of an image that the cluster builds': [
      ['--build', 'remote', ...IMAGE],
      { kubernetes: { workers: 1 }, build: { image: 'ghcr.io/team/train' } },
    ],
    'pods of an image that was pushed, with GPUs': [
      ['--image', 'ghcr.io/team/train:1.4', '--workers', '4', '--gpus', '8', '--gpu-type', 'h100'],
      { kubernetes: { image: 'ghcr.io/team/train:1.4', workers: 4, gpus: 8, gpu_type: 'h100' } },
    ],
    'a RayCluster': [
      ['--execution', 'ray', '--workers', '2', '--ray-version', '2.60.0', '--image', 'ray:1'],
      { ray_cluster: { image: 'ray:1', ray_version: '2.60.0', workers: { min: 2, max: 2 } } },
    ],
    'a RayCluster that follows its work': [
      ['--execution', 'ray', '--min-workers', '0', '--max-workers', '8', '--ray-version', '2.60.0', '--image', 'ray:1'],
      { ray_cluster: { image: 'ray:1', ray_version: '2.60.0', workers: { min: 0, max: 8 } } },
    ],
    'a TPU slice, with the folder as it is': [
      ['--instance-type', 'tpu-v5litepod-16', '--zone', 'us-central1-a', '--name-prefix', 'Exp'],
      { name: 'exp', tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' }, bundle: '.' },
    ],
    'TPU slices with an image that is built': [
      ['--execution', 'tpu', '--instance-type', 'v5litepod-16', '--workers', '2', '--build', 'local', ...IMAGE],
      { slices: 2, tpu: { accelerator: 'v5litepod-16' }, build: { image: 'ghcr.io/team/train' } },
    ],
    'machines without an accelerator': [['--execution', 'machines'], { machines: { hosts: 1 }, bundle: '.' }],
    'machines with GPUs, an image and a quota project': [
      ['--execution', 'machines', '--workers', '2', '--gpus', '8', '--gpu-type', 'h100', '--image', 'a:1'].concat(
        ...[['--project', 'vision', '--priority', '2', '--set', 'env.LR=3']],
      ),
      {
        env: { LR: 3 },
        project: 'vision',
        priority: 2,
        machines: { accelerator: 'h100', count: 16, hosts: 2 },
        docker: { image: 'a:1' },
      },
    ],
  };
  for (const [name, [flags, job]] of Object.entries(CASES))
    it(`stands for ${name}`, async () => {
      const { exitCode, stdout, stderr } = await jobctl([...LAUNCH, ...flags, ...COMMAND]);
      assert.equal(exitCode, 0, stderr);
      assert.deepEqual(parse(stdout), { ...job, command: { run: RUN } });
    });

  it('builds by default, and pushes to the registry of JOBCTL_REGISTRY under the name of the folder', async () => {
    const env = { JOBCTL_REGISTRY: 'ghcr.io/team/' };
    const { stdout, stderr } = await jobctl([...LAUNCH, ...COMMAND], env);
    const { build } = parse(stdout) as { build: { image: string } };
    assert.match(build.image, /^ghcr\.io\/team\/[a-z0-9-]+$/, stderr);
  });

  it('takes from the context what all lines of a team have in common, and no more than the line has use for', async () => {
    const home = mkdtempSync(join(tmpdir(), 'launch-'));
    const env = { HOME: home };
    const values = [
      '--zone',
      'us-east5-a',
      '--registry',
      'ghcr.io/team',
      '--gpu-type',
      'h100',
      '--ray-version',
      '2.60.0',
    ];
    const set = await jobctl(['context', 'set', 'team', '--server', 'https://jobctl.example.org', ...values], env);
    assert.equal((await jobctl(['context', 'use', 'team'], env)).exitCode, 0, set.stderr);
    const line = async (...words: readonly string[]): Promise<Record<string, unknown>> => {
      const { stdout, stderr } = await jobctl([...words, '--dry-run', '--', 'x'], env);
      return (parse(stdout) ?? { stderr }) as Record<string, unknown>;
    };
    const ray = await line('launch', '--execution', 'ray', '--workers', '2');
    assert.deepEqual(ray['ray_cluster'], { ray_version: '2.60.0', workers: { min: 2, max: 2 } });
    assert.match((ray['build'] as { image: string }).image, /^ghcr\.io\/team\//);
    assert.deepEqual((await line('launch', '--gpus', '8', '--image', 'a:1'))['kubernetes'], {
      ...{ image: 'a:1', workers: 1, gpus: 8, gpu_type: 'h100' },
    });
    const elsewhere = await line('launch', '--instance-type', 'v5litepod-16', '--server', 'https://other.example.org');
    assert.deepEqual(elsewhere['tpu'], { accelerator: 'v5litepod-16' }, 'another server has another team');
    const other = await line('launch', '--gpus', '8', '--image', 'a:1', '--gpu-type', 'a100');
    assert.equal((other['kubernetes'] as { gpu_type: string }).gpu_type, 'a100', 'the line goes first');
    const slice = { accelerator: 'v5litepod-16', zone: 'us-east5-a' };
    assert.deepEqual((await line('launch', '--instance-type', 'v5litepod-16'))['tpu'], slice);
    assert.deepEqual((await line('submit', '--tpu', 'v5litepod-16'))['tpu'], slice);
    const bastion = await jobctl(['launch', '--instance_type=tpu-v5litepod-16', '--dry_run', '--', 'x'], env);
    const { tpu } = parse(bastion.stdout) as { tpu: unknown };
    assert.deepEqual(tpu, { accelerator: 'tpu-v5litepod-16', zone: 'us-east5-a' });
    rmSync(home, { recursive: true });
  });

  const WRONG: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
    'no place for the image': [
      [...COMMAND],
      /where the image that is built goes: --image ghcr\.io\/team\/train, or JOBCTL_/,
    ],
    'everything at once': [
      ['--execution', 'ray', '--gpus', '8', '--build', 'remote'],
      /where the image that is built goes[^]*--gpu-type h100[^]*--ray-version 2\.60\.0[^]*a command behind --/,
    ],
    'changes that no cluster can fetch': [
      [...IMAGE, '--build', 'remote', '--allow-dirty', ...COMMAND],
      /--allow-dirty is for a build on this computer: --build local --allow-dirty/,
    ],
    'a TPU without a type': [['--execution', 'tpu', ...COMMAND], /the type of TPU slice: --instance-type v5litepod-16/],
    'more pods at least than at most': [
      ['--execution', 'ray', '--min-workers', '4', '--max-workers', '2', '--ray-version', '2', ...IMAGE, ...COMMAND],
      /--min-workers 4 is more than --max-workers 2/,
    ],
    'a range of what does not scale': [
      ['--min-workers', '2', ...IMAGE, ...COMMAND],
      /--min-workers and --max-workers are for --execution ray/,
    ],
    'GPUs on a TPU': [
      ['--instance-type', 'v5litepod-16', '--gpus', '8', '--gpu-type', 'h100', ...COMMAND],
      /--gpus 8 is not for --execution tpu/,
    ],
    'a type of TPU in pods': [
      ['--execution', 'kubernetes', '--instance-type', 'v5litepod-16', ...IMAGE, ...COMMAND],
      /--instance-type is for --execution tpu/,
    ],
    'a word that is no place': [['--build', 'here', ...COMMAND], /--build[^]*local, remote/],
    'a flag that is none': [['--worker', '2', ...COMMAND], /--worker[^]*--workers/],
    'a word in quotes twice': [
      [...IMAGE, '--', 'python3', '-c', "'import jax'"],
      /still has its single quotes after your shell has read it/,
    ],
  };
  for (const [name, [words, want]] of Object.entries(WRONG))
    it(`${name} is refused`, async () => {
      const { exitCode, text } = await refusalOf(['launch', ...words]);
      assert.equal(exitCode, 2);
      assert.match(text, want);
    });

  it("a line of Bastion runs as its `submit` line, in Bastion's quoting, and says what is lost", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'launch-'));
    const words = ['launch', '--instance_type=tpu-v4-8', '--bastion=shared', '--dry_run'];
    const { exitCode, stdout, stderr } = await jobctl([...words, '--', 'python3', '-c', "'import jax; print(1)'"], {
      HOME: folder,
    });
    rmSync(folder, { recursive: true });
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /^launch is AXLearn's: this runs `jobctl submit --tpu tpu-v4-8[^]*lost: --bastion=shared: /);
    const { tpu, command } = parse(stdout) as { tpu: unknown; command: { run: string } };
    assert.deepEqual([tpu, command.run], [{ accelerator: 'tpu-v4-8' }, "python3 -c 'import jax; print(1)'"]);
  });

  it("a line of Bastion takes jobctl's own flags of submit", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'launch-'));
    const words = [
      'launch',
      '--instance_type=tpu-v4-8',
      '--set',
      'env.A=1',
      '--set=env.B=2',
      '--no-verdict',
      '--dry_run',
    ];
    const { exitCode, stdout, stderr } = await jobctl([...words, '--', 'make'], { HOME: folder });
    rmSync(folder, { recursive: true });
    assert.equal(exitCode, 0, stderr);
    assert.ok(!stderr.includes('lost:'), stderr);
    assert.deepEqual((parse(stdout) as { env: unknown }).env, { A: 1, B: 2 });
    const { text } = await refusalOf([
      'launch',
      '--instance_type=tpu-v4-8',
      '--num_slicez=2',
      '--wait',
      '--local',
      '--',
      'make',
    ]);
    assert.match(text, /jobctl submit --tpu tpu-v4-8 --bundle \. --wait --local -- make\n {2}lost: --num_slicez=2/);
  });

  it('a line of Bastion whose job would be another one does not run', async () => {
    const line = ['launch', '--instance_type=tpu-v4-8', '--bundler_type=docker', '--bundler_spec=image=team/train'];
    const { exitCode, text } = await refusalOf([...line, '--bundler_exclude=data', '--', 'make']);
    assert.equal(exitCode, 2);
    assert.match(
      text,
      /this is AXLearn's command line; with jobctl it is\n {2}(npx )?jobctl submit .*build\.image=team\/train/,
    );
    assert.match(text, /lost: --bundler_exclude=data: write it into \.dockerignore/);
  });
});
