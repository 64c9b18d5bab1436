import { ApplicationFailure } from '@temporalio/workflow';
import { type MachinesAnswer, type MachinesInput, machinesInputForm } from '../contract/machines.js';
import { FailureType } from '../domain/errors.js';
import { ownMachines } from './activity-options.js';

/** Carries out an operator's request about a pool's own machines: `jobctl machines`. */
export async function machines(input: MachinesInput): Promise<MachinesAnswer> {
  const checked = machinesInputForm(input);
  if (checked.kind === 'valid') return ownMachines(checked.value.verb).operateMachines(checked.value);
  const why =
    checked.kind === 'malformed' ? checked.reason : `version ${checked.version} is not known: update the worker`;
  throw ApplicationFailure.create({
    type: FailureType.InvalidInput,
    nonRetryable: true,
    message: `the input of the workflow machines: ${why}`,
  });
}
