import type { LaunchDefaults } from '../launching/launch-job.js';
import type { Environment } from '../dev/home.js';
import { settingLayers } from './layers.js';
import type { SettingKey } from './settings.js';

/**
 * What the environment, and the context that counts, say for lines without a job file (docs/adr/0073). Flags of the line are not looked at.
 * @throws CliError as `settingLayers`
 */
export function lineDefaults(flags: { readonly context?: string }, env: Environment = process.env): LaunchDefaults {
  const { used } = settingLayers(flags.context === undefined ? {} : { context: flags.context }, env);
  const value = (key: SettingKey): string | undefined => used.find(({ settings }) => settings[key])?.settings[key];
  const [registry, gpuType, rayVersion, zone] = (['registry', 'gpu_type', 'ray_version', 'zone'] as const).map(value);
  return {
    ...(registry !== undefined && { registry }),
    ...(gpuType !== undefined && { gpuType }),
    ...(rayVersion !== undefined && { rayVersion }),
    ...(zone !== undefined && { zone }),
  };
}
