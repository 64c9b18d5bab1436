import type { Ownership, Pricing, TierPurchase } from '../../slice.js';
import { contentHash, shortHash } from '../../content-hash.js';
import type { DataDisk } from '../cloud-tpu/words.js';
import { instanceMetadata } from '../cloud-tpu/plan.js';
import type { SlicePlace, AskedSize } from '../kind.js';
import { CPU } from '../kubernetes/size.js';

/** Accelerators attached to a machine type that has none itself. */
export interface AttachedAccelerator {
  /** Compute Engine's name, such as `nvidia-tesla-t4`. */
  readonly type: string;
  /** Number on each VM. */
  readonly count: number;
}

/** Properties of one VM of a slice that do not depend on how it is bought. */
interface VmShape {
  /** Such as `g2-standard-8`. */
  readonly machineType: string;
  readonly accelerator?: AttachedAccelerator;
  /** `projects/P/global/images/NAME` or `projects/P/global/images/family/FAMILY`. */
  readonly image: string;
  /** Size of the boot disk, in GB. Absent: the image's. */
  readonly diskGb?: number;
  /** Type of the boot disk, such as `pd-ssd`. Absent: Compute Engine's default, `pd-standard`. */
  readonly diskType?: string;
  readonly dataDisks?: readonly DataDisk[];
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  /** An email; `default` is Compute Engine's default service account, which is used if none is named. */
  readonly serviceAccount?: string;
  /** URLs. Absent: all scopes of Google Cloud. */
  readonly scopes?: readonly string[];
  readonly tags: readonly string[];
}

/** The `compute_engine` section of a job file after defaults and checks: the VMs of one slice. */
export interface ComputeEngineRequest extends VmShape {
  /** VMs of one slice, 1 or more. Each is one host. */
  readonly count: number;
  /** Prefix of resource names. Absent: `jc`. */
  readonly name?: string;
  /** In order of preference. Empty: the pool's zones, which the worker that accepts the job puts in. */
  readonly zones: readonly string[];
  /** The Google Cloud project. Absent: the worker's. */
  readonly project?: string;
  /** Used if the job's tier has no pricing. `any` becomes spot. */
  readonly pricing: Pricing | 'any';
  readonly reservation?: string;
  readonly startupScript?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** The section itself, as part of a job's spec. */
export interface ComputeEngineSection {
  readonly compute_engine: ComputeEngineRequest;
}

/** The VMs of one slice, in one zone; `vmNames` are their names. */
export interface ComputeEngineRef {
  readonly kind: 'compute-engine';
  /** The Google Cloud project id, not the quota project. */
  readonly googleProject: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  /** Number of VMs, 1 or more. */
  readonly vms: number;
  /** Never given: each slice is requested alone. */
  readonly slices?: number;
  readonly request?: string;
}

/** All VMs of one slice, complete: the same plan always makes the same requests. */
export interface ComputeEnginePlan extends VmShape {
  readonly ref: ComputeEngineRef;
  readonly ownership: Ownership;
  readonly pricing: Pricing;
  /** A name in the VM's own project, or `projects/OWNER/reservations/NAME`. Only used with `reserved`. */
  readonly reservation?: string;
  /** The user's labels; the adapter adds ownership labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance metadata, `ssh-keys` and `startup-script` included. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The VMs of one generation of one slice. */
export function vmsPlan({ compute_engine }: ComputeEngineSection, place: SlicePlace): ComputeEnginePlan {
  const bought = boughtAs(compute_engine, place.bought);
  // The name's prefix, the zones and the project are in the ref.
  const { name: _name, zones: _zones, project, count, pricing, startupScript, metadata, ...shape } = bought;
  return {
    ...shape,
    ref: {
      kind: 'compute-engine',
      googleProject: project ?? place.googleProject,
      zone: place.zone,
      name: place.name,
      vms: count,
    },
    ownership: {
      owner: place.owner,
      job: place.job,
      run: place.run,
      generation: place.generation,
      spec: contentHash(bought).slice(0, 16),
    },
    pricing: pricing === 'any' ? 'spot' : pricing,
    metadata: instanceMetadata({ metadata, ...(startupScript !== undefined && { startupScript }) }, place),
  };
}

/** The job's VMs as its tier buys them. The hash of a slice's ownership includes this. */
function boughtAs(
  request: ComputeEngineRequest,
  { pricing, reservation: ofTier }: TierPurchase = {},
): ComputeEngineRequest {
  if (pricing === undefined) return request;
  const { reservation: own, ...rest } = request;
  const reservation = pricing === 'reserved' ? (own ?? ofTier) : undefined;
  return { ...rest, pricing, ...(reservation !== undefined && { reservation }) };
}

/** Compute Engine's limit for the name of a VM. */
const MOST_CHARACTERS = 63;

/**
 * The names of a slice's VMs, by host: the slice's own, with `-<index>` if there are several. A name longer than 63 characters
 * is cut and marked with a hash of the whole.
 */
export function vmNames({ name, vms }: Pick<ComputeEngineRef, 'name' | 'vms'>): readonly string[] {
  if (vms === 1) return [name];
  const longest = `-${vms - 1}`.length;
  if (name.length + longest <= MOST_CHARACTERS) return Array.from({ length: vms }, (_, index) => `${name}-${index}`);
  const mark = shortHash(name);
  const front = name.slice(0, MOST_CHARACTERS - longest - mark.length - 1).replace(/(?<!-)-+$/, '');
  return Array.from({ length: vms }, (_, index) => `${front}-${mark}-${index}`);
}

/** CPUs and GPUs of one VM of a machine type. */
interface MachineType {
  /** vCPUs, or undefined if the name does not tell their number. */
  readonly cpus: number | undefined;
  /** GPUs that come with the type, by quota's name for them. */
  readonly gpus?: { readonly type: string; readonly count: number };
}

/**
 * Families of machine types that include GPUs (cloud.google.com/compute/docs/accelerator-optimized-machines, 2026), and quota's
 * name of the GPU. The count is the number before the last `g`; for G2 and G4 it follows from the vCPUs.
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
const gpuNameOf = (accelerator: string): string =>
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
