import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Ended, jobctl } from '../command-line.js';

/** All keys that `serialize_jobspec` of AXLearn writes; of `None` it makes null. Written for this test. */
const PLAIN = {
  version: 3,
  name: 'ann-eval',
  command: 'python3 -m evals.run --ckpt=gs://models/${run.id}/last',
  cleanup_command: null as string | null,
  env_vars: null as Record<string, string> | null,
  metadata: {
    user_id: 'ann',
    project_id: 'vision',
    creation_time: '2026-11-23 09:30:00.000000',
    resources: { v4: 32 },
    priority: 5,
    job_id: null as string | null,
    version: null as number | null,
  },
};
/** As Bastion has it of a job that `axlearn gcp launch` made: its command starts the runner on Bastion's own VM. */
const LAUNCHED = {
  ...PLAIN,
  name: 'ann-train',
  command:
    "python3 -m axlearn.cloud.gcp.jobs.launch run --name=ann-train --instance_type=tpu-v4-32 --num_slices=2 --max_tries=10 --env=LR:3e-4 --nodry_run -- python3 -c 'import jax; print(jax.devices())'",
  cleanup_command: 'gsutil -m rm -r gs://scratch/ann-train',
  env_vars: { WANDB_MODE: 'offline' },
  metadata: { ...PLAIN.metadata, project_id: 'none', priority: 2, resources: { v4: 64 }, job_id: '0e8c', version: 1 },
};

describe("`import bastion-jobspec` of a spec as AXLearn's Bastion has it", function () {
  this.timeout(60_000);
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'jobctl-jobspec-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function imported(
    spec: object,
  ): Promise<{ readonly job: unknown; readonly told: string; readonly checked: Ended }> {
    const [from, to] = [join(folder, 'spec.json'), join(folder, 'job.yaml')];
    writeFileSync(from, JSON.stringify(spec));
    const { exitCode, stdout, stderr } = await jobctl(['import', 'bastion-jobspec', from, '-o', to, '--yes']);
    assert.deepEqual([exitCode, stdout], [0, ''], stderr);
    assert.match(stderr, /\/job\.yaml is written\. Next: jobctl validate \S+\/job\.yaml\n$/);
    return { job: parse(readFileSync(to, 'utf8')), told: stderr, checked: await jobctl(['validate', to]) };
  }
  const fate = (told: string, key: string): string | undefined =>
    told
      .split('\n')
      .map((line) => /^ {2}(kept|changed|lost) +(\S.*)$/.exec(line))
      .find((found) => found?.[2]?.startsWith(key))?.[1];

  it('a plain command: a job file that validates, with nothing where the spec has null', async () => {
    const { job, told, checked } = await imported(PLAIN);
    assert.deepEqual(job, {
      name: 'ann-eval',
      project: 'vision',
      user: 'ann',
      priority: 5,
      tpu: { accelerator: 'v4-32' },
      command: { run: 'python3 -m evals.run --ckpt=gs://models/$${run.id}/last' },
    });
    assert.equal(checked.exitCode, 0, checked.stderr);
    for (const key of ['cleanup_command: null', 'env_vars: null', 'metadata.job_id: null', 'metadata.version: null'])
      assert.equal(fate(told, key), 'kept', `${key}\n${told}`);
    assert.equal(fate(told, 'metadata.creation_time'), 'lost');
    assert.doesNotMatch(told, /does not know/);
  });

  it('a spec that names no resources, as a command on a machine without accelerators', async () => {
    const { job, told, checked } = await imported({ ...PLAIN, metadata: { ...PLAIN.metadata, resources: {} } });
    assert.deepEqual((job as { machines: unknown }).machines, {});
    assert.equal(fate(told, 'metadata.resources'), 'changed', told);
    assert.equal(checked.exitCode, 0, checked.stderr);
  });

  it('a key that it does not know, with what a terminal obeys and a new line in it: one line of text in the comments', async () => {
    const from = join(folder, 'spec.json');
    writeFileSync(from, JSON.stringify({ ...PLAIN, 'x\u001b[31m\rname: other\r': 1 }));
    const { exitCode, stdout, stderr } = await jobctl(['import', 'bastion-jobspec', from]);
    assert.equal(exitCode, 0, stderr);
    const lost = stdout.split('\n').filter((line) => line.includes('31m'));
    assert.deepEqual(lost, [
      "# Not taken over: x\\u001b[31m name: other : 1: jobctl does not know this key of Bastion's job spec",
    ]);
  });

  it('a line of `launch run`: what the line says, the hook and the variables', async () => {
    const { job, told, checked } = await imported(LAUNCHED);
    assert.deepEqual(job, {
      name: 'ann-train',
      user: 'ann',
      priority: 2,
      slices: 2,
      tpu: { accelerator: 'tpu-v4-32' },
      bundle: { dir: '.' },
      env: { LR: '3e-4', WANDB_MODE: 'offline' },
      retries: { task: 9 },
      command: { run: "python3 -c 'import jax; print(jax.devices())'" },
      hooks: { finally: { run: 'gsutil -m rm -r gs://scratch/ann-train' } },
    });
    assert.equal(checked.exitCode, 0, checked.stderr);
    assert.equal(fate(told, 'metadata.resources'), 'kept', told);
    assert.equal(fate(told, 'metadata.job_id'), 'lost', told);
    assert.doesNotMatch(told, /does not know/);
  });
});
