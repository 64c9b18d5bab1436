import type { JsonObject, JsonValue } from '../json.js';
import { asObject, asString } from '../json.js';
import { lastSegment } from '../tpu/resource-name.js';
import { computeErrors } from './errors.js';

const COMPUTE = 'https://www.googleapis.com/compute/v1/';
export const linkOf = (path: string): string => `${COMPUTE}${path}`;

/** Returns `projects/P/zones/Z/..` for a full URL, a partial one, or a path. */
export const pathOfLink = (link: string): string => link.replace(/^https?:\/\/[^/]+\/compute\/[^/]+\//, '');

/** Families of machine types (cloud.google.com/compute/docs/machine-resource, 2026): sizes are not checked. */
const FAMILIES = /^(a2|a3|a4|a4x|c2|c2d|c3|c3d|c4|c4a|c4d|e2|f1|g1|g2|g4|h3|m1|m2|m3|n1|n2|n2d|n4|t2a|t2d|z3|custom)-/;
/** Families that include GPUs. */
const WITH_GPUS = /^(a2|a3|a4|a4x|g2|g4)-/;

/** Checked image families of Google's public projects. Any image of another project is accepted. */
const FAMILIES_OF: Readonly<Record<string, RegExp>> = {
  'debian-cloud': /^debian-1[1-3](-arm64)?$/,
  'ubuntu-os-cloud': /^ubuntu-(minimal-)?2[24]04-lts/,
};

export const isOffered = (machineType: string, offered?: readonly string[]): boolean =>
  offered?.includes(machineType) ?? FAMILIES.test(machineType);

/**
 * Checks a request as Google would.
 * @param offered machine types of the zone; absent: those of every known family
 * @throws ApiError
 */
export function checkInstance(
  request: JsonObject,
  project: string,
  zone: string,
  offered?: readonly string[],
): { readonly machineType: string } {
  const name = asString(request['name']);
  if (!/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    const why = "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'";
    throw computeErrors.invalid('resource.name', name, why);
  }
  const link = asString(request['machineType']);
  const machineType = lastSegment(link);
  if (!isOffered(machineType, offered)) throw computeErrors.unknownMachineType(link, machineType, zone);
  checkScheduling(request, machineType);
  for (const disk of listOf(request['disks']))
    checkImage(asString(asObject(disk['initializeParams'])['sourceImage']), project);
  return { machineType };
}

function checkScheduling(request: JsonObject, machineType: string): void {
  const scheduling = asObject(request['scheduling']);
  const isTerminated = asString(scheduling['onHostMaintenance']) === 'TERMINATE';
  const isSpot = scheduling['provisioningModel'] === 'SPOT';
  const hasGpus = WITH_GPUS.test(machineType) || acceleratorsOf(request) > 0;
  // A Spot VM is terminated on maintenance if its request says nothing.
  if (hasGpus && !isTerminated && !(isSpot && scheduling['onHostMaintenance'] === undefined))
    throw computeErrors.noLiveMigration();
  if (scheduling['preemptible'] === true && scheduling['onHostMaintenance'] === 'MIGRATE')
    throw computeErrors.preemptibleMigrates();
}

const acceleratorsOf = (request: JsonObject): number =>
  listOf(request['guestAccelerators']).reduce((sum, { acceleratorCount }) => sum + Number(acceleratorCount ?? 0), 0);

function checkImage(link: string, own: string): void {
  if (link === '') return;
  const path = pathOfLink(link);
  const [, project = own] = /^projects\/([^/]+)\//.exec(path) ?? [];
  const family = /\/images\/family\/([^/]+)$/.exec(path)?.[1];
  if (family !== undefined && FAMILIES_OF[project]?.test(family) === false) throw computeErrors.notFound(path);
}

/** Units that a VM uses under each of Compute Engine's quota metrics. */
export function quotaUse(request: JsonObject, machineType: string): Readonly<Record<string, number>> {
  const isSpot = asObject(request['scheduling'])['provisioningModel'] === 'SPOT';
  const cpus = Number(/-(\d+)g?$/.exec(machineType)?.[1] ?? 1);
  const gpus = WITH_GPUS.test(machineType) ? Math.max(1, acceleratorsOf(request)) : acceleratorsOf(request);
  return { CPUS: isSpot ? 0 : cpus, PREEMPTIBLE_CPUS: isSpot ? cpus : 0, GPUS_ALL_REGIONS: gpus };
}

export interface InstanceParts {
  readonly path: string;
  readonly id: string;
  readonly request: JsonObject;
  readonly address: string;
  readonly now: number;
}

/** The resource that a request creates, with Compute Engine's defaults. */
export function makeInstance({ path, id, request, address, now }: InstanceParts) {
  const [, project = '', , zone = '', , name = ''] = path.split('/');
  const machineType = lastSegment(asString(request['machineType']));
  return {
    kind: 'compute#instance',
    ...request,
    id,
    name,
    creationTimestamp: new Date(now).toISOString(),
    status: 'PROVISIONING' as const,
    zone: linkOf(`projects/${project}/zones/${zone}`),
    machineType: linkOf(`projects/${project}/zones/${zone}/machineTypes/${machineType}`),
    selfLink: linkOf(path),
    cpuPlatform: 'Unknown CPU Platform',
    metadata: {
      kind: 'compute#metadata',
      // gcloud crashes on a fingerprint that is not base64 (docs/facts.md, "gcloud and the VMs").
      fingerprint: Buffer.from('rehearsal').toString('base64'),
      items: listOf(asObject(request['metadata'])['items']),
    },
    tags: { fingerprint: Buffer.from('tags').toString('base64'), ...asObject(request['tags']) },
    labelFingerprint: Buffer.from('labels').toString('base64'),
    disks: listOf(request['disks']).map((disk, index) => diskOf(disk, index, { project, zone, name })),
    networkInterfaces: networkInterfaces(request, address, { project, zone }),
    scheduling: schedulingOf(asObject(request['scheduling'])),
  };
}

function diskOf(
  disk: JsonObject,
  index: number,
  { project, zone, name }: Readonly<Record<'project' | 'zone' | 'name', string>>,
): JsonObject {
  const { initializeParams: _initialize, ...rest } = disk;
  const own = index === 0 ? name : `${name}-${index}`;
  return {
    kind: 'compute#attachedDisk',
    type: 'PERSISTENT',
    mode: 'READ_WRITE',
    interface: 'SCSI',
    deviceName: `persistent-disk-${index}`,
    index,
    boot: index === 0,
    ...rest,
    source: asString(disk['source']) || linkOf(`projects/${project}/zones/${zone}/disks/${own}`),
  };
}

/** The request's interfaces, or one in the default network. A rehearsed VM has one address, used as internal and external. */
function networkInterfaces(
  request: JsonObject,
  address: string,
  { project, zone }: { readonly project: string; readonly zone: string },
): readonly JsonObject[] {
  const asked = listOf(request['networkInterfaces']);
  const region = zone.replace(/-[a-z]$/, '');
  return (asked.length === 0 ? [{}] : asked).map((nic, index) => {
    const configs = listOf(nic['accessConfigs']);
    return {
      kind: 'compute#networkInterface',
      name: `nic${index}`,
      network: linkOf(`projects/${project}/global/networks/${lastSegment(asString(nic['network']) || 'default')}`),
      subnetwork: linkOf(
        `projects/${project}/regions/${region}/subnetworks/${lastSegment(asString(nic['subnetwork']) || 'default')}`,
      ),
      networkIP: address,
      stackType: 'IPV4_ONLY',
      fingerprint: Buffer.from('nic').toString('base64'),
      ...(configs.length > 0 && {
        accessConfigs: configs.map((config) => ({
          kind: 'compute#accessConfig',
          type: 'ONE_TO_ONE_NAT',
          name: 'external-nat',
          networkTier: 'PREMIUM',
          ...config,
          natIP: address,
        })),
      }),
    };
  });
}

function schedulingOf(asked: JsonObject): JsonObject {
  const isSpot = asked['provisioningModel'] === 'SPOT';
  return {
    onHostMaintenance: isSpot ? 'TERMINATE' : 'MIGRATE',
    automaticRestart: !isSpot,
    preemptible: isSpot,
    provisioningModel: 'STANDARD',
    ...(isSpot && { instanceTerminationAction: 'STOP' }),
    ...asked,
  };
}

export function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}
