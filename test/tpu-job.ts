import assert from 'node:assert/strict';
import type { JobSpec } from '../domain/job-spec.js';
import type { CloudTpuRef, CloudTpuSection } from '../domain/machine-kinds/cloud-tpu/words.js';
import type { MachineRef } from '../domain/machines.js';

/** A job on Cloud TPU, as most tests have one. */
export type TpuJob = Extract<JobSpec, CloudTpuSection>;

export function tpuJob(spec: JobSpec): TpuJob {
  assert.ok('tpu' in spec, 'a job on Cloud TPU');
  return spec;
}

export function tpuRef(ref: MachineRef | undefined): CloudTpuRef {
  assert.ok(ref?.kind === 'cloud-tpu', 'a slice on Cloud TPU');
  return ref;
}
