import type { MachineKindName } from '../../domain/machines.js';

/** The least section of a job file for machines of each kind. A kind without one is red in every test that loops over MACHINE_KINDS. */
export const LEAST_SECTIONS: Readonly<Record<MachineKindName, object>> = {
  'cloud-tpu': { tpu: { accelerator: 'v5litepod-16', zones: ['us-central1-a'] } },
  kubernetes: { kubernetes: { image: 'debian:12', workers: 4 } },
  'ray-cluster': { ray_cluster: { image: 'rayproject/ray:2.60.0', ray_version: '2.60.0', workers: { max: 2 } } },
  machines: { machines: {} },
  'compute-engine': { compute_engine: { machine_type: 'n2-standard-4', zones: ['us-central1-a'] } },
};
