import type { JobSpec } from '../../domain/job-spec.js';
import { activateLine } from './venv.js';

/**
 * What the on-host runner starts: the chosen environment, then the user's text, byte for byte. Where the environment
 * cannot be entered the command does not start in another one: exit code 126, as shells say "cannot be run".
 * Undefined for a job without a command.
 */
export function commandScript(spec: Pick<JobSpec, 'modules' | 'venv' | 'command'>): string | undefined {
  if (!spec.command) return undefined;
  if (!spec.modules.includes('venv') || !spec.venv) return spec.command.run;
  return `${activateLine(spec.venv.path)} || exit 126\n${spec.command.run}`;
}
