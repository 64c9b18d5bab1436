import { basename } from 'node:path';
import { jobNameFrom } from '../../../domain/identity.js';
import type { Mapping } from '../../../domain/job-file/plain-tree.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { asTyped } from '../typed-command.js';
import type { BuildPlace } from '../building/git-rules.js';

export const EXECUTIONS = ['kubernetes', 'ray', 'tpu', 'machines'] as const;
export type Execution = (typeof EXECUTIONS)[number];

/** The flags of `jobctl launch` that say what the job is. */
export interface LaunchFlags {
  readonly build?: BuildPlace;
  readonly execution?: Execution;
  readonly workers?: number;
  /** Of a RayCluster whose size follows its work. */
  readonly minWorkers?: number;
  readonly maxWorkers?: number;
  readonly gpus?: number;
  readonly gpuType?: string;
  readonly rayVersion?: string;
  /** As at `submit`. */
  readonly allowDirty?: true;
  readonly local?: true;
  /** With `build` the repository that is pushed to, else an image that was pushed. */
  readonly image?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly namePrefix?: string;
}

/** What lines have in common, from a context or from variables (docs/adr/0073). Of each the line's own flag goes first. */
export interface LaunchDefaults {
  /** Of images: `ghcr.io/team`. */
  readonly registry?: string;
  readonly gpuType?: string;
  readonly rayVersion?: string;
  readonly zone?: string;
}

/**
 * The job file that a line of `jobctl launch` stands for, without its command (docs/adr/0073).
 * @throws CliError with everything that the line lacks
 */
export function launchJob(
  line: LaunchFlags,
  hasCommand: boolean,
  { defaults, folder }: { readonly defaults: LaunchDefaults; readonly folder: string },
): Mapping {
  const execution = line.execution ?? (line.instanceType === undefined ? 'kubernetes' : 'tpu');
  const flags = withDefaults(line, defaults, execution);
  const image = imageOf(flags, defaults, folder, execution);
  const { machines, lacks } = machinesOf(execution, flags, image.pushed);
  const all = [
    ...image.lacks,
    ...dirtyLacks(flags, execution, image),
    ...lacks,
    ...(!hasCommand ? ['a command behind --: -- python3 train.py'] : []),
  ];
  if (all.length > 0) throw new CliError(ExitCode.Usage, 'jobctl launch: the line does not say all of the job', ...all);
  return {
    ...(flags.namePrefix === undefined ? {} : { name: jobNameFrom(flags.namePrefix) }),
    ...machines,
    ...(image.repository === undefined ? {} : { build: { image: image.repository } }),
    ...(image.repository === undefined && image.pushed === undefined ? { bundle: '.' } : {}),
  };
}

/** A default that the line has no use for is none of its words, and refused as none. */
function withDefaults(
  line: LaunchFlags,
  { gpuType, rayVersion, zone }: LaunchDefaults,
  execution: Execution,
): LaunchFlags {
  return {
    ...((line.gpus ?? 0) > 0 && gpuType !== undefined && { gpuType }),
    ...(execution === 'ray' && rayVersion !== undefined && { rayVersion }),
    ...(execution === 'tpu' && zone !== undefined && { zone }),
    ...line,
  };
}

const forAll = (): string => asTyped('jobctl context set NAME');

/** A cluster builds the commit that it fetches. */
function dirtyLacks(
  { build, allowDirty, local }: LaunchFlags,
  execution: Execution,
  { pushed }: LaunchImage,
): readonly string[] {
  const usual = local !== true && (execution === 'kubernetes' || execution === 'ray') ? 'remote' : 'local';
  if (allowDirty !== true || pushed !== undefined || (build ?? usual) === 'local') return [];
  return ['--allow-dirty is for a build on this computer: --build local --allow-dirty; a cluster builds the commit'];
}

interface LaunchImage {
  /** Where an image that is built is pushed. */
  readonly repository?: string;
  /** An image that is there. */
  readonly pushed?: string;
  readonly lacks: readonly string[];
}

