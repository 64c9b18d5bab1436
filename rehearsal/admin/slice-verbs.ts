import { ApiError, findStatus } from '../tpu/api-error.js';
import type { VmRecord } from '../compute/model.js';
import { VM_STATUSES } from '../compute/model.js';
import type { NodeRecord } from '../tpu/model.js';
import { LIVE } from '../tpu/node-lifecycle.js';
import { draw } from '../tpu/settings.js';
import { AdminError, parse } from './admin-error.js';
import { findNode, findQueuedResource, findVm } from './find.js';
import type { AdminParts } from './parts.js';
import {
  failRequestRequest,
  forceRequest,
  maintenanceRequest,
  preemptRequest,
  sendBackRequest,
  warnRequest,
} from './requests.js';

/** Actions of the provider on one slice. */

export function preempt({ cloud, compute }: AdminParts, body: unknown): object {
  const { name, notice, noticeMs, mode } = parse(preemptRequest, body);
  const vm = findVm(compute, name);
  if (vm !== undefined) {
    const { guestNoticeMs } = cloud.state.settings;
    const isTold = notice === true || mode === 'signal';
    compute.preempt(liveVm(vm), noticeMs ?? (isTold ? draw(guestNoticeMs, cloud.records.context.random) : 0));
    return { name: vm.path, state: vm.resource.status, preemptAt: vm.dueAt };
  }
  const node = liveNode(findNode(cloud, name), 'preempted');
  if (notice === true || noticeMs !== undefined) {
    cloud.maintenance.announcePreemption(node, noticeMs ?? cloud.lifecycle.drawNotice());
  } else if (mode === 'signal') {
    cloud.maintenance.signalPreemption(node);
  } else if (mode !== 'vanish' && cloud.state.settings.preemptedLagMs !== 0) {
    cloud.maintenance.cutPower(node);
  } else {
    cloud.preempt(node, mode ?? 'preempted');
  }
  return { name: node.resource.name, state: node.resource.state, preemptAt: node.preemptAt };
}

/** Sets UNHEALTHY_MAINTENANCE, as before a preemption, but no preemption follows. The warning may clear again. */
export function warn({ cloud }: AdminParts, body: unknown): object {
  const { name, clearAfterMs, clear } = parse(warnRequest, body);
  const node = liveNode(findNode(cloud, name), 'warned');
  if (clear === true) cloud.lifecycle.nodes.clearWarning(node);
  else cloud.maintenance.warn(node, clearAfterMs);
  return { name: node.resource.name, health: node.resource.health };
}

/** `announce`: the guests are notified, and the notice clears. `repair`: REPAIRING, then READY again. */
export function maintenance({ cloud }: AdminParts, body: unknown): object {
  const { name, kind, workers } = parse(maintenanceRequest, body);
  const node = findNode(cloud, name);
  const stranger = workers?.find((worker) => worker >= node.hosts.length);
  if (stranger !== undefined) {
    throw new AdminError(404, `${node.resource.name} has ${node.hosts.length} hosts, no worker ${stranger}`);
  }
  if (kind === 'announce') cloud.maintenance.announceMaintenance(liveNode(node, 'maintained'), workers);
  else asAdminError(() => cloud.performMaintenance(node.resource.name));
  return { name: node.resource.name, state: node.resource.state };
}

/** The service gives up on a request that waits, or that stalls in PROVISIONING. The request stays, as FAILED. */
export function failRequest({ cloud }: AdminParts, body: unknown): object {
  const { name, code, message } = parse(failRequestRequest, body);
  const record = findQueuedResource(cloud, name);
  const error = new ApiError(findStatus(code ?? 'INTERNAL') ?? 'INTERNAL', message ?? 'an internal error has occurred');
  if (!cloud.giveUp(record, { code: error.code, message: error.message })) {
    const { state } = record.resource.state;
    throw new AdminError(409, `${record.resource.name} is ${state}: only one that waits or is PROVISIONING can fail`);
  }
  return { name: record.resource.name, state: record.resource.state.state };
}

/** Takes back the chips that a request was promised, as in a drought. The request waits again. */
export function sendBack({ cloud }: AdminParts, body: unknown): object {
  const record = findQueuedResource(cloud, parse(sendBackRequest, body).name);
  if (!cloud.sendBack(record)) {
    const { state } = record.resource.state;
    throw new AdminError(409, `${record.resource.name} is ${state}: only one that is PROVISIONING goes back`);
  }
  return { name: record.resource.name, state: record.resource.state.state };
}

/** Sets any state, including those that nothing here causes, such as TERMINATED or HIDDEN. */
export function force({ cloud, compute }: AdminParts, body: unknown): object {
  const { name, state, health, symptoms } = parse(forceRequest, body);
  const vm = findVm(compute, name);
  if (vm !== undefined) {
    const status = VM_STATUSES.find((known) => known === (state === 'READY' ? 'RUNNING' : state));
    if (status === undefined) throw new AdminError(400, `${vm.path} is a VM, which has no state ${state}`);
    compute.force(vm, status);
    return { name: vm.path, state: vm.resource.status };
  }
  if (state === 'STOPPING' || state === 'SUSPENDING' || state === 'SUSPENDED')
    throw new AdminError(400, `${name} is no VM of Compute Engine: no node is forced to be ${state}`);
  const node = findNode(cloud, name);
  cloud.force(node, state, { ...(health && { health }), ...(symptoms && { symptoms }) });
  return { name: node.resource.name, state: node.resource.state };
}

function asAdminError<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw error instanceof ApiError ? new AdminError(409, error.message) : error;
  }
}

function liveVm(vm: VmRecord): VmRecord {
  if (['STAGING', 'RUNNING', 'REPAIRING'].includes(vm.resource.status)) return vm;
  throw new AdminError(409, `${vm.path} is ${vm.resource.status}: only a live VM can be preempted`);
}

function liveNode(node: NodeRecord, what: string): NodeRecord {
  if (LIVE.includes(node.resource.state)) return node;
  throw new AdminError(409, `${node.resource.name} is ${node.resource.state}: only a live node can be ${what}`);
}
