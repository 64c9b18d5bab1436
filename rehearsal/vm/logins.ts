import { join } from 'node:path';
import { makeHome, VM_COMMANDS } from './environment.js';
import { ADD_USER } from './etc-files.js';
import type { VmPlan } from './vm-plan.js';
import type { LazyMachine } from './lazy-machine.js';
import type { Machine } from './machine.js';
import { homeFolder } from './machine.js';
import { outcomeOf } from './outcome.js';
import type { LoginHost } from './session.js';

/** Lets users enter a VM: boots it, adds them to its passwd, and makes their homes. Each happens once. */
export function vmLogins({ dir, tools }: Pick<VmPlan, 'dir' | 'tools'>, lazy: LazyMachine): LoginHost['enter'] {
  const users = new Map<string, Promise<void>>();
  let last: Promise<void> = Promise.resolve();
  return async (user) => {
    const machine = await lazy.wake();
    const commands = machine.root === undefined ? (tools === undefined ? [] : [tools]) : VM_COMMANDS;
    let added = users.get(user);
    if (added === undefined) {
      // One at a time: two at once would overwrite each other's line.
      added = last.then(() => addUser(machine, user));
      last = added.catch(() => undefined);
      users.set(user, added);
    }
    await added;
    makeHome(homeFolder(join(dir, 'disk'), user, machine.root), commands);
    return { machine, home: machine.homeOf(user), commands };
  };
}

async function addUser(machine: Machine, user: string): Promise<void> {
  if (machine.root === undefined || user === 'root' || machine.users.has(user)) return;
  const adding = machine.start(['sh', '-c', ADD_USER, 'sh', user], { PATH: '/usr/bin:/bin' });
  const { code, stderr } = await outcomeOf(adding);
  if (code !== 0) throw new Error(`user ${user} could not be added to the VM (${code}): ${stderr.trim()}`);
}
