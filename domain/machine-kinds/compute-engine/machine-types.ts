import type { AskedSize } from '../kind.js';
import { CPU } from '../kubernetes/size.js';
import type { ComputeEngineRequest } from './words.js';

/** CPUs and GPUs of one VM of a machine type. */
export interface MachineType {
  /** vCPUs, or undefined if the name does not tell their number. */
  readonly cpus: number | undefined;
  /** GPUs that come with the type, by quota's name for them. */
  readonly gpus?: { readonly type: string; readonly count: number };
}

/**
 * Families of machine types that include GPUs (cloud.google.com/compute/docs/accelerator-optimized-machines, 2026), and quota's
 * name of the GPU. The count is the number before the last `g`; for G2 and G4 it follows from the vCPUs. Texts, not patterns,
 * because an export keeps the words of jobctl's texts (docs/adr/0050).
 */
const GPUS_BY_FAMILY: Readonly<Record<string, string>> = {
  'a2-highgpu': 'a100',
  'a2-megagpu': 'a100',
  'a2-ultragpu': 'a100-80gb',
  'a3-highgpu': 'h100',
  'a3-megagpu': 'h100',
  'a3-edgegpu': 'h100',
  'a3-ultragpu': 'h200',
  'a4-highgpu': 'b200',
  'a4x-highgpu': 'gb200',
};
const GPUS_BY_CPUS: Readonly<Record<string, readonly [string, Readonly<Record<number, number>>]>> = {
  'g2-standard': ['l4', { 4: 1, 8: 1, 12: 1, 16: 1, 24: 2, 32: 1, 48: 4, 96: 8 }],
  'g4-standard': ['rtx-pro-6000', { 48: 1, 96: 2, 192: 4, 384: 8 }],
};

/** vCPUs of types whose name does not tell their number. 0.25 and 0.5 of a core count as one. */
const CPUS: Readonly<Record<string, number>> = {
  'e2-micro': 2,
  'e2-small': 2,
  'e2-medium': 2,
  'f1-micro': 1,
  'g1-small': 1,
};

/** `n1-standard-8`, `c3-standard-22-lssd`, `n2-custom-6-3072`, `custom-2-4096`. */
const SIZES = [
  'standard',
  'highmem',
  'highcpu',
  'ultramem',
  'megamem',
  'hypermem',
  'highlssd',
  'standardlssd',
  'custom',
];
const CPUS_IN_NAME = new RegExp(`(?:^|-)(?:${SIZES.join('|')})-(\\d+)`);

/** Returns whether a text can be the name of a machine type. Each zone has different types. */
export const isMachineType = (name: string): boolean => /^[a-z]\w*(-[a-z0-9]+)+$/.test(name);

/** Recognizes `ct5lp-hightpu-4t`, `ct6e-standard-4t`, `tpu7x-standard-4t`, whose chips would otherwise be counted as vCPUs. */
export const isTpuMachineType = (name: string): boolean => /^(ct\d|tpu\d|.*-\d+t$)/.test(name);

export function machineTypeOf(name: string): MachineType {
  const cpus = CPUS[name] ?? (Number(CPUS_IN_NAME.exec(name)?.[1] ?? 0) || undefined);
  const [, family = '', number = '', isGpus] = /^(\w+-\w+)-(\d+)(g)?/.exec(name) ?? [];
  const type = GPUS_BY_FAMILY[family];
  if (type !== undefined && isGpus !== undefined) return { cpus, gpus: { type, count: Number(number) } };
  const [typeByCpus, counts] = GPUS_BY_CPUS[family] ?? [];
  const count = counts?.[Number(number)];
  if (typeByCpus !== undefined && count !== undefined) return { cpus, gpus: { type: typeByCpus, count } };
  return { cpus };
}

/** Only N1 types without a shared core can have GPUs attached (cloud.google.com/compute/docs/gpus, 2026). */
export const takesAccelerators = (name: string): boolean => /^(n1-|custom-)/.test(name);

/** Quota's name of a GPU: `nvidia-tesla-t4` is `t4`, and `nvidia-h100-80gb` is `h100`, because that GPU has only one size. */
export const gpuNameOf = (accelerator: string): string =>
  accelerator
    .replace(/^nvidia-/, '')
    .replace(/^tesla-/, '')
    .replace(/^h100-.*/, 'h100');

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