function imageOf(
  { build, image }: LaunchFlags,
  defaults: LaunchDefaults,
  folder: string,
  execution: Execution,
): LaunchImage {
  if (build === undefined && image !== undefined) return { pushed: image, lacks: [] };
  // Hosts of these two have a system of their own, and take the folder as it is.
  if (build === undefined && (execution === 'tpu' || execution === 'machines')) return { lacks: [] };
  const registry = defaults.registry?.replace(/(?<!\/)\/+$/, '') ?? '';
  const repository = image ?? (registry === '' ? undefined : `${registry}/${repositoryName(folder)}`);
  if (repository !== undefined) return { repository, lacks: [] };
  const where = `--image ghcr.io/team/train, or JOBCTL_REGISTRY=ghcr.io/team, or ${forAll()} --registry ghcr.io/team`;
  return { lacks: [`where the image that is built goes: ${where}; --image without --build names a pushed one`] };
}

/** What a registry accepts of a folder's name. */
const repositoryName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '') || 'image';

function machinesOf(
  execution: Execution,
  flags: LaunchFlags,
  image: string | undefined,
): { readonly machines: Mapping; readonly lacks: readonly string[] } {
  const { gpus = 0, gpuType, rayVersion, instanceType, zone, minWorkers, maxWorkers } = flags;
  const { workers = 1 } = flags;
  const inImage = image === undefined ? {} : { image };
  const docker = image === undefined ? {} : { docker: { image } };
  const ofPods = gpus === 0 ? {} : { gpus, ...(gpuType === undefined ? {} : { gpu_type: gpuType }) };
  const type =
    gpus > 0 && gpuType === undefined
      ? [`the type of the GPUs, which quota counts: --gpu-type h100; for all lines ${forAll()} --gpu-type h100`]
      : [];
  const foreign = [
    ...(execution !== 'tpu' && instanceType !== undefined ? ['--instance-type is for --execution tpu'] : []),
    ...(execution !== 'tpu' && zone !== undefined ? ['--zone is for --execution tpu'] : []),
    ...(execution !== 'ray' && (minWorkers ?? maxWorkers) !== undefined
      ? ['--min-workers and --max-workers are for --execution ray, whose autoscaler moves between them']
      : []),
    ...(execution !== 'ray' && rayVersion !== undefined ? ['--ray-version is for --execution ray'] : []),
  ];
  switch (execution) {
    case 'kubernetes':
      return { machines: { kubernetes: { ...inImage, workers, ...ofPods } }, lacks: [...type, ...foreign] };
    case 'ray': {
      const wanted = `--ray-version 2.60.0; for all lines ${forAll()} --ray-version 2.60.0`;
      const version = rayVersion === undefined ? [`the version of Ray in the image: ${wanted}`] : [];
      const least = minWorkers ?? flags.workers ?? Math.min(1, maxWorkers ?? 1);
      const group = { min: least, max: maxWorkers ?? Math.max(workers, least), ...ofPods };
      const range =
        group.min > group.max
          ? [
              `${minWorkers === undefined ? '--workers' : '--min-workers'} ${group.min} is more than --max-workers ${group.max}`,
            ]
          : [];
      const cluster = { ...inImage, ray_version: rayVersion, workers: group };
      return { machines: { ray_cluster: cluster }, lacks: [...type, ...version, ...range, ...foreign] };
    }
    case 'machines': {
      const accelerators = gpus === 0 ? {} : { accelerator: gpuType, count: gpus * workers };
      return { machines: { machines: { ...accelerators, hosts: workers }, ...docker }, lacks: [...type, ...foreign] };
    }
    case 'tpu': {
      const tpu = { accelerator: instanceType?.replace(/^tpu-/, ''), ...(zone === undefined ? {} : { zone }) };
      const slices = workers === 1 ? {} : { slices: workers };
      const lacks = [
        ...(instanceType === undefined ? ['the type of TPU slice: --instance-type v5litepod-16'] : []),
        ...(gpus > 0 ? [`--gpus ${gpus} is not for --execution tpu`] : []),
      ];
      return { machines: { ...slices, tpu, ...docker }, lacks };
    }
  }
}
