import type { RunContainer } from '../../cloud/hosts/port.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { activateConda } from './conda.js';
import { activateLine } from './venv.js';

/**
 * What the on-host runner starts: the chosen environment, then the user's text, byte for byte. Where the environment
 * cannot be entered the command does not start in another one: exit code 126, as shells say "cannot be run".
 * Undefined for a job without a command.
 */
export function commandScript(spec: Pick<JobSpec, 'modules' | 'venv' | 'conda' | 'command'>): string | undefined {
  if (!spec.command) return undefined;
  if (spec.modules.includes('venv') && spec.venv) return entered(activateLine(spec.venv.path), spec.command.run);
  if (spec.modules.includes('conda') && spec.conda) return entered(activateConda(spec.conda.name), spec.command.run);
  return spec.command.run;
}

const entered = (enter: string, run: string): string => `${enter} || exit 126\n${run}`;

/** The container that the command runs in; undefined where it runs in the login user's shell. */
export function commandContainer(spec: Pick<JobSpec, 'modules' | 'docker'>): RunContainer | undefined {
  return spec.modules.includes('docker') ? spec.docker : undefined;
}
