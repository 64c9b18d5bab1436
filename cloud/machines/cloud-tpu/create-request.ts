import type { protos } from '@google-cloud/tpu';
import { findAccelerator, GENERATION_FACTS } from '../../../domain/accelerators.js';
import { labelsOf, runLabel } from '../../../domain/identity.js';
import type { CloudTpuPlan, CloudTpuRef, DataDisk } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import { requestNameOf } from '../../../domain/machines.js';
import { nodeName } from '../../../domain/machine-kinds/cloud-tpu/adoption.js';
import type { Pricing } from '../../../domain/slice.js';

type Node = protos.google.cloud.tpu.v2.INode;
type AttachedDisk = protos.google.cloud.tpu.v2.IAttachedDisk;
type CreateNodeRequest = protos.google.cloud.tpu.v2.ICreateNodeRequest;
type CreateQueuedResourceRequest = protos.google.cloud.tpu.v2.ICreateQueuedResourceRequest;

export const zonePath = (googleProject: string, zone: string): string => `projects/${googleProject}/locations/${zone}`;
/** The path of a ref to one node. */
export const nodePath = ({ googleProject, zone, ...named }: CloudTpuRef): string =>
  `${zonePath(googleProject, zone)}/nodes/${nodeName(named)}`;
/** The path of the queued resource itself, or of the one that a node belongs to. */
export const queuedResourcePath = (ref: CloudTpuRef): string =>
  `${zonePath(ref.googleProject, ref.zone)}/queuedResources/${requestNameOf(ref)}`;

/** The request for a node without a queue (`tpu-vm`). @throws RangeError if the ownership does not fit into labels */
export function createNodeRequest(plan: CloudTpuPlan): CreateNodeRequest {
  const { googleProject, zone, name } = plan.ref;
  const node = { ...nodeOf(plan), schedulingConfig: schedulingOf(plan.pricing) };
  return { parent: zonePath(googleProject, zone), nodeId: name, node };
}

/**
 * The request for a queued resource with one node of the same name, or with several that are named by it and a number. Google
 * also calls those a multislice; it is granted whole or not at all. `preemptible` has no tier in v2 and stays a property of the
 * node, as for `tpu-vm`.
 * @throws RangeError if the ownership does not fit into labels
 */
export function createQueuedResourceRequest(plan: CloudTpuPlan): CreateQueuedResourceRequest {
  const { googleProject, zone, name } = plan.ref;
  const parent = zonePath(googleProject, zone);
  const { validUntilSeconds } = plan;
  const node = { ...nodeOf(plan), ...(plan.pricing === 'preemptible' && { schedulingConfig: { preemptible: true } }) };
  return {
    parent,
    queuedResourceId: name,
    queuedResource: {
      tpu: { nodeSpec: [{ parent, ...nodeIdsOf(plan.ref), node }] },
      ...(validUntilSeconds && { queueingPolicy: { validUntilDuration: { seconds: validUntilSeconds } } }),
      ...tierOf(plan, parent),
    },
  };
}

/** A request that only v2alpha1 takes, and only over REST: Google's protos do not have its fields (docs/adr/0117). */
export interface AlphaRequest {
  readonly parent: string;
  readonly queuedResourceId: string;
  /** JSON. */
  readonly queuedResource: object;
}

/** The same request as a body of v2alpha1; undefined if v2 can express the plan. @throws RangeError for the same reason */
export function createAlphaRequest(plan: CloudTpuPlan): AlphaRequest | undefined {
  const { ref, runSeconds, validUntilSeconds } = plan;
  const model = modelOf(plan);
  if (model === undefined) return undefined;
  const { parent, queuedResource } = createQueuedResourceRequest(plan);
  const { reservationName } = queuedResource ?? {};
  const [spec] = queuedResource?.tpu?.nodeSpec ?? [];
  const { multisliceParams: multiNodeParams, ...one } = spec ?? {};
  return {
    parent: parent ?? '',
    queuedResourceId: ref.name,
    queuedResource: {
      provisioningModel: model,
      ...(runSeconds && { runDuration: { maxRunDuration: `${runSeconds}s` } }),
      ...(reservationName && { reservationName }),
      ...(validUntilSeconds && { queueingPolicy: { validUntilDuration: `${validUntilSeconds}s` } }),
      tpu: { nodeSpec: [{ ...one, ...(multiNodeParams && { multiNodeParams }) }] },
    },
  };
}

