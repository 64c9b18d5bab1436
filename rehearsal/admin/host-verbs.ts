import type { Vm } from '../vm/index.js';
import { AdminError, parse } from './admin-error.js';
import { findNode, findVm } from './find.js';
import type { AdminParts } from './parts.js';
import type { HOST_ACTIONS } from './requests.js';
import { hostsRequest } from './requests.js';

/**
 * Acts on one TPU VM, on all VMs of a slice, or on a Compute Engine VM, which is always host 0. Takes real time: VMs are real
 * processes.
 * @throws AdminError before any action
 */
export function hosts({ cloud, compute, fleet }: AdminParts, body: unknown): Promise<object> {
  const { name, host, action, delayMs } = parse(hostsRequest, body);
  const full = findVm(compute, name)?.path ?? findNode(cloud, name).resource.name;
  const vms = fleet.vmsOf(full);
  const chosen = host === 'all' ? vms : vms.slice(host, host + 1);
  if (chosen.length === 0) {
    const there = vms.length === 0 ? '' : ` (0 to ${vms.length - 1})`;
    const text = `${full} has ${vms.length} running hosts${there}, no host ${host}`;
    throw new AdminError(404, text);
  }
  const results = Promise.all(chosen.map(async (vm) => ACTIONS[action](vm, delayMs ?? DEFAULT_DELAY_MS)));
  return results.then(([first]) => ({ name: full, host, ...first }));
}

const DEFAULT_DELAY_MS = 5000;

type Action = (vm: Vm, delayMs: number) => { readonly killed: number } | void | Promise<void>;

const ACTIONS: Readonly<Record<(typeof HOST_ACTIONS)[number], Action>> = {
  freeze: (vm) => vm.freeze(),
  thaw: (vm) => vm.thaw(),
  unreachable: (vm) => vm.setReachable(false),
  reachable: (vm) => vm.setReachable(true),
  'slow-ssh': (vm, delayMs) => vm.setSshDelay(delayMs),
  'refuse-ssh': (vm) => vm.refuseSsh(true),
  'accept-ssh': (vm) => vm.refuseSsh(false),
  'fill-disk': (vm) => vm.fillDisk(true),
  'free-disk': (vm) => vm.fillDisk(false),
  'kill-processes': (vm) => ({ killed: vm.killProcesses() }),
};
