import type { AllocationMode, CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import type { Ownership } from '../../domain/slice.js';

export const GOOGLE_PROJECT = 'tpu-project';
export const ZONE = 'us-west4-a';

export const ownership = (over: Partial<Ownership> = {}): Ownership => ({
  owner: 'own-1',
  job: 'train-x1',
  run: 'run-1',
  generation: 1,
  spec: 'abc123',
  ...over,
});

/** A plan for a v5litepod-16 on spot; `over` says what matters to the case. */
export function slicePlan(name: string, mode: AllocationMode, over: Partial<CloudTpuPlan> = {}): CloudTpuPlan {
  return {
    ref: { kind: 'cloud-tpu', googleProject: GOOGLE_PROJECT, zone: ZONE, name, mode },
    ownership: ownership(),
    accelerator: 'v5litepod-16',
    runtimeVersion: 'v2-alpha-tpuv5-lite',
    pricing: 'spot',
    externalIps: false,
    tags: [],
    labels: {},
    metadata: {},
    ...over,
  };
}
