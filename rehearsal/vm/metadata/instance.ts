import type { Generation } from '../../tpu/accelerators.js';
import { GENERATION_FACTS } from '../../tpu/accelerators.js';

/** Facts that one TPU VM's metadata server tells. Rebuilt whenever one of them has changed. */
export interface InstanceFacts {
  readonly project: { readonly id: string; readonly number: string };
  /** Attributes of the project: `ssh-keys`, `enable-oslogin` .. */
  readonly projectAttributes: Readonly<Record<string, string>>;
  readonly zone: string;
  /** Id of the node. */
  readonly nodeId: string;
  readonly nodeName: string;
  readonly acceleratorType: string;
  /** Chips per axis, such as `4x4`. */
  readonly topology: string;
  readonly runtimeVersion: string;
  /** Metadata that the node was created with, or given later. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly workerIndex: number;
  /** Addresses of all workers, in order. */
  readonly addresses: readonly string[];
  readonly hostname: string;
  readonly isPreemptible: boolean;
  readonly isPreempted: boolean;
  readonly isMaintained: boolean;
  readonly slices?: { readonly coordinator: string; readonly count: number; readonly index: number } | undefined;
  readonly serviceAccount?: ServiceAccountFacts | undefined;
  /** Set for a VM of Compute Engine, which has no TPU. */
  readonly machine?: { readonly type: string; readonly id: string } | undefined;
}

export interface ServiceAccountFacts {
  readonly email: string;
  /** URLs. */
  readonly scopes: readonly string[];
}

/** Keys as in the JSON of `?recursive=true`. In a path, keys have dashes instead, but names of attributes stay as they are. */
export type MetadataTree = { readonly [key: string]: MetadataValue };
export type MetadataValue = string | number | MetadataTree | readonly MetadataValue[];

/**
 * The folders instance/ and project/. Keys are as Google's clients and public scripts read them; maintenance-event is as in
 * Google's `getting-live-migration-notice` (a stored copy, read 2026-11-21). Not compared with a real VM.
 */
export function metadataTree(facts: InstanceFacts): MetadataTree {
  const { project, zone } = facts;
  return {
    instance: {
      attributes: { ...facts.attributes, ...(facts.machine === undefined && tpuAttributes(facts)) },
      description: '',
      disks: [{ deviceName: 'persistent-disk-0', index: 0, interface: 'SCSI', mode: 'READ_WRITE', type: 'PERSISTENT' }],
      hostname: `${facts.hostname}.${zone}.c.${project.id}.internal`,
      id: facts.machine === undefined ? instanceId(facts) : Number(facts.machine.id),
      image: '',
      licenses: [],
      machineType: `projects/${project.number}/machineTypes/${facts.machine?.type ?? machineType(facts)}`,
      maintenanceEvent: facts.isMaintained ? 'TERMINATE_ON_HOST_MAINTENANCE' : 'NONE',
      name: facts.hostname,
      networkInterfaces: [networkInterface(facts)],
      preempted: facts.isPreempted ? 'TRUE' : 'FALSE',
      remainingCpuTime: -1,
      scheduling: {
        automaticRestart: 'FALSE',
        onHostMaintenance: 'TERMINATE',
        preemptible: facts.isPreemptible ? 'TRUE' : 'FALSE',
      },
      serviceAccounts: serviceAccounts(facts.serviceAccount),
      tags: [],
      zone: `projects/${project.number}/zones/${zone}`,
    },
    project: {
      attributes: facts.projectAttributes,
      numericProjectId: Number(project.number),
      projectId: project.id,
    },
    universe: { universeDomain: 'googleapis.com' },
  };
}

/** Attributes for the TPU's own agent (JAX's cloud_tpu_init reads them; docs/facts.md, "gcloud and the VMs"). */
function tpuAttributes(facts: InstanceFacts): Readonly<Record<string, string>> {
  return {
    'accelerator-type': facts.acceleratorType,
    'agent-worker-number': String(facts.workerIndex),
    // JAX takes the third part; the first two are as in public scripts.
    'worker-network-endpoints': facts.addresses.map((address) => `unknown:unknown:${address}`).join(','),
    'tpu-env': tpuEnv(facts),
  };
}

