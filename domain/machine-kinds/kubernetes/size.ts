import {
  quotaUnitsOf,
  type AcceleratorType,
  type Generation,
  findAccelerator,
  acceleratorHint,
  acceleratorNamed,
  acceleratorOfTopology,
  topologiesOf,
} from '../../accelerators.js';
import { given } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { AskedSize } from '../kind.js';
import { cpusOf, type KubernetesRequest } from './words.js';
import type { KubernetesForm } from './forms.js';

/** Quota's name for the CPUs of a pod without an accelerator. */
export const CPU = 'cpu';

/**
 * Quota units of a job. Quota's types are names: the job's GPUs (`h100`), its TPU's generation (`v5litepod`), or `cpu` for pods
 * without an accelerator, in whole CPUs per pod. The CPUs of a pod with an accelerator do not count.
 */
export function sizeOf(request: KubernetesRequest, slices: number): AskedSize {
  const { workers, gpus, tpu } = request;
  const hosts = workers * slices;
  if (tpu !== undefined) {
    const type = tpuTypeOf(tpu);
    return { units: { [type.generation]: quotaUnitsOf(type) * slices }, chips: type.chips * slices, hosts };
  }
  if (gpus !== undefined) return { units: { [gpus.type]: gpus.count * hosts }, chips: gpus.count * hosts, hosts };
  return { units: { [CPU]: wholeCpus(request) * hosts }, chips: 0, hosts };
}

/** Type of the slice: `v5litepod-16`, `h100-32` (all GPUs of the slice), `cpu-8`. */
export function slicePodsType(request: KubernetesRequest): string {
  const { workers, gpus, tpu } = request;
  if (tpu !== undefined) return tpu.type;
  if (gpus !== undefined) return `${gpus.type}-${gpus.count * workers}`;
  return `${CPU}-${wholeCpus(request) * workers}`;
}

/** At least 1, the least that quota counts for a pod. */
export const wholeCpus = ({ cpus = '1' }: Pick<KubernetesRequest, 'cpus'>): number => {
  try {
    return Math.max(1, Math.ceil(cpusOf(cpus)));
  } catch {
    return 1; // The section is wrong, which is reported.
  }
};

/**
 * Values of GKE's node label `cloud.google.com/gke-tpu-accelerator`
 * (cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus, 2026). tpu7x is left out, as in accelerators.ts.
 */
const GKE_NAMES: Readonly<Record<string, Generation>> = {
  'tpu-v3-slice': 'v3',
  'tpu-v3-device': 'v3',
  'tpu-v4-podslice': 'v4',
  'tpu-v5-lite-podslice': 'v5litepod',
  'tpu-v5-lite-device': 'v5litepod',
  'tpu-v5p-slice': 'v5p',
  'tpu-v6e-slice': 'v6e',
};

/** The slice that a node label and a topology of GKE mean. */
export function gkeSlice(accelerator: string, topology: string): AcceleratorType | undefined {
  const generation = Object.hasOwn(GKE_NAMES, accelerator) ? GKE_NAMES[accelerator] : undefined;
  return generation && acceleratorOfTopology(generation, topology);
}

/** The slice of a GKE node pool, or undefined if it is not known, which is reported. */
export function resolveGkeTpu(form: KubernetesForm['tpu'], report: Report): KubernetesRequest['tpu'] | undefined {
  const path = ['kubernetes', 'tpu'];
  const accelerator = given(form?.accelerator)?.trim();
  const topology = given(form?.topology)?.trim();
  if (accelerator === undefined) {
    report.missing([...path, 'accelerator'], 'such as accelerator: tpu-v5-lite-podslice');
    return undefined;
  }
  const type = acceleratorNamed(accelerator);
  if (type !== undefined && !Object.hasOwn(GKE_NAMES, accelerator)) return ofType(type, topology, report);
  const generation = Object.hasOwn(GKE_NAMES, accelerator) ? GKE_NAMES[accelerator] : undefined;
  if (generation === undefined) {
    const hint = `GKE's names: ${Object.keys(GKE_NAMES).join(', ')}\n${acceleratorHint(accelerator)}`;
    report.wrong([...path, 'accelerator'], accelerator, 'no TPU of GKE', hint);
    return undefined;
  }
  if (topology === undefined) {
    report.missing([...path, 'topology'], topologiesOf(generation));
    return undefined;
  }
  const found = acceleratorOfTopology(generation, topology);
  if (found === undefined)
    report.wrong([...path, 'topology'], topology, `no topology of ${accelerator}`, topologiesOf(generation));
  return found && { ...sliceOf(found), accelerator, topology };
}

function ofType(type: AcceleratorType, topology: string | undefined, report: Report): KubernetesRequest['tpu'] {
  const path = ['kubernetes', 'tpu', 'topology'];
  if (topology !== undefined && acceleratorOfTopology(type.generation, topology)?.type !== type.type)
    report.wrong(path, topology, `no topology of ${type.type}`, `its usual one is ${type.topology}`);
  const [gke = ''] = Object.entries(GKE_NAMES).find(([, generation]) => generation === type.generation) ?? [];
  if (gke === '')
    report.wrong(
      ['kubernetes', 'tpu', 'accelerator'],
      type.type,
      'not sold on GKE',
      `GKE has v3, v4, v5e, v5p and v6e`,
    );
  return { ...sliceOf(type), accelerator: gke, topology: topology ?? type.topology };
}

const sliceOf = ({ type, chips, hosts }: AcceleratorType) => ({ type, chips: chips / hosts });

/** @throws RangeError for a spec that was not resolved */
export function tpuTypeOf({ type }: { readonly type: string }): AcceleratorType {
  const found = findAccelerator(type);
  if (found === undefined) throw new RangeError(`kubernetes.tpu: '${type}' is no TPU type`);
  return found;
}
