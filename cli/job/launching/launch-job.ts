import { basename } from 'node:path';
import { jobNameFrom } from '../../../domain/identity.js';
import type { Mapping } from '../../../domain/job-file/plain-tree.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { BuildPlace } from '../building/sources.js';
import {
  type Execution,
  execution as rowOf,
  forAllLines,
  OWN_FLAGS,
  type OwnFlag,
  type SizeFlags,
} from './executions.js';
import { definedOnly } from '../../../domain/machine-kinds/kubernetes/pod-fields.js';
import type { ContextFlags } from '../../place/context.js';
import type { Environment } from '../../terminal/home.js';
import { firstZoneWith } from '../../../domain/machine-kinds/cloud-tpu/type-zones.js';
import { settingLayers, settingOf } from '../../place/contexts/layers.js';

/** The flags of `jobctl launch` that describe the job. */
export interface LaunchFlags extends SizeFlags {
  readonly build?: BuildPlace;
  readonly execution?: Execution;
  /** See `submit`. */
  readonly allowDirty?: true;
  readonly local?: true;
  /** With `build`, the repository to push to; otherwise a pushed image. */
  readonly image?: string;
  readonly namePrefix?: string;
}

/** Defaults for command lines, from a context or variables (docs/adr/0073). A flag on the command line takes precedence. */
interface LaunchDefaults {
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
  const { own, job } = rowOf(execution);
  const { machines, lacks } = job(flags, image.pushed);
  const all = [
    ...image.lacks,
    ...dirtyLacks(flags, execution, image),
    ...lacks,
    ...foreignLacks(flags, own),
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
  const { own } = rowOf(execution);
  return {
    ...((line.gpus ?? 0) > 0 && gpuType !== undefined && { gpuType }),
    ...(own.includes('rayVersion') && rayVersion !== undefined && { rayVersion }),
    ...(own.includes('zone') && zone !== undefined && { zone }),
    ...line,
  };
}

/** Refuses --allow-dirty for a build in a cluster, which builds the commit that it fetches. */
function dirtyLacks(
  { build, allowDirty, local }: LaunchFlags,
  execution: Execution,
  { pushed }: LaunchImage,
): readonly string[] {
  const usual = local !== true && !rowOf(execution).hasSystem ? 'remote' : 'local';
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
  if (build === undefined && rowOf(execution).hasSystem) return { lacks: [] };
  const registry = defaults.registry?.replace(/(?<!\/)\/+$/, '') ?? '';
  const repository = image ?? (registry === '' ? undefined : `${registry}/${repositoryName(folder)}`);
  if (repository !== undefined) return { repository, lacks: [] };
  const where = `--image ghcr.io/team/train, or JOBCTL_REGISTRY=ghcr.io/team, or ${forAllLines()} --registry ghcr.io/team`;
  return { lacks: [`where the image that is built goes: ${where}; --image without --build names a pushed one`] };
}

/** A repository name that a registry accepts, from a folder's name. */
const repositoryName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '') || 'image';

/** Flags of the command line that its execution does not use: each sentence once. */
const foreignLacks = (flags: LaunchFlags, own: readonly OwnFlag[]): readonly string[] => [
  ...new Set(
    Object.entries(OWN_FLAGS).flatMap(([flag, sentence]) =>
      flags[flag as OwnFlag] === undefined || own.includes(flag as OwnFlag) ? [] : [sentence],
    ),
  ),
];

/**
 * Defaults of the environment and the context in effect, for command lines without a job file (docs/adr/0073). On a rehearsed
 * cloud a zone costs nothing: a line without one gets the first zone that has its type.
 * @param flags the command line's, which choose the server and take precedence over a context
 * @param accelerator the type that the line asks for, if it asks for Cloud TPUs
 * @throws CliError as `settingLayers`
 */
export function lineDefaults(
  flags: ContextFlags & { readonly local?: boolean | undefined },
  accelerator: string | undefined,
  env: Environment = process.env,
): LaunchDefaults {
  const { used, server, stack } = settingLayers(flags as Record<string, unknown>, env);
  const isLocal = flags.local === true || server?.kind === 'stack';
  const isRehearsed = isLocal && (stack === undefined || stack.rehearsal !== undefined);
  const anyZone = isRehearsed && accelerator !== undefined ? firstZoneWith(accelerator) : undefined;
  return definedOnly({
    registry: settingOf(used, 'registry'),
    gpuType: settingOf(used, 'gpu_type'),
    rayVersion: settingOf(used, 'ray_version'),
    zone: settingOf(used, 'zone') ?? anyZone,
  });
}
