import type { RunContainer } from '../../cloud/hosts/port.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { BUNDLE_PLACE, BUNDLE_PLACE_IN_CONTAINER } from '../../domain/setup-spec.js';
import { enterBundle } from './bundle.js';
import { activateConda } from './conda.js';
import { activateLine } from './venv.js';

/**
 * What the on-host runner starts: the bundle's folder, the chosen environment, then the user's text, byte for byte. Where one of
 * them cannot be entered the command does not start elsewhere: exit code 126, as shells say "cannot be run".
 * Undefined for a job without a command.
 */
export function commandScript(
  spec: Pick<JobSpec, 'modules' | 'venv' | 'conda' | 'docker' | 'bundle' | 'command'>,
): string | undefined {
  return spec.command && `${bundleLines(spec)}${environmentLines(spec)}${spec.command.run}`;
}

/** `docker.workdir` is where the command starts, wherever the bundle is. */
function bundleLines({ modules, bundle, docker }: Pick<JobSpec, 'modules' | 'bundle' | 'docker'>): string {
  if (!modules.includes('bundle') || !bundle) return '';
  if (!modules.includes('docker')) return enterBundle(BUNDLE_PLACE, true);
  return enterBundle(BUNDLE_PLACE_IN_CONTAINER, docker?.workdir === undefined);
}

function environmentLines({ modules, venv, conda }: Pick<JobSpec, 'modules' | 'venv' | 'conda'>): string {
  if (modules.includes('venv') && venv) return `${activateLine(venv.path)} || exit 126\n`;
  if (modules.includes('conda') && conda) return `${activateConda(conda.name)} || exit 126\n`;
  return '';
}

/** The container that the command runs in; undefined where it runs in the login user's shell. */
export function commandContainer(spec: Pick<JobSpec, 'modules' | 'docker' | 'bundle'>): RunContainer | undefined {
  const { modules, docker, bundle } = spec;
  if (!modules.includes('docker') || !docker) return undefined;
  if (!modules.includes('bundle') || !bundle) return docker;
  return { ...docker, mounts: [...docker.mounts, `${BUNDLE_PLACE}:${BUNDLE_PLACE_IN_CONTAINER}`] };
}
