import type { NodeRecord, NodeState } from '../tpu/model.js';
import { asObject, asString } from '../json.js';
import { listOf } from './instance.js';
import type { VmRecord, VmStatus } from './model.js';

/** What its fleet does with a VM in each status, in the words of a node. A VM that is PROVISIONING is not there yet. */
const STATES: Readonly<Record<Exclude<VmStatus, 'PROVISIONING'>, NodeState>> = {
  STAGING: 'CREATING',
  RUNNING: 'READY',
  STOPPING: 'READY',
  TERMINATED: 'TERMINATED',
  REPAIRING: 'REPAIRING',
  SUSPENDING: 'READY',
  SUSPENDED: 'REPAIRING',
};

/** The VMs of Compute Engine as the fleet runs them: each like a node of one host, which has no TPU. */
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