/** A provisioning model for which v2 has no field. */
function modelOf({ pricing, reservationBound }: CloudTpuPlan): 'FLEX_START' | 'RESERVATION_BOUND' | undefined {
  if (pricing === 'flex-start') return 'FLEX_START';
  return pricing === 'reserved' && reservationBound ? 'RESERVATION_BOUND' : undefined;
}

/** The same names as `nodeRefs` makes of the ref. */
function nodeIdsOf({ name, slices }: CloudTpuRef): protos.google.cloud.tpu.v2.QueuedResource.Tpu.INodeSpec {
  return slices === undefined ? { nodeId: name } : { multisliceParams: { nodeCount: slices, nodeIdPrefix: name } };
}

/** Like gcloud's requests: on demand has no tier. An unnamed reservation is `-`, any of the project's (gcloud's `--reserved`). */
function tierOf(plan: CloudTpuPlan, parent: string): protos.google.cloud.tpu.v2.IQueuedResource {
  switch (plan.pricing) {
    case 'spot':
      return { spot: {} };
    case 'reserved':
      return { reservationName: reservationPath(plan.reservation ?? '-', parent) };
    case 'ondemand':
    case 'preemptible':
    case 'flex-start':
      return {};
  }
}

/**
 * A bare name is a reservation of the slice's project. `projects/OWNER/reservations/NAME` is another project's, in the slice's
 * zone. `-` is any.
 */
function reservationPath(reservation: string, parent: string): string {
  const [holders, holder, reservations, name] = reservation.split('/');
  if (holder === undefined) return `${parent}/reservations/${reservation}`;
  if (reservations !== 'reservations') return reservation;
  return `${holders}/${holder}${parent.slice(parent.indexOf('/locations/'))}/reservations/${name}`;
}

function schedulingOf(pricing: Pricing): protos.google.cloud.tpu.v2.ISchedulingConfig {
  return { spot: pricing === 'spot', preemptible: pricing === 'preemptible', reserved: pricing === 'reserved' };
}

function nodeOf(plan: CloudTpuPlan): Node {
  const { network, subnetwork, externalIps, tags, labels, metadata } = plan;
  return {
    description: `jobctl job ${plan.ownership.job}`,
    ...acceleratorOf(plan),
    runtimeVersion: plan.runtimeVersion,
    networkConfig: { ...(network && { network }), ...(subnetwork && { subnetwork }), enableExternalIps: externalIps },
    ...serviceAccountOf(plan),
    ...(plan.dataDisks && { dataDisks: plan.dataDisks.map((disk) => attachedDisk(disk, plan.ref)) }),
    ...(tags.length > 0 && { tags: [...tags] }),
    metadata: { ...metadata },
    // Our labels come last, so that no label of the user can change the owner of the slice.
    labels: { ...labels, ...(plan.runSeconds && runLabel(plan.runSeconds)), ...labelsOf(plan.ownership) },
  };
}

/** Without a name Google takes Compute Engine's default service account. */
function serviceAccountOf({ serviceAccount, scopes }: CloudTpuPlan): Node {
  const email = serviceAccount === 'default' ? undefined : serviceAccount;
  if (email === undefined && scopes === undefined) return {};
  return { serviceAccount: { ...(email && { email }), ...(scopes && { scope: [...scopes] }) } };
}

/** The API wants a disk's full path. */
function attachedDisk({ source, mode }: DataDisk, { googleProject, zone }: CloudTpuRef): AttachedDisk {
  const sourceDisk = source.includes('/') ? source : `projects/${googleProject}/zones/${zone}/disks/${source}`;
  return { sourceDisk, mode: mode === 'read-only' ? 'READ_ONLY' : 'READ_WRITE' };
}

/** Google takes a type's name, or a generation with a topology, never both. */
function acceleratorOf({ accelerator, topology }: CloudTpuPlan): Node {
  const known = findAccelerator(accelerator);
  if (topology === undefined || known === undefined || topology === known.topology)
    return { acceleratorType: accelerator };
  // Type is an enum in the generated code and a name on the wire; the client accepts both.
  const type = GENERATION_FACTS[known.generation]
    .apiEnum as keyof typeof protos.google.cloud.tpu.v2.AcceleratorConfig.Type;
  return { acceleratorConfig: { type, topology } };
}
