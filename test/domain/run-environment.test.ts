import assert from 'node:assert/strict';
import type { JobSpec } from '../../domain/job-spec.js';
import { runEnvironment } from '../../domain/run-environment.js';

const spec = (env: JobSpec['env'] = {}): JobSpec =>
  ({ env, tpu: { accelerator: 'v5litepod-16' }, command: { run: 'x', hosts: 'all' } }) as unknown as JobSpec;
const slice = (index: number) => ({
  index,
  name: `node-${index}`,
  zone: 'us-east1-d',
  hosts: [0, 1].map((host) => ({ reach: 'ssh' as const, index: host, internalIp: `10.0.${index}.${host}` })),
});
const place = (slices: number) => ({
  job: 'j',
  attempt: 2,
  bucket: 'b',
  slices: [0, 1, 2].slice(0, slices).map(slice),
});

describe('the environment of a command', () => {
  it('has what JobMan and Bastion set, and no MEGASCALE_* for one slice', () => {
    const env = runEnvironment(spec(), place(1), 0, 1);
    const names = ['TPU_TYPE', 'NUM_TPU_SLICES', 'JOBMAN_TPU_NAME', 'JOBMAN_TPU_ZONE', 'JOBMAN_TPU_NUM_WORKERS'];
    assert.deepEqual(
      names.map((name) => env[name]),
      ['v5litepod-16', '1', 'node-0', 'us-east1-d', '2'],
    );
    assert.ok(!Object.keys(env).some((name) => name.startsWith('MEGASCALE_')));
  });

  it('names the first host of the first slice as coordinator of several', () => {
    const env = runEnvironment(spec(), place(3), 2, 0);
    const { MEGASCALE_COORDINATOR_ADDRESS, MEGASCALE_NUM_SLICES, MEGASCALE_SLICE_ID, JOBCTL_COORDINATOR_ADDRESS } = env;
    assert.deepEqual(
      [MEGASCALE_COORDINATOR_ADDRESS, MEGASCALE_NUM_SLICES, MEGASCALE_SLICE_ID, JOBCTL_COORDINATOR_ADDRESS],
      ['10.0.0.0:8080', '3', '2', '10.0.0.0:8476'],
    );
  });

  it('lets the job’s own value win over a predecessor’s, and never over JOBCTL_*', () => {
    const env = runEnvironment(spec({ GCS_RESOLVE_REFRESH_SECS: '60', JOBCTL_JOB_ID: 'no' }), place(2), 0, 0);
    const { GCS_RESOLVE_REFRESH_SECS, JOBCTL_JOB_ID } = env;
    assert.deepEqual([GCS_RESOLVE_REFRESH_SECS, JOBCTL_JOB_ID], ['60', 'j']);
  });
});
