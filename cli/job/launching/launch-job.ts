import { basename } from 'node:path';
import { jobNameFrom } from '../../../domain/identity.js';
import type { Mapping } from '../../../domain/job-file/plain-tree.js';
import { CliError } from '../../terminal/cli-error.js';
import { ExitCode } from '../../terminal/exit-codes.js';
import { asTyped } from '../../terminal/typed-command.js';
import type { BuildPlace } from '../building/git-rules.js';

export const EXECUTIONS = ['kubernetes', 'ray', 'tpu', 'machines'] as const;
export type Execution = (typeof EXECUTIONS)[number];

/** The flags of `jobctl launch` that describe the job. */
export interface LaunchFlags {
  readonly build?: BuildPlace;
  readonly execution?: Execution;
  readonly workers?: number;
  /** Bounds of a RayCluster that scales with its work. */
  readonly minWorkers?: number;
  readonly maxWorkers?: number;
  readonly gpus?: number;
  readonly gpuType?: string;
  readonly rayVersion?: string;
  /** See `submit`. */
  readonly allowDirty?: true;
  readonly local?: true;
  /** With `build`, the repository to push to; otherwise a pushed image. */
  readonly image?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly namePrefix?: string;
}

/** Defaults for command lines, from a context or variables (docs/adr/0073). A flag on the command line takes precedence. */
export interface LaunchDefaults {
  /** Registry of images: `ghcr.io/team`. */
  readonly registry?: string;
  readonly gpuType?: string;
  readonly rayVersion?: string;
  readonly zone?: string;
}

/**
 * The job file for a command line of `jobctl launch`, without its command (docs/adr/0073).
 * @throws CliError with everything that the command line lacks
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

/** Adds defaults that the command line can use. An unused default is not one of its flags, so it is not refused as one. */
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

/** Refuses --allow-dirty for a build in a cluster, which builds the commit that it fetches. */
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
  /** Repository to which a built image is pushed. */
  readonly repository?: string;
  /** An existing image. */
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
  // Hosts of these two kinds have their own system and use the folder directly.
  if (build === undefined && (execution === 'tpu' || execution === 'machines')) return { lacks: [] };
  const registry = defaults.registry?.replace(/(?<!\/)\/+$/, '') ?? '';
  const repository = image ?? (registry === '' ? undefined : `${registry}/${repositoryName(folder)}`);
  if (repository !== undefined) return { repository, lacks: [] };
  const where = `--image ghcr.io/team/train, or JOBCTL_REGISTRY=ghcr.io/team, or ${forAll()} --registry ghcr.io/team`;
  return { lacks: [`where the image that is built goes: ${where}; --image without --build names a pushed one`] };
}

/** A repository name that a registry accepts, from a folder's name. */
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
