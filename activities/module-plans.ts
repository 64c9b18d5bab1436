import { createHash } from 'node:crypto';
import type { KeyPair, ModuleFiles, ModulePlan } from '../domain/modules/module.js';
import { planSetUp, type SetUpSpec } from '../domain/modules/set-up.js';

/**
 * The set-up of one host, in the job's order.
 * @param sources contents of the submitter's files, and the key pairs of the job's identities, in their order
 * @throws RangeError for an unknown module, or one whose section, file or key is missing
 */
export function modulePlans(
  job: SetUpSpec,
  sources: { readonly files: ModuleFiles; readonly keys: readonly KeyPair[] },
): ModulePlan[] {
  return planSetUp(job, { ...sources, sha256: (content) => createHash('sha256').update(content).digest('hex') });
}
