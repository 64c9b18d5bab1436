import type { NodeRecord, NodeState } from '../tpu/model.js';
import { asObject, asString } from '../json.js';
import { listOf } from './instance.js';
import type { VmRecord, VmStatus } from './model.js';

/** The node state that the fleet applies for each VM status. A VM in PROVISIONING does not exist yet. */
const STATES: Readonly<Record<Exclude<VmStatus, 'PROVISIONING'>, NodeState>> = {
  STAGING: 'CREATING',
  RUNNING: 'READY',
  STOPPING: 'READY',
  TERMINATED: 'TERMINATED',
  REPAIRING: 'REPAIRING',
  SUSPENDING: 'READY',
  SUSPENDED: 'REPAIRING',
};

/** Compute Engine's VMs in the form that the fleet runs: each is like a node with one host and no TPU. */
export function asNodes(vms: readonly VmRecord[]): readonly NodeRecord[] {
  return vms.flatMap((vm) => {
    const { status } = vm.resource;
    return status === 'PROVISIONING' || (status === 'STOPPING' && !vm.isBooted) ? [] : [asNode(vm, STATES[status])];
  });
}

function asNode(
  { path, resource, host, notice, power, isBooted, machineType }: VmRecord,
  state: NodeState,
): NodeRecord {
  const items = listOf(asObject(resource['metadata'])['items']);
  const scheduling = asObject(resource['scheduling']);
  const [account] = listOf(resource['serviceAccounts']);
  const email = asString(account?.['email']);
  return {
    resource: {
      name: path,
      id: resource.id,
      state,
      acceleratorType: '',
      health: 'HEALTHY',
      networkEndpoints: [],
      machineType,
      metadata: Object.fromEntries(items.map(({ key, value }) => [asString(key), asString(value)])),
      schedulingConfig: { spot: scheduling['provisioningModel'] === 'SPOT', preemptible: scheduling['preemptible'] },
      ...(account && { serviceAccount: { email: email === 'default' ? '' : email, scope: account['scopes'] } }),
    },
    chips: 0,
    tier: 'on-demand',
    hosts: [host],
    isBooted,
    isReclaimed: false,
    notice,
    power,
    operations: [],
  };
}
