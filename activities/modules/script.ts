import type { ModulePlan } from '../../cloud/hosts/port.js';
import type { OwnModule, ScriptSpec } from '../../domain/setup-spec.js';
import { copySteps, filesModule } from './files.js';
import { fingerprintOf } from './fingerprint.js';
import type { ModuleFiles } from './sources.js';

const FORMAT = 1;

/** One script of the user's: once on each host for the same text, and again where its check fails. */
export function scriptModule({ run, check = 'true' }: ScriptSpec): ModulePlan {
  return {
    name: 'script',
    fingerprint: fingerprintOf(FORMAT, run, check),
    check,
    steps: [{ name: 'run', script: run }],
  };
}

/** A module that the job file describes: its files, then its steps, and its check beside that of its files. */
export function ownModule(
  name: string,
  { check = 'true', setup, files: copies }: OwnModule,
  files: ModuleFiles,
): ModulePlan {
  const copied = filesModule(name, copies, files);
  return {
    name,
    fingerprint: fingerprintOf(FORMAT, check, setup, copied.fingerprint),
    check: copies.length === 0 ? check : `( ${copied.check.trimEnd()} ) || exit 1\n${check}`,
    steps: [...copySteps(name, copies, files), ...setup.map((step) => ({ name: step.name, script: step.run }))],
  };
}
