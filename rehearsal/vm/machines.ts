import { join } from 'node:path';
import type { Confinement } from './confinement.js';
import { detectConfinement } from './confinement.js';
import type { VmPlan } from './vm-plan.js';
import { keysInForce } from './vm-plan.js';
import type { Machine, MachinePlan } from './machine.js';
import { isMarkedMachineUp, killMarkedLeftover, startMarkedMachine } from './marked-machine.js';
import { bootNamespaceMachine, findNamespaceMachine, killNamespaceLeftover } from './namespace-machine.js';

/** The machine of a VM that an earlier rehearsal process left running, or undefined. */
export function findMachine(plan: VmPlan): Machine | undefined {
  const disk = diskOf(plan.dir);
  if (confinementOf(plan) !== 'none') return findNamespaceMachine(disk);
  return isMarkedMachineUp(disk) ? startMarkedMachine(machinePlan(plan)) : undefined;
}

export async function startMachine(plan: VmPlan): Promise<Machine> {
  const confinement = confinementOf(plan);
  return confinement === 'none'
    ? startMarkedMachine(machinePlan(plan))
    : bootNamespaceMachine(machinePlan(plan), confinement);
}

/** Ends the VM that an earlier process left running in `dir` and that is no longer needed. */
export async function killLeftover(dir: string): Promise<void> {
  await killNamespaceLeftover(diskOf(dir));
  await killMarkedLeftover(dir);
}

function diskOf(dir: string): string {
  return join(dir, 'disk');
}

function machinePlan(plan: VmPlan): MachinePlan {
  const { dir, hostname, address, slice, tools } = plan;
  const users = [...new Set(keysInForce(plan).map((key) => key.user))];
  const known = users.filter((user) => user !== 'root');
  return { disk: diskOf(dir), hostname, address, hosts: slice, mark: dir, users: known, tools };
}

function confinementOf({ isolation, confinement }: VmPlan): Confinement {
  if (isolation === 'marks') return 'none';
  return confinement ?? detectConfinement().kind;
}
