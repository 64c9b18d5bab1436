import { type MachinesAnswer, type MachinesInput, machinesInputForm } from '../contract/machines.js';
import { ownMachines } from './activity-options.js';
import { inputIn } from './inbox.js';

/** Carries out an operator's request about a pool's own machines: `jobctl machines`. */
export async function machines(input: MachinesInput): Promise<MachinesAnswer> {
  const valid = inputIn(machinesInputForm, 'machines', input);
  return ownMachines(valid.verb).operateMachines(valid);
}
