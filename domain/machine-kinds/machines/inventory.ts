import type { Problem } from '../../problem.js';
import { machinesText, type MachinesRequest, type OwnMachine } from './words.js';

/**
 * The request, marked `isRehearsed` if the pool's machines are. A pool has machines of its own or, on a local stack, rehearsed
 * ones, never both. So a job that was accepted for one kind never gets the other, even if the pool file changes (docs/adr/0154).
 */
export const fromInventory = (request: MachinesRequest, inventory: readonly OwnMachine[]): MachinesRequest =>
  inventory.some(({ isRehearsed }) => isRehearsed) ? { ...request, isRehearsed: true } : request;

/** The machines that a job may have. It takes whole machines, so the number of accelerators on each must be exact. */
export function fittingMachines(
  { accelerator, labels: wanted, isRehearsed }: Omit<MachinesRequest, 'pool' | 'hosts'>,
  inventory: readonly OwnMachine[],
): readonly OwnMachine[] {
  return inventory.filter(({ accelerators, labels, ...machine }) => {
    const isSameAccelerator = accelerator
      ? accelerators[accelerator.type] === accelerator.perHost
      : Object.keys(accelerators).length === 0;
    const hasLabels = Object.entries(wanted).every(([key, value]) => labels[key] === value);
    return isSameAccelerator && hasLabels && machine.isRehearsed === isRehearsed;
  });
}

/**
 * The reason why the pool can never serve the request, or undefined if it can.
 * @param slices slices that run at the same time, each with machines of its own
 */
export function tooFewMachines(
  request: MachinesRequest,
  slices: number,
  inventory: readonly OwnMachine[],
): Problem | undefined {
  const fitting = fittingMachines(request, inventory).length;
  if (fitting >= slices * request.hosts) return undefined;
  const labels = Object.keys(request.labels).length === 0 ? '' : ' with these labels';
  const has = fitting === 0 ? 'none' : `only ${fitting}`;
  const asked = `${slices === 1 ? '' : `${slices} slices of `}${machinesText(request)}${labels}`;
  const message = `the job asks for ${asked}, and pool ${request.pool} has ${has}`;
  return { path: ['machines'], message, hint: remedyOf(request, inventory) };
}

const NAME_THEM = 'name machines as [[machines]] in its pool file: docs/own-machines.md';

function remedyOf({ pool }: MachinesRequest, inventory: readonly OwnMachine[]): string {
  const rehearsed = inventory.filter(({ isRehearsed }) => isRehearsed).map(({ name }) => name);
  if (rehearsed.length > 0)
    return `it has the rehearsed machines ${rehearsed.join(', ')}, without accelerators and labels\n${NAME_THEM}`;
  if (inventory.length > 0) return `jobctl machines ls --pool ${pool} shows those that it has\n${NAME_THEM}`;
  return `${NAME_THEM}\nwithout any, a local stack rehearses some without accelerators: jobctl submit --local`;
}
