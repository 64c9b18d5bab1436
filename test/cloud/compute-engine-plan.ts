import type { ComputeEnginePlan } from '../../domain/machine-kinds/compute-engine/words.js';
import { GOOGLE_PROJECT, ownership, ZONE } from './cloud-tpu-plan.js';

/** A plan for a gang of two Spot VMs without GPUs; `over` says what matters to the case. */
export function vmsPlan(name: string, over: Partial<ComputeEnginePlan> = {}): ComputeEnginePlan {
  return {
    ref: { kind: 'compute-engine', googleProject: GOOGLE_PROJECT, zone: ZONE, name, vms: 2 },
    ownership: ownership(),
    machineType: 'n2-standard-4',
    image: 'projects/debian-cloud/global/images/family/debian-12',
    pricing: 'spot',
    externalIps: false,
    tags: [],
    labels: {},
    metadata: {},
    ...over,
  };
}
