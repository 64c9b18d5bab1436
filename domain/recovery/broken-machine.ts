import type { CommandEnd } from './host-ends.js';

/**
 * Text that a host prints if its machine is at fault. `proof`: no program prints it by itself. `sign`: a program may, so it
 * counts only twice in a row on the same machine.
 */
interface Sign {
  readonly text: string;
  readonly weight: 'proof' | 'sign';
  /** Said of it in place of the text. */
  readonly words?: string;
}

/** Faults of memory or of an instruction. marin-community/marin#4120: exit 139 on one node until all retries were gone. */
const FAULTS = [
  { signal: 'SIGILL', number: 4, words: 'Illegal instruction' },
  { signal: 'SIGABRT', number: 6 },
  { signal: 'SIGBUS', number: 7, words: 'Bus error' },
  { signal: 'SIGSEGV', number: 11, words: 'Segmentation fault' },
] as const;

/**
 * Reports of launchers about a process that ended by a fault, before they exit with 1 themselves: torchrun and accelerate
 * (NVIDIA/Megatron-LM#1880, FlagOpen/FlagEmbedding#1549), Python's subprocess, DeepSpeed, glog and absl. The words are the C
 * library's: bash, mpirun and Python's faulthandler print them. `Aborted` alone is said of too much else.
 */
const faultTexts = (fault: (typeof FAULTS)[number]): readonly string[] => [
  `(${fault.signal}) received by PID`,
  `(exitcode: -${fault.number})`,
  `<Signals.${fault.signal}: ${fault.number}>`,
  `exits with return code = -${fault.number}`,
  `*** ${fault.signal} `,
  ...('words' in fault ? [fault.words] : []),
];

const SIGNS: readonly Sign[] = [
  // A GPU with damaged memory (JuliaGPU/CUDAdrv.jl#106, vllm-project/vllm#5222: "hardware error", other hardware worked).
  { text: 'uncorrectable ECC error encountered', weight: 'proof' },
  { text: 'CUDA_ERROR_ECC_UNCORRECTABLE', weight: 'proof' },
  // The on-host runner's own words (cloud/hosts/runner/accelerators.ts), which asked the driver.
  { text: 'jobctl: GPUs of this job are gone: ', weight: 'proof', words: 'lost GPUs, of which its log tells' },
  // NVIDIA's Xid 79 (NVIDIA/open-gpu-kernel-modules#507; aws/eks-node-monitoring-agent#94 replaces the node).
  { text: 'GPU has fallen off the bus', weight: 'proof' },
  // CUDA Driver API 12.8, CUresult: 220 and 802 (a fabric manager that did not come up). The third line is nvidia-smi's.
  { text: 'uncorrectable NVLink error', weight: 'proof' },
  { text: 'system not yet initialized', weight: 'sign' },
  { text: 'Reboot the system to recover this GPU', weight: 'proof' },
  // libtpu of a worker whose chip failed (AI-Hypercomputer/maxtext#2041). The host that prints it need not be the broken one.
  { text: 'SLICE_FAILURE_CHIP_DRIVER_ERROR', weight: 'sign' },
  // A TPU VM that must be made anew (pytorch/xla#7227, marin-community/marin#4783), or two processes of one program
  // (vllm-project/vllm#18282).
  { text: 'TPU initialization failed', weight: 'sign' },
  { text: "Couldn't open iommu group /dev/vfio/", weight: 'sign' },
  ...FAULTS.flatMap((fault) => faultTexts(fault).map((text) => ({ text, weight: 'sign' as const }))),
];

export const SIGN_TEXTS = SIGNS.map(({ text }) => text);

/** Bytes at the end of a host's output that are searched for a sign. A traceback of JAX has some 10 kB. */
export const SIGN_BYTES = 16_384;

/** The weightiest sign in the last output of a host whose command failed. Of equal ones: the first in `SIGNS`. */
export function signIn(output: string): string | undefined {
  const found = SIGNS.filter(({ text }) => output.includes(text));
  return (found.find(({ weight }) => weight === 'proof') ?? found[0])?.text;
}

type Exited = Extract<CommandEnd, { readonly kind: 'exited' }>;

/** The reason, in words, why the machine may be at fault. Undefined: there is none. */
export function suspicion({
  code,
  signal,
  printed,
  isStopped,
}: Exited): { text: string; isProof: boolean } | undefined {
  if (code === 0 || isStopped) return undefined;
  const sign = SIGNS.find(({ text }) => text === printed);
  if (sign !== undefined) return { text: sign.words ?? `printed '${sign.text}'`, isProof: sign.weight === 'proof' };
  const fault = FAULTS.find((each) => code === 128 + each.number || signal === each.signal);
  return fault === undefined ? undefined : { text: `ended by ${fault.signal}`, isProof: false };
}

/** The last failure that made its machine suspect. Plain JSON. */
export interface Suspect {
  /** Id of the machine itself: the slice's id at its provider, and the host's number in it. */
  readonly machine: string;
  /** A machine was replaced because of this failure. The same failure on the next machine is the program's own fault. */
  readonly isReplaced?: true;
}

/**
 * Returns whether to replace the machine on which the command failed: on proof, or if the same machine was the first to fail
 * twice in a row. A program that fails in this way on the new machine too is itself at fault.
 */
export function isMachineAtFault(end: Exited, machine: string, last: Suspect | undefined): boolean {
  const why = suspicion(end);
  if (why === undefined || last?.isReplaced) return false;
  return why.isProof || last?.machine === machine;
}

/** The record of this failure. Undefined if it makes no machine suspect. */
export function suspectAfter(
  end: Exited,
  { machine, isReplaced }: { readonly machine: string; readonly isReplaced: boolean },
  last: Suspect | undefined,
): Suspect | undefined {
  if (suspicion(end) === undefined) return undefined;
  return { machine, ...(isReplaced || last?.isReplaced ? { isReplaced: true } : {}) };
}
