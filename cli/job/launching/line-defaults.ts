import { definedOnly } from '../../../domain/machine-kinds/kubernetes/pod-fields.js';
import type { LaunchDefaults } from './launch-job.js';
import type { ContextFlags } from '../../place/context.js';
import type { Environment } from '../../terminal/home.js';
import { firstZoneWith } from '../../../domain/machine-kinds/cloud-tpu/type-zones.js';
import { settingLayers, settingOf } from '../../place/contexts/layers.js';

/**
 * Defaults of the environment and the context in effect, for command lines without a job file (docs/adr/0073).
 * On a rehearsed cloud, where a zone costs nothing, a line without one means the first zone that has its type.
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
