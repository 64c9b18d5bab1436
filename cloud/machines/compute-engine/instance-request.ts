import { createHash } from 'node:crypto';
import { labelsOf } from '../../../domain/identity.js';
import { vmNames, type ComputeEnginePlan, gpusOf } from '../../../domain/machine-kinds/compute-engine/words.js';
import { zonePath } from './compute-api.js';

/** Labels that name a VM's slice, beside those of its ownership. */
export const SLICE_LABEL = 'jobctl-slice';
export const VMS_LABEL = 'jobctl-vms';

export interface VmRequest {
  readonly name: string;
  /** A UUID derived from the plan: it is the same however often the request is made. */
  readonly requestId: string;
  readonly body: object;
}

/** The requests for all VMs of a slice, by host. @throws RangeError if the ownership does not fit into labels */
export function vmRequests(plan: ComputeEnginePlan): readonly VmRequest[] {
  const { ref, ownership } = plan;
  const names = vmNames(ref);
  const labels = {
    ...plan.labels,
    // Our labels come last, so that no label of the user can change the owner of the VM.
    ...labelsOf(ownership),
    [SLICE_LABEL]: ref.name,
    [VMS_LABEL]: String(ref.vms),
  };
  return names.map((name) => ({
    name,
    requestId: uuidOf(JSON.stringify([zonePath(ref), name, ownership])),
    body: { ...instanceOf(plan), name, labels },
  }));
}

/** A UUID of version 8, which leaves the bits to its maker (RFC 9562). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function instanceOf(plan: ComputeEnginePlan): object {
  const { ref, machineType, accelerator, metadata, tags } = plan;
  const zonal = `zones/${ref.zone}`;
  return {
    description: `jobctl job ${plan.ownership.job}`,
    machineType: `${zonal}/machineTypes/${machineType}`,
    ...(accelerator && {
      guestAccelerators: [
        {
          acceleratorType: `${zonePath(ref)}/acceleratorTypes/${accelerator.type}`,
          acceleratorCount: accelerator.count,
        },
      ],
    }),
    disks: [bootDisk(plan), ...(plan.dataDisks ?? []).map((disk) => attachedDisk(disk, plan))],
    networkInterfaces: [networkInterface(plan)],
    serviceAccounts: [
      { email: plan.serviceAccount ?? 'default', scopes: plan.scopes?.length ? plan.scopes : [ALL_OF_GOOGLE_CLOUD] },
    ],
    scheduling: schedulingOf(plan),
    ...(plan.pricing === 'reserved' && { reservationAffinity: reservationAffinity(plan) }),
    tags: { items: tags },
    // The agent then writes the VM's host keys, by which the first connection recognizes the VM.
    metadata: { items: itemsOf({ 'enable-guest-attributes': 'TRUE', ...metadata }) },
  };
}

const ALL_OF_GOOGLE_CLOUD = 'https://www.googleapis.com/auth/cloud-platform';

const itemsOf = (metadata: Readonly<Record<string, string>>) =>
  Object.entries(metadata).map(([key, value]) => ({ key, value }));

/** Deleted with its VM. */
const bootDisk = ({ image, diskGb, diskType, ref }: ComputeEnginePlan) => ({
  boot: true,
  autoDelete: true,
  initializeParams: {
    sourceImage: image,
    ...(diskGb !== undefined && { diskSizeGb: String(diskGb) }),
    ...(diskType !== undefined && { diskType: `zones/${ref.zone}/diskTypes/${diskType}` }),
  },
});

/** An existing disk, which outlives the VM. */
const attachedDisk = (
  { source, mode }: NonNullable<ComputeEnginePlan['dataDisks']>[number],
  { ref }: ComputeEnginePlan,
) => ({
  source: source.includes('/') ? source : `${zonePath(ref)}/disks/${source}`,
  mode: mode === 'read-only' ? 'READ_ONLY' : 'READ_WRITE',
  autoDelete: false,
});

function networkInterface({ ref, network, subnetwork, externalIps }: ComputeEnginePlan): object {
  const { googleProject, zone } = ref;
  const region = zone.slice(0, zone.lastIndexOf('-'));
  const isPath = (reference: string): boolean => reference.includes('/');
  return {
    ...(network !== undefined && { network: isPath(network) ? network : `global/networks/${network}` }),
    ...(subnetwork !== undefined && {
      subnetwork: isPath(subnetwork)
        ? subnetwork
        : `projects/${googleProject}/regions/${region}/subnetworks/${subnetwork}`,
    }),
    ...(externalIps && { accessConfigs: [{ type: 'ONE_TO_ONE_NAT', name: 'External NAT' }] }),
  };
}

/**
 * A VM is never restarted automatically: it would look as before but have lost its processes. Spot VMs and those with GPUs cannot
 * move to another machine while they run; Google refuses a request that does not say so.
 */
function schedulingOf(plan: ComputeEnginePlan): object {
  const { pricing } = plan;
  // A tier may have this pricing, but no request of jobctl's to Compute Engine waits in a queue.
  if (pricing === 'flex-start') throw new RangeError('pricing: flex-start is for Cloud TPU, and these are VMs');
  const isPreemptible = pricing === 'spot' || pricing === 'preemptible';
  const onHostMaintenance = isPreemptible || gpusOf(plan) !== undefined ? 'TERMINATE' : 'MIGRATE';
  return {
    automaticRestart: false,
    onHostMaintenance,
    ...(pricing === 'spot' && { provisioningModel: 'SPOT', instanceTerminationAction: 'DELETE' }),
    ...(isPreemptible && { preemptible: true }),
  };
}

function reservationAffinity({ reservation }: ComputeEnginePlan): object {
  if (reservation === undefined) return { consumeReservationType: 'ANY_RESERVATION' };
  return {
    consumeReservationType: 'SPECIFIC_RESERVATION',
    key: 'compute.googleapis.com/reservation-name',
    values: [reservation],
  };
}