function tpuEnv(facts: InstanceFacts): string {
  const { slices, topology } = facts;
  const bounds = hostBounds(topology, facts.addresses.length);
  const values: Readonly<Record<string, string>> = {
    ACCELERATOR_TYPE: facts.acceleratorType,
    CHIPS_PER_HOST_BOUNDS: bounds.chipsPerHost,
    CONSUMER_PROJECT_ID: facts.project.id,
    HOST_BOUNDS: bounds.hosts,
    NODE_ID: facts.nodeName,
    PREEMPTIBLE: String(facts.isPreemptible),
    RUNTIME_VERSION: facts.runtimeVersion,
    TOPOLOGY: topology,
    TPU_CHIPS_PER_PROCESS_BOUNDS: bounds.chipsPerHost,
    TPU_PROCESS_BOUNDS: bounds.hosts,
    TYPE: GENERATION_FACTS[generationOf(facts) as Generation]?.apiEnum ?? '',
    WORKER_ID: String(facts.workerIndex),
    ZONE: facts.zone,
    ...(slices !== undefined && {
      MEGASCALE_COORDINATOR_ADDRESS: `${slices.coordinator}:8080`,
      MEGASCALE_NUM_SLICES: String(slices.count),
      MEGASCALE_SLICE_ID: String(slices.index),
    }),
  };
  return Object.entries(values)
    .map(([key, value]) => `${key}: '${value}'\n`)
    .join('');
}

/** Layout of the hosts in the slice's topology: chips of one host, and hosts, per axis. Three axes, as libtpu reads them. */
export function hostBounds(topology: string, hosts: number): { readonly chipsPerHost: string; readonly hosts: string } {
  const axes = axesOf(topology);
  const chips = productOf(axes);
  // A host of a larger slice holds 2 x 2 chips; a host that is the whole slice holds all of it.
  const perHost = hosts === 1 ? axes : [2, 2, ...axes.slice(2).map(() => 1)];
  const three = (values: readonly number[]): string => [...values, 1, 1, 1].slice(0, 3).join(',');
  const isWhole = productOf(perHost) * hosts === chips;
  if (!isWhole) return { chipsPerHost: three([chips / hosts]), hosts: three([hosts]) };
  return { chipsPerHost: three(perHost), hosts: three(axes.map((axis, index) => axis / (perHost[index] ?? 1))) };
}

const axesOf = (topology: string): readonly number[] => topology.split('x').map(Number);
const productOf = (numbers: readonly number[]): number => numbers.reduce((product, each) => product * each, 1);

const MACHINE_FAMILIES: Readonly<Record<string, string>> = {
  v4: 'ct4p-hightpu',
  v5litepod: 'ct5lp-hightpu',
  v5p: 'ct5p-hightpu',
  v6e: 'ct6e-standard',
};

function machineType(facts: InstanceFacts): string {
  const family = MACHINE_FAMILIES[generationOf(facts)];
  const chips = productOf(axesOf(facts.topology));
  return family === undefined ? 'n1-standard-96' : `${family}-${chips / facts.addresses.length}t`;
}

function generationOf(facts: InstanceFacts): string {
  return facts.acceleratorType.split('-')[0] ?? '';
}

/** A number below 2^53, so that JSON keeps it exactly. */
function instanceId({ nodeId, workerIndex }: InstanceFacts): number {
  return Number((BigInt(nodeId) * 4096n + BigInt(workerIndex)) % BigInt(Number.MAX_SAFE_INTEGER));
}

function networkInterface({ addresses, workerIndex, project }: InstanceFacts): MetadataTree {
  const ip = addresses[workerIndex] ?? '';
  return {
    accessConfigs: [],
    dnsServers: ['169.254.169.254'],
    gateway: '',
    ip,
    mac: `42:01:${ip
      .split('.')
      .map((part) => Number(part).toString(16).padStart(2, '0'))
      .join(':')}`,
    mtu: 1460,
    network: `projects/${project.number}/networks/default`,
    subnetmask: '255.255.0.0',
  };
}

function serviceAccounts(account: ServiceAccountFacts | undefined): MetadataTree {
  if (account === undefined) return {};
  const { email, scopes } = account;
  return { [email]: { aliases: ['default'], email, scopes }, default: { aliases: ['default'], email, scopes } };
}
