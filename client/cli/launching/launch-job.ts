import { basename } from 'node:path';
import { jobNameFrom } from '../../../domain/identity.js';
import type { Mapping } from '../../../domain/job-file/plain-tree.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import type { BuildPlace } from '../building/git-rules.js';
import type { Environment } from '../dev/home.js';

export const EXECUTIONS = ['kubernetes', 'ray', 'tpu', 'machines'] as const;
export type Execution = (typeof EXECUTIONS)[number];

/** The flags of `jobctl launch` that say what the job is. */
export interface LaunchFlags {
  readonly build?: BuildPlace;
  readonly execution?: Execution;
  readonly workers?: number;
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

/** Names the folder of registries' images: `ghcr.io/team`. */
export const REGISTRY_VARIABLE = 'JOBCTL_REGISTRY';

/**
 * The job file that a line of `jobctl launch` stands for, without its command (docs/adr/0073).
 * @throws CliError with everything that the line lacks
 */
export function launchJob(
  flags: LaunchFlags,
  hasCommand: boolean,
  { env, folder }: { readonly env: Environment; readonly folder: string },
): Mapping {
  const execution = flags.execution ?? (flags.instanceType === undefined ? 'kubernetes' : 'tpu');
  const image = imageOf(flags, env, folder, execution);
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

function imageOf({ build, image }: LaunchFlags, env: Environment, folder: string, execution: Execution): LaunchImage {
  if (build === undefined && image !== undefined) return { pushed: image, lacks: [] };
  // Hosts of these two have a system of their own, and take the folder as it is.
  if (build === undefined && (execution === 'tpu' || execution === 'machines')) return { lacks: [] };
  const registry = env[REGISTRY_VARIABLE]?.replace(/(?<!\/)\/+$/, '') ?? '';
  const repository = image ?? (registry === '' ? undefined : `${registry}/${repositoryName(folder)}`);
  if (repository !== undefined) return { repository, lacks: [] };
  const where = `--image ghcr.io/team/train, or ${REGISTRY_VARIABLE}=ghcr.io/team`;
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
  { workers = 1, gpus = 0, gpuType, rayVersion, instanceType, zone }: LaunchFlags,
  image: string | undefined,
): { readonly machines: Mapping; readonly lacks: readonly string[] } {
  const inImage = image === undefined ? {} : { image };
  const docker = image === undefined ? {} : { docker: { image } };
  const ofPods = gpus === 0 ? {} : { gpus, ...(gpuType === undefined ? {} : { gpu_type: gpuType }) };
  const type = gpus > 0 && gpuType === undefined ? [`the type of the GPUs, which quota counts: --gpu-type h100`] : [];
  const foreign = [
    ...(execution !== 'tpu' && instanceType !== undefined ? ['--instance-type is for --execution tpu'] : []),
    ...(execution !== 'tpu' && zone !== undefined ? ['--zone is for --execution tpu'] : []),
    ...(execution !== 'ray' && rayVersion !== undefined ? ['--ray-version is for --execution ray'] : []),
  ];
  switch (execution) {
    case 'kubernetes':
      return { machines: { kubernetes: { ...inImage, workers, ...ofPods } }, lacks: [...type, ...foreign] };
    case 'ray': {
      const version = rayVersion === undefined ? ['the version of Ray in the image: --ray-version 2.60.0'] : [];
      const group = { min: workers, max: workers, ...ofPods };
      const cluster = { ...inImage, ray_version: rayVersion, workers: group };
      return { machines: { ray_cluster: cluster }, lacks: [...type, ...version, ...foreign] };
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
