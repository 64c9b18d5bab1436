import type { Mapping } from '../../../domain/job-file/plain-tree.js';
import type { MachineKindName } from '../../../domain/machines.js';
import { asTyped } from '../../terminal/print.js';

/** Flags of `jobctl launch` that size its machines. */
export interface SizeFlags {
  readonly workers?: number;
  /** Bounds of a RayCluster that its autoscaler changes. */
  readonly minWorkers?: number;
  readonly maxWorkers?: number;
  readonly gpus?: number;
  readonly gpuType?: string;
  readonly rayVersion?: string;
  readonly instanceType?: string;
  readonly zone?: string;
}

/** Flags that only one execution has, each with the sentence for other executions. */
export const OWN_FLAGS = {
  instanceType: '--instance-type is for --execution tpu',
  zone: '--zone is for --execution tpu',
  minWorkers: '--min-workers and --max-workers are for --execution ray, whose autoscaler moves between them',
  maxWorkers: '--min-workers and --max-workers are for --execution ray, whose autoscaler moves between them',
  rayVersion: '--ray-version is for --execution ray',
} as const satisfies { readonly [Flag in keyof SizeFlags]?: string };
export type OwnFlag = keyof typeof OWN_FLAGS;

interface ExecutionRow {
  /** The kind of machines that `--execution` selects. */
  readonly kind: MachineKindName;
  readonly own: readonly OwnFlag[];
  /** True if hosts have an operating system and can use the folder directly. False: they are containers of an image. */
  readonly hasSystem: boolean;
  /** The machines of a job file, and what the command line lacks for them. @param image a pushed image */
  job(flags: SizeFlags, image: string | undefined): { readonly machines: Mapping; readonly lacks: readonly string[] };
}

export const forAllLines = (): string => asTyped('jobctl context set NAME');

const inImage = (image: string | undefined): Mapping => (image === undefined ? {} : { image });
const inDocker = (image: string | undefined): Mapping => (image === undefined ? {} : { docker: { image } });
const gpusOf = ({ gpus = 0, gpuType }: SizeFlags): Mapping =>
  gpus === 0 ? {} : { gpus, ...(gpuType === undefined ? {} : { gpu_type: gpuType }) };
const lacksType = ({ gpus = 0, gpuType }: SizeFlags): readonly string[] =>
  gpus > 0 && gpuType === undefined
    ? [`the type of the GPUs, which quota counts: --gpu-type h100; for all lines ${forAllLines()} --gpu-type h100`]
    : [];

/** Executions by the word of `--execution`. */
export const EXECUTIONS = {
  kubernetes: {
    kind: 'kubernetes',
    own: [],
    hasSystem: false,
    job: (flags, image) => ({
      machines: { kubernetes: { ...inImage(image), workers: flags.workers ?? 1, ...gpusOf(flags) } },
      lacks: lacksType(flags),
    }),
  },
  ray: {
    kind: 'ray-cluster',
    own: ['minWorkers', 'maxWorkers', 'rayVersion'],
    hasSystem: false,
    job: (flags, image) => {
      const { workers, minWorkers, maxWorkers, rayVersion } = flags;
      const wanted = `--ray-version 2.60.0; for all lines ${forAllLines()} --ray-version 2.60.0`;
      const version = rayVersion === undefined ? [`the version of Ray in the image: ${wanted}`] : [];
      const min = minWorkers ?? workers ?? Math.min(1, maxWorkers ?? 1);
      const max = maxWorkers ?? Math.max(workers ?? 1, min);
      const flag = minWorkers === undefined ? '--workers' : '--min-workers';
      const range = min > max ? [`${flag} ${min} is more than --max-workers ${max}`] : [];
      const cluster = { ...inImage(image), ray_version: rayVersion, workers: { min, max, ...gpusOf(flags) } };
      return { machines: { ray_cluster: cluster }, lacks: [...lacksType(flags), ...version, ...range] };
    },
  },
  tpu: {
    kind: 'cloud-tpu',
    own: ['instanceType', 'zone'],
    hasSystem: true,
    job: ({ workers = 1, gpus = 0, instanceType, zone }, image) => {
      const tpu = { accelerator: instanceType?.replace(/^tpu-/, ''), ...(zone === undefined ? {} : { zone }) };
      const slices = workers === 1 ? {} : { slices: workers };
      const lacks = [
        ...(instanceType === undefined ? ['the type of TPU slice: --instance-type v5litepod-16'] : []),
        ...(gpus > 0 ? [`--gpus ${gpus} is not for --execution tpu`] : []),
      ];
      return { machines: { ...slices, tpu, ...inDocker(image) }, lacks };
    },
  },
  machines: {
    kind: 'machines',
    own: [],
    hasSystem: true,
    job: (flags, image) => {
      const { workers = 1, gpus = 0, gpuType } = flags;
      const accelerators = gpus === 0 ? {} : { accelerator: gpuType, count: gpus * workers };
      return {
        machines: { machines: { ...accelerators, hosts: workers }, ...inDocker(image) },
        lacks: lacksType(flags),
      };
    },
  },
} as const satisfies Readonly<Record<string, ExecutionRow>>;

export type Execution = keyof typeof EXECUTIONS;
export const EXECUTION_WORDS = Object.keys(EXECUTIONS) as readonly Execution[];
export const execution = (word: Execution): ExecutionRow => EXECUTIONS[word];
