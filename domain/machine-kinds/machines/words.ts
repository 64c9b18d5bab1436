import type { MachineSlot, Ownership } from '../../slice.js';
import type { EpochMs } from '../../units.js';
import type { AskedSize } from '../kind.js';

/** Quota's name for an own machine without an accelerator. */
export const MACHINE = 'machine';

/** `zone` of a ref: a pool's own machines are one place. */
const OWN_PLACE = 'own-machines';
/** `zone` of a ref to machines that only a local stack's rehearsal has (docs/adr/0154). */
export const REHEARSED_PLACE = 'rehearsed-machines';

export const placeOfMachines = (isRehearsed: true | undefined): string => (isRehearsed ? REHEARSED_PLACE : OWN_PLACE);

/** The `machines` section of a job file after defaults and checks: the machines of one slice, all alike. */
export interface MachinesRequest {
  /** The pool whose file names the machines. */
  readonly pool: string;
  /** Machines of one slice, 1 or more. Each serves this slice only. */
  readonly hosts: number;
  /** Accelerators of each machine. Absent: machines without an accelerator. */
  readonly accelerator?: { readonly type: string; readonly perHost: number };
  /** Labels that each machine must have. */
  readonly labels: Readonly<Record<string, string>>;
  /** The worker that took the job offers it rehearsed machines only. No job file says so. */
  readonly isRehearsed?: true;
}

/** The section itself, as part of a job's spec. */
export interface MachinesSection {
  readonly machines: MachinesRequest;
}

/** Machines of a pool that one slice holds, known by the claim on each of them (docs/adr/0070). */
export interface MachinesRef {
  readonly kind: 'machines';
  readonly pool: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  /** Never given: each slice is requested alone. */
  readonly slices?: number;
  readonly request?: string;
}

export interface MachinesPlan {
  readonly ref: MachinesRef;
  readonly ownership: Ownership;
  readonly machines: Omit<MachinesRequest, 'pool'>;
}

/** One machine of a pool file's inventory. */
export interface OwnMachine {
  /** Unique in its pool. */
  readonly name: string;
  /** A name or an IP address, by which the worker and the job's other hosts reach it. */
  readonly address: string;
  /** Port of its SSH server. */
  readonly port: number;
  readonly user: string;
  /** Absent: the whole machine. */
  readonly slot?: MachineSlot;
  /** It is one GPU of a machine whose slots a job combines, as many as it has GPUs (docs/adr/0170). */
  readonly isShared?: true;
  /** Units by type, such as `h100: 8`. Empty: no accelerators. */
  readonly accelerators: Readonly<Record<string, number>>;
  /** Absent: as the type's name says (`makerOf`). */
  readonly maker?: AcceleratorMaker;
  /** A part of the name that its GPUs give themselves, such as `RTX 6000 Ada`. Absent: as the type's name says. */
  readonly model?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `secret:NAME` of the private key that connects. Absent: the installation's own. */
  readonly key?: string;
  /** `ssh-ed25519 AAAA..`: its SSH server's key. Absent: the first one that it shows is kept. */
  readonly hostKey?: string;
  /** An operator's script that must end with 0 before each use. */
  readonly check?: string;
  /** A VM of the local stack's rehearsal, which no pool file names. */
  readonly isRehearsed?: true;
}

/** Facts kept about a machine beside its claim. */
export interface MachineRecord {
  /** Number of successive inspections with no answer or with a problem. Use of the machine by others is not counted. */
  readonly failures: number;
  /** The problem of its last inspection. Absent: none. */
  readonly lastProblem?: { readonly at: EpochMs; readonly text: string };
  /** The models of its GPUs, as its driver named them when it was last inspected. */
  readonly model?: string;
  /** UUIDs of the GPUs of a slot, which keeps them (docs/adr/0177). */
  readonly uuids?: readonly string[];
  /** Processes that were ended when it was last given back, because they ran on after their job. */
  readonly ended?: { readonly at: EpochMs; readonly job: string; readonly text: string };
  /** An oddity in its last inspection that does not keep it from use. */
  readonly warning?: string;
  /** The machine is not used until an operator has it checked. */
  readonly aside?: { readonly at: EpochMs; readonly reason: string };
  /** Its slice may finish its work. No new slice begins on it. */
  readonly drained?: { readonly at: EpochMs; readonly by: string; readonly reason?: string };
  /** A person says that the machine is off or wiped, so nothing waits for the end of its earlier work. */
  readonly forgotten?: { readonly at: EpochMs; readonly by: string };
}

