import type { ModulePlan } from '../../cloud/hosts/port.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { venvModule } from './venv.js';

export { commandScript } from './command.js';
export { venvModule } from './venv.js';

/** Contents of the submitter's files, by their path as the job file has it. */
export type ModuleFiles = ReadonlyMap<string, Buffer>;

/**
 * The set-up of one host, in the job file's order. `command` and `ssh` (the key that connects) need none.
 * @throws RangeError for a module that this version has not built, or whose section or file is missing.
 */
export function modulePlans(spec: Pick<JobSpec, 'modules' | 'venv'>, files: ModuleFiles): ModulePlan[] {
  return spec.modules.flatMap((name) => {
    switch (name) {
      case 'command':
      case 'ssh':
        return [];
      case 'venv': {
        if (!spec.venv) throw new RangeError(`setup.modules: 'venv' is named, but the job has no section 'venv'`);
        const { requirementsFile } = spec.venv;
        return [venvModule(spec.venv, requirementsFile === undefined ? undefined : files.get(requirementsFile))];
      }
      case 'gcsfuse':
      case 'docker':
      case 'conda':
        throw new RangeError(`setup.modules: '${name}' is not built in this version; use 'venv' and 'command'`);
      default:
        throw new RangeError(`setup.modules: '${name}' is no module`);
    }
  });
}
