import { join } from 'node:path';
import { parseAuthorizedKeys } from './authorized-keys.js';
import type { Confinement } from './confinement.js';
import { detectConfinement } from './confinement.js';
import type { VmPlan } from './vm-plan.js';
import { keyLines } from './vm-plan.js';
import type { Machine, MachinePlan } from './machine.js';
import { isMarkedMachineUp, killMarkedLeftover, startMarkedMachine } from './marked-machine.js';
import { bootNamespaceMachine, findNamespaceMachine, killNamespaceLeftover } from './namespace-machine.js';

/** The machine of a VM as an earlier rehearsal process has left it running, or undefined. */
export function findMachine(plan: VmPlan): Machine | undefined {
  const { disk, ...rest } = machinePlan(plan);
  if (confinementOf(plan) !== 'none') return findNamespaceMachine(disk);
  return isMarkedMachineUp(disk) ? startMarkedMachine({ disk, ...rest }) : undefined;
}

export async function startMachine(plan: VmPlan): Promise<Machine> {
  const confinement = confinementOf(plan);
  return confinement === 'none'
    ? startMarkedMachine(machinePlan(plan))
    : bootNamespaceMachine(machinePlan(plan), confinement);
}

/** Ends whatever runs on the disk of a VM's folder. */
export async function killLeftovers(dir: string): Promise<void> {
  await killNamespaceLeftover(join(dir, 'disk'));
  await killMarkedLeftover(dir);
}

function machinePlan(plan: VmPlan): MachinePlan {
  const { dir, hostname, address, slice, tools } = plan;
  const users = [...new Set(parseAuthorizedKeys(keyLines(plan)).map((key) => key.user))];
  const known = users.filter((user) => user !== 'root');
  return { disk: join(dir, 'disk'), hostname, address, hosts: slice, mark: dir, users: known, tools };
}

function confinementOf({ isolation, confinement }: VmPlan): Confinement {
  if (isolation === 'marks') return 'none';
  return confinement ?? detectConfinement().kind;
}
