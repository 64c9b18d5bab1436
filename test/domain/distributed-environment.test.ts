import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { runEnvironment } from '../../domain/run-environment.js';

const GPU_POD = { namespace: 'ml', image: 'x', gpus: 8, gpu_type: 'h100' };
const HOST = { reach: 'ssh' as const, index: 0, internalIp: '10.0.0.1' };
const slices = [{ index: 0, name: 'n', zone: 'z', hosts: [HOST] }];

/** How many processes torchrun starts on each host, by the word of the environment; undefined: one. */
function processesOf(file: object): string | undefined {
  const job = resolveJob({ command: { run: 'torchrun train.py' }, ...file });
  assert.ok(job.ok, JSON.stringify(job));
  return runEnvironment(job.spec, { job: 'j', attempt: 1, bucket: 'b', slices }, 0, 0)['PET_NPROC_PER_NODE'];
}

describe('torchrun starts a process', () => {
  const cases: Record<string, { file: object; want: string | undefined }> = {
    'for each GPU of a machine of one’s own': { file: { machines: { accelerator: 'h100', count: 8 } }, want: 'gpu' },
    'for each GPU of an old card': { file: { machines: { accelerator: 'v100', count: 4 } }, want: 'gpu' },
    'a machine without GPUs': { file: { machines: {} }, want: undefined },
    'a machine with TPUs': { file: { machines: { accelerator: 'v4', count: 4 } }, want: undefined },
    'for each GPU of a VM': {
      file: { compute_engine: { machine_type: 'a2-highgpu-2g', zone: 'us-central1-a' } },
      want: 'gpu',
    },
    'a VM without GPUs': {
      file: { compute_engine: { machine_type: 'n2-standard-4', zone: 'us-central1-a' } },
      want: undefined,
    },
    'for each GPU of a pod': { file: { kubernetes: GPU_POD }, want: 'gpu' },
    'as often as env says': {
      file: { machines: { accelerator: 'h100', count: 8 }, env: { PET_NPROC_PER_NODE: '2' } },
      want: '2',
    },
  };
  for (const [name, { file, want }] of Object.entries(cases)) it(name, () => assert.equal(processesOf(file), want));
});
