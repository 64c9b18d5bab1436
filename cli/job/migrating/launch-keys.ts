import { showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { BUILD_PLACES } from '../building/git-rules.js';
import { EXECUTION_WORDS } from '../launching/executions.js';
import type { LaunchFlags } from '../launching/launch-job.js';
import type { GivenKey, KeyRule } from './draft.js';

/** `launchJob` has put the values of all flags where they belong. */
const isPut = (): void => undefined;

/** Flags of `launch submit` of Astera's launch, and those that `jobctl launch` has beside them. */
export const ASTERA_FLAGS: readonly KeyRule[] = [
  {
    key: '--build',
    to: 'build',
    put: isPut,
    note: 'where the image is built: `remote`, in the cluster, is the default of pods and Ray here too. A flag of `submit` and `launch`',
  },
  {
    key: '--execution',
    to: 'kubernetes',
    put: isPut,
    note: 'the section: `kubernetes`, `ray_cluster` (for ray), and beside those of launch `tpu` and `machines`',
  },
  {
    key: '--workers',
    to: 'kubernetes.workers',
    put: isPut,
    note: 'pods; of ray `ray_cluster.workers.min` and `max`; of machines `machines.hosts`; of tpu `slices`',
  },
  {
    key: '--gpus',
    to: 'kubernetes.gpus',
    put: isPut,
    note: 'of each worker; with `--gpu-type`, since quota counts them by type',
  },
  { key: '--allow-dirty', isSwitch: true, fate: 'kept', note: 'a flag of `submit` and `launch`' },
  { key: '--allow-unpushed', isSwitch: true, fate: 'kept', note: 'a flag of `submit` and `launch`' },
  { key: '--name-prefix', to: 'name', put: isPut, note: 'ids of jobs are made from it' },
  {
    key: '--image',
    to: 'build.image',
    put: isPut,
    note: 'where the image is pushed; without it the registry of the context or of `JOBCTL_REGISTRY`, and the name of the folder. Without `--build` the image that is run',
  },
  { key: '--gpu-type', to: 'kubernetes.gpu_type', put: isPut },
  { key: '--ray-version', to: 'ray_cluster.ray_version', put: isPut },
  { key: '--instance-type', to: 'tpu.accelerator', put: isPut },
  { key: '--zone', to: 'tpu.zone', put: isPut },
];

/** The flags of a line that nobody has parsed yet. @throws CliError for a value that `jobctl launch` refuses */
export function launchFlags(given: readonly GivenKey[]): LaunchFlags {
  const valueOf = (key: string): string | undefined => {
    const found = given.findLast((each) => each.key === key);
    return found === undefined ? undefined : String(found.value);
  };
  const texts = {
    gpuType: valueOf('--gpu-type'),
    rayVersion: valueOf('--ray-version'),
    image: valueOf('--image'),
    instanceType: valueOf('--instance-type'),
    zone: valueOf('--zone'),
    namePrefix: valueOf('--name-prefix'),
    build: oneOf('--build', valueOf('--build'), BUILD_PLACES),
    execution: oneOf('--execution', valueOf('--execution'), EXECUTION_WORDS),
    workers: countOf('--workers', valueOf('--workers'), 1),
    gpus: countOf('--gpus', valueOf('--gpus'), 0),
  };
  return Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined));
}

function oneOf<Word extends string>(flag: string, value: string | undefined, words: readonly Word[]): Word | undefined {
  const found = words.find((word) => word === value);
  if (value === undefined || found !== undefined) return found;
  throw new CliError(ExitCode.Usage, `${flag}: ${showValue(value)} is none of ${words.join(', ')}`);
}

function countOf(flag: string, value: string | undefined, least: number): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (Number.isInteger(count) && count >= least) return count;
  throw new CliError(ExitCode.Usage, `${flag}: ${showValue(value)} is no whole number of ${least} or more`);
}
