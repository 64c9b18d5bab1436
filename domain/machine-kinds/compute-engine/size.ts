import type { AskedSize } from '../kind.js';
import { CPU } from '../kubernetes/size.js';
import { gpuNameOf, machineTypeOf } from './machine-types.js';
import type { ComputeEngineRequest } from './words.js';

type Shape = Pick<ComputeEngineRequest, 'machineType' | 'accelerator'>;

/** GPUs of one VM: those of its machine type, or those attached to it. */
export function gpusOf({
  machineType,
  accelerator,
}: Shape): { readonly type: string; readonly count: number } | undefined {
  if (accelerator !== undefined) return { type: gpuNameOf(accelerator.type), count: accelerator.count };
  return machineTypeOf(machineType).gpus;
}

/** Quota units of a job: its GPUs under their type, such as `l4`. VMs without GPUs count their vCPUs under `cpu`. */
export function sizeOf(request: Shape & Pick<ComputeEngineRequest, 'count'>, slices: number): AskedSize {
  const hosts = request.count * slices;
  const gpus = gpusOf(request);
  if (gpus !== undefined) return { units: { [gpus.type]: gpus.count * hosts }, chips: gpus.count * hosts, hosts };
  return { units: { [CPU]: (machineTypeOf(request.machineType).cpus ?? 1) * hosts }, chips: 0, hosts };
}

/** Type of the slice: `l4-2` (all GPUs of the slice), `cpu-8`. */
export function sliceType(request: Shape & Pick<ComputeEngineRequest, 'count'>): string {
  const [[type, count] = [CPU, 0]] = Object.entries(sizeOf(request, 1).units);
  return `${type}-${count}`;
}
