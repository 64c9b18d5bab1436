import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { Pseudonyms } from '../../client/export/pseudonyms.js';
import { redactValue } from '../../client/export/redact-value.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { askedMachines } from '../../domain/machines.js';

/** A workflow checks its job file again as it replays: what was refused or accepted must be so again. */
describe('a redacted job file', () => {
  const examples = readdirSync('examples').filter((name) => name.endsWith('.yaml'));
  const files: Record<string, unknown> = Object.fromEntries(
    examples.map((name) => [name, parse(readFileSync(`examples/${name}`, 'utf8'))]),
  );
  files['of all sections'] = {
    name: 'e2e',
    project: 'hushproject',
    user: 'mallory@example.org',
    tpu: {
      accelerator: 'v5litepod-8',
      zones: ['us-central1-a', 'europe-west4-b'],
      version: 'v2-alpha-tpuv5-lite',
      pricing: 'spot',
      labels: { team: 'vision' },
      metadata: { 'enable-oslogin': 'TRUE' },
      tags: ['ssh-in'],
      service_account: 'trainer@some-project.iam.gserviceaccount.com',
    },
    slices: 2,
    env: { LEARNING_RATE: 0.1, DATA: 'gs://some-bucket/data', NAME: '${tpu.name}' },
    secrets: { WANDB_API_KEY: 'wandb' },
    setup: { modules: ['docker', 'gcsfuse', 'quiet', 'command'] },
    docker: { image: 'us-docker.pkg.dev/some-project/some-repo/train:v3' },
    gcsfuse: { bucket_name: 'some-bucket', mount_path: '~/data' },
    modules: { quiet: { check: 'test -e x', setup: [{ name: 'quiet', run: 'echo x' }] } },
    command: { run: 'python3 train.py --data ${gcsfuse.mount_path}', workers: 'all' },
    timeouts: { run: '90m', no_output: '30m' },
    keep: { when: 'on-failure', for: '2h' },
    notify: { to: { workflow: { id: 'sweep-7', signal: 'jobEnded' } } },
  };

  it('has its run where jobctl names a job', () => {
    const run = '01a20669-7382-786f-b01f-5f1ade0bb84b';
    const names = new Pseudonyms();
    names.keepRunId(run);
    assert.deepEqual((redactValue({ job: { id: 'train', run } }, names) as { job: { run: string } }).job.run, run);
  });

  for (const [name, file] of Object.entries(files)) {
    it(`${name}: means what it meant`, () => {
      const before = resolveJob(file);
      const { job } = redactValue({ job: file }, new Pseudonyms()) as { job: unknown };
      const after = resolveJob(job);
      assert.ok(before.ok, JSON.stringify(before));
      assert.ok(after.ok, JSON.stringify({ after, job }));
      assert.deepEqual(shape(after.spec), shape(before.spec));
      assert.deepEqual(
        [askedMachines(after.spec), after.spec.retries, after.spec.timeouts],
        [askedMachines(before.spec), before.spec.retries, before.spec.timeouts],
      );
    });
  }
});

/** Kinds and numbers of values, without the values. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value === 'object' && value !== null) return Object.values(value).map(shape);
  return typeof value;
}
