import { definedOnly } from '../../../domain/machine-kinds/kubernetes/pod-fields.js';
import type { LaunchDefaults } from './launch-job.js';
import type { ContextFlags } from '../../place/context.js';
import type { Environment } from '../../terminal/home.js';
import { settingLayers, settingOf } from '../../place/contexts/layers.js';

/**
 * Defaults of the environment and the context in effect, for command lines without a job file (docs/adr/0073).
 * @param flags the command line's, which choose the server and take precedence over a context
 * @throws CliError as `settingLayers`
 */
export function lineDefaults(flags: ContextFlags, env: Environment = process.env): LaunchDefaults {
  const { used } = settingLayers(flags as Record<string, unknown>, env);
  return definedOnly({
    registry: settingOf(used, 'registry'),
    gpuType: settingOf(used, 'gpu_type'),
    rayVersion: settingOf(used, 'ray_version'),
    zone: settingOf(used, 'zone'),
  });
}
