import { cloudTpu, tpuPoolTable } from './cloud-tpu/index.js';
import type { CloudTpuPlan, CloudTpuRef, CloudTpuSection } from './cloud-tpu/words.js';
import { computeEngine } from './compute-engine/index.js';
import type { ComputeEnginePlan, ComputeEngineRef, ComputeEngineSection } from './compute-engine/words.js';
import type { MachineKind, PoolTable } from './kind.js';
import { kubernetes } from './kubernetes/index.js';
import type { KubernetesPlan, KubernetesRef, KubernetesSection } from './kubernetes/words.js';
import { machines } from './machines/index.js';
import type { MachinesPlan, MachinesRef, MachinesSection } from './machines/words.js';
import { rayCluster } from './ray-cluster/index.js';
import type { RayClusterPlan, RayClusterRef, RayClusterSection } from './ray-cluster/words.js';

/**
 * The kinds of machines that a slice can be made of (docs/adr/0036). A new kind is a line here and a line in `KINDS`. The
 * compiler then names every other place that the kind must fill (docs/machines.md).
 */
export interface MachineTypes {
  readonly 'cloud-tpu': { readonly ref: CloudTpuRef; readonly plan: CloudTpuPlan; readonly request: CloudTpuSection };
  readonly kubernetes: {
    readonly ref: KubernetesRef;
    readonly plan: KubernetesPlan;
    readonly request: KubernetesSection;
  };
  readonly 'ray-cluster': {
    readonly ref: RayClusterRef;
    readonly plan: RayClusterPlan;
    readonly request: RayClusterSection;
  };
  readonly machines: { readonly ref: MachinesRef; readonly plan: MachinesPlan; readonly request: MachinesSection };
  readonly 'compute-engine': {
    readonly ref: ComputeEngineRef;
    readonly plan: ComputeEnginePlan;
    readonly request: ComputeEngineSection;
  };
}

type KindOf<Types extends MachineTypes[keyof MachineTypes]> = MachineKind<
  Types['ref'],
  Types['plan'],
  Types['request']
>;

export const KINDS: { readonly [K in keyof MachineTypes]: KindOf<MachineTypes[K]> } = {
  'cloud-tpu': cloudTpu,
  kubernetes,
  'ray-cluster': rayCluster,
  machines,
  'compute-engine': computeEngine,
};

type SectionName<Request> = Request extends unknown ? keyof Request : never;

/** The table of a pool file with defaults for jobs of each section. Undefined: a pool has no defaults for them. */
export const POOL_TABLES = {
  tpu: tpuPoolTable,
  kubernetes: undefined,
  ray_cluster: undefined,
  machines: undefined,
  compute_engine: undefined,
} as const satisfies Readonly<Record<SectionName<MachineRequest>, PoolTable | undefined>>;

/** A job's request for machines, under the job file section of their kind. */
export type MachineRequest = MachineTypes[keyof MachineTypes]['request'];