/** Quota units of a job: its accelerators under their type. Machines without any count one each under `machine`. */
export function sizeOf(
  { hosts, accelerator }: Pick<MachinesRequest, 'hosts' | 'accelerator'>,
  slices: number,
): AskedSize {
  const all = hosts * slices;
  if (accelerator === undefined) return { units: { [MACHINE]: all }, chips: 0, hosts: all };
  const units = accelerator.perHost * all;
  return { units: { [accelerator.type]: units }, chips: units, hosts: all };
}

/** Type of the slice: `h100-16` (all accelerators of the slice), `machine-2`. */
export function machinesType(request: Pick<MachinesRequest, 'hosts' | 'accelerator'>): string {
  const [[type, count] = [MACHINE, 0]] = Object.entries(sizeOf(request, 1).units);
  return `${type}-${count}`;
}

/** `2 machines of 8 h100`, `1 machine without an accelerator` */
export function machinesText({ hosts, accelerator }: Pick<MachinesRequest, 'hosts' | 'accelerator'>): string {
  const each = accelerator === undefined ? 'without an accelerator' : `of ${accelerator.perHost} ${accelerator.type}`;
  return `${hosts} ${hosts === 1 ? 'machine' : 'machines'} ${each}`;
}

/**
 * The meaning of an accelerator's name in a pool file: the maker of its devices, and the name that a GPU of the model gives
 * itself. Names of TPUs: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm (2026-11); of AMD's: `mi300x`, `mi250`.
 */
export type AcceleratorMaker = 'TPU' | 'AMD' | 'NVIDIA';

/** Matches whole generations, because `v100` is a GPU. */
const TPU = /^(cloud-)?(tpu-?.*|(v2|v3|v4i?|v5e|v5p|v5-?lite(-?pod)?|v6e?|v7x?)(-.*)?|trillium|ironwood)$/;
const AMD = /^(amd|instinct|radeon|mi-?\d|rx-?\d)/;

/** A name that is neither a TPU's nor AMD's counts as NVIDIA's, which has the most models. */
export function makerOf(type: string): AcceleratorMaker {
  if (TPU.test(type)) return 'TPU';
  return AMD.test(type) ? 'AMD' : 'NVIDIA';
}

/** The model in a type's name: `h100` in `nvidia-h100-80gb`, the whole of `rtx-4090`. Other names contain no model. */
const MODEL = /(?:^|-)((?:gb|gh|rtx|gtx|rtx-?a|[abhklmptv])-?\d{1,5}(?!\d{0,5}gb)(?:s(?![a-z])|ti|super|ada)?)/;

/** Whether a GPU's name has the words of this model, as the pool file gives it. No names: nothing speaks against it. */
export function isNamed(model: string, names: readonly string[]): boolean {
  const plain = (text: string): string =>
    ` ${text
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, ' ')
      .trim()} `;
  return names.length === 0 || names.some((name) => plain(name).includes(plain(model)));
}

/**
 * Returns whether GPUs with these names in `nvidia-smi -L` may be of the declared type.
 * @param names such as `NVIDIA H100 80GB HBM3`, `Tesla V100-SXM2-16GB`
 */
export function isModelOf(type: string, names: readonly string[]): boolean {
  const model = MODEL.exec(type)?.[1];
  if (model === undefined || names.length === 0) return true;
  // nvidia-smi writes `rtx4090` as `RTX 4090`.
  const words = model.match(/[a-z]+|\d+/g) ?? [];
  const written = new RegExp(`(^|[^a-z0-9])${words.join('[ -]*')}(?![a-z]?\\d|s\\b)`, 'i');
  return names.some((name) => written.test(name));
}
