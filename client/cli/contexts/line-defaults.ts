import type { LaunchDefaults } from '../launching/launch-job.js';
import type { ContextFlags } from '../context.js';
import type { Environment } from '../dev/home.js';
import { settingLayers } from './layers.js';
import type { SettingKey } from './settings.js';

/**
 * What the environment, and the context that counts, say for lines without a job file (docs/adr/0073).
 * @param flags of the line: which server it means, and what goes before a context
 * @throws CliError as `settingLayers`
 */
export function lineDefaults(flags: ContextFlags, env: Environment = process.env): LaunchDefaults {
  const { used } = settingLayers(flags as Record<string, unknown>, env);
  const value = (key: SettingKey): string | undefined => used.find(({ settings }) => settings[key])?.settings[key];
  const [registry, gpuType, rayVersion, zone] = (['registry', 'gpu_type', 'ray_version', 'zone'] as const).map(value);
  return {
    ...(registry !== undefined && { registry }),
    ...(gpuType !== undefined && { gpuType }),
    ...(rayVersion !== undefined && { rayVersion }),
    ...(zone !== undefined && { zone }),
  };
}
