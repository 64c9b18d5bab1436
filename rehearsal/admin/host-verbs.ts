import type { Vm } from '../vm/index.js';
import { AdminError, parse } from './admin-error.js';
import { findNode } from './find.js';
import type { AdminParts } from './parts.js';
import type { HOST_ACTIONS } from './requests.js';
import { hostsRequest } from './requests.js';

/** What becomes of one TPU VM, or of each of a slice. In real time: VMs are real processes. */
export function hosts({ cloud, fleet }: AdminParts, body: unknown): object {
  const { name, host, action, delayMs } = parse(hostsRequest, body);
  const node = findNode(cloud, name);
  const vms = fleet.vmsOf(node.resource.name);
  const chosen = host === 'all' ? vms : vms.slice(host, host + 1);
  if (chosen.length === 0) {
    const there = vms.length === 0 ? '' : ` (0 to ${vms.length - 1})`;
    const text = `${node.resource.name} has ${vms.length} running hosts${there}, no host ${host}`;
    throw new AdminError(404, text);
  }
  const results = chosen.map((vm) => ACTIONS[action](vm, delayMs ?? DEFAULT_DELAY_MS));
  return { name: node.resource.name, host, ...results[0] };
}

const DEFAULT_DELAY_MS = 5000;

type Action = (vm: Vm, delayMs: number) => { readonly killed: number } | void;

const ACTIONS: Readonly<Record<(typeof HOST_ACTIONS)[number], Action>> = {
  freeze: (vm) => vm.freeze(),
  thaw: (vm) => vm.thaw(),
  unreachable: (vm) => vm.setReachable(false),
  reachable: (vm) => vm.setReachable(true),
  'kill-processes': (vm) => ({ killed: vm.killProcesses() }),
};
