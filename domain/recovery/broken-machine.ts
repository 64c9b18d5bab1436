import type { CommandEnd } from './host-ends.js';

/**
 * What a host prints, or how its command ends, when its machine is at fault. `proof`: no program prints it by itself. `sign`: a
 * program may, so that it counts only twice in a row on the same machine.
 */
interface Sign {
  readonly text: string;
  readonly weight: 'proof' | 'sign';
}

const SIGNS: readonly Sign[] = [
  // A GPU whose memory is damaged (JuliaGPU/CUDAdrv.jl#106, vllm-project/vllm#5222: "hardware error", other hardware worked).
  { text: 'uncorrectable ECC error encountered', weight: 'proof' },
  { text: 'CUDA_ERROR_ECC_UNCORRECTABLE', weight: 'proof' },
  // NVIDIA's Xid 79 (NVIDIA/open-gpu-kernel-modules#507; aws/eks-node-monitoring-agent#94 replaces the node).
  { text: 'GPU has fallen off the bus', weight: 'proof' },
  // A TPU VM that has to be made anew (pytorch/xla#7227, marin-community/marin#4783), or two processes of one program
  // (vllm-project/vllm#18282).
  { text: 'TPU initialization failed', weight: 'sign' },
  { text: "Couldn't open iommu group /dev/vfio/", weight: 'sign' },
];

/** Bytes of the end of a host's output in which a sign is looked for. A traceback of JAX is of some 10 kB. */
export const SIGN_BYTES = 16_384;

/** The first sign in the last output of a host whose command failed; of several the weightiest. */
export function signIn(output: string): string | undefined {
  const found = SIGNS.filter(({ text }) => output.includes(text));
  return (found.find(({ weight }) => weight === 'proof') ?? found[0])?.text;
}

/** A fault of memory or of an instruction. marin-community/marin#4120: exit 139 on one node until all retries were gone. */
const FAULTS: Readonly<Record<number, string>> = { 132: 'SIGILL', 134: 'SIGABRT', 135: 'SIGBUS', 139: 'SIGSEGV' };

type Exited = Extract<CommandEnd, { readonly kind: 'exited' }>;

/** Why the machine may be at fault, in words; undefined: nothing says so. */
export function suspicion({
  code,
  signal,
  printed,
  isStopped,
}: Exited): { text: string; isProof: boolean } | undefined {
  if (code === 0 || isStopped) return undefined;
  const sign = SIGNS.find(({ text }) => text === printed);
  if (sign !== undefined) return { text: `printed '${sign.text}'`, isProof: sign.weight === 'proof' };
  const fault = FAULTS[code] ?? Object.values(FAULTS).find((name) => name === signal);
  return fault === undefined ? undefined : { text: `ended by ${fault}`, isProof: false };
}

/** The last failure that made its machine suspect. Plain JSON. */
export interface Suspect {
  /** Of the very machine: the slice's id at its provider, and the host's number in it. */
  readonly machine: string;
  /** A machine was replaced for it: the same on the next one is the program's own fault. */
  readonly isReplaced?: true;
}

/**
 * Whether the machine on which the command failed is to be replaced: by proof, or because the same machine has failed first twice
 * in a row. A program that fails so on the new machine too has failed by itself.
 */
export function isMachineAtFault(end: Exited, machine: string, last: Suspect | undefined): boolean {
  const why = suspicion(end);
  if (why === undefined || last?.isReplaced) return false;
  return why.isProof || last?.machine === machine;
}

/** What to remember of this failure. Undefined: nothing, as of an end that makes no machine suspect. */
export function suspectAfter(
  end: Exited,
  { machine, isReplaced }: { readonly machine: string; readonly isReplaced: boolean },
  last: Suspect | undefined,
): Suspect | undefined {
  if (suspicion(end) === undefined) return undefined;
  return { machine, ...(isReplaced || last?.isReplaced ? { isReplaced: true } : {}) };
}
