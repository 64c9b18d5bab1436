import {
  type BucketFacts,
  type EffectivePolicy,
  type FirewallRule,
  type GoogleProjectPort,
  type Identity,
  type ProjectFacts,
  type QuotaLimit,
  type RegionQuota,
  type RoleBinding,
  type SubnetworkFacts,
  GoogleCallFailed,
} from '../../cloud/google-project/port.js';
import {
  ACT_AS,
  BUCKET_PERMISSIONS,
  type NeededPermission,
  PROJECT_PERMISSIONS,
  QUOTA_PROJECT_PERMISSION,
  VM_PERMISSIONS,
} from '../../cloud/google-project/roles.js';
import type { Looked } from './finding.js';
import { regionOf } from '../../domain/job-file/cloud-path.js';
import type { AcceleratorType } from '../../domain/accelerators.js';
import type { Pricing } from '../../domain/slice.js';

/** Resources that a job file or flags ask of a Google project. */
export interface Wanted {
  /** In order of preference. Empty: nothing that depends on a zone can be checked. */
  readonly zones: readonly string[];
  readonly accelerator?: AcceleratorType;
  /** Set for a job on Compute Engine. Absent: the job is for Cloud TPU. */
  readonly vms?: WantedVms;
  readonly slices: number;
  readonly pricing: Pricing;
  readonly runtimeVersion?: string;
  /** Name of the network. Absent: `default`. A path (`projects/P/global/networks/N`) is a network of another project. */
  readonly network?: string;
  readonly subnetwork?: string;
  /** Network tags of the hosts. */
  readonly tags: readonly string[];
  readonly externalIps: boolean;
  /** Absent: the project's default service account. */
  readonly serviceAccount?: string;
  readonly bucket?: string;
  /** Bucket that only workers and servers use (docs/adr/0082). */
  readonly systemBucket?: string;
}

/** The VMs of one slice. */
export interface WantedVms {
  readonly machineType: string;
  readonly count: number;
  /** Accelerator attached to each VM. */
  readonly accelerator?: string;
  /** GPUs of each VM; `type` is the name that quota uses. */
  readonly gpus?: { readonly type: string; readonly count: number };
  /** CPUs of each VM. Absent: the machine type's name does not tell. */
  readonly cpus?: number;
}

/** The section of a job file that asks for these machines. */
export const sectionOf = ({ vms }: Pick<Wanted, 'vms'>): string => (vms === undefined ? 'tpu' : 'compute_engine');

export const hostsOf = ({ vms, accelerator, slices }: Wanted): number =>
  (vms?.count ?? accelerator?.hosts ?? 1) * slices;

export const NOTHING_IN_PARTICULAR: Wanted = { zones: [], slices: 1, pricing: 'spot', tags: [], externalIps: true };

const DEFAULT_NETWORK = 'default';

export const networkOf = ({ network }: Pick<Wanted, 'network'>): string => network ?? DEFAULT_NETWORK;

/** Google's answers about a project, as far as a `Wanted` needs them. */
export interface GoogleFacts {
  readonly googleProject: string;
  readonly identity: Looked<Identity>;
  /** Absent without a login: every further question would fail in the same way. */
  readonly rest?: ProjectAnswers;
}

export interface ProjectAnswers {
  readonly project: Looked<ProjectFacts>;
  readonly services: ReadonlyMap<string, Looked<boolean>>;
  readonly granted: Looked<readonly string[]>;
  /** Permissions on the service account of the hosts. Undefined: there is no such account. */
  readonly grantedOnAccount: Looked<readonly string[] | undefined>;
  /** Absent if its name is not known. */
  readonly serviceAccount?: string;
  readonly quotaLimits: Looked<readonly QuotaLimit[]>;
  /** Quotas of Compute Engine over all regions. Absent if no VMs are wanted. */
  readonly projectQuotas?: Looked<readonly RegionQuota[]>;
  readonly hasNetwork: Looked<boolean>;
  readonly firewallRules: Looked<readonly FirewallRule[]>;
  readonly externalIpPolicy: Looked<EffectivePolicy>;
  readonly osLoginPolicy: Looked<EffectivePolicy>;
  readonly zones: readonly ZoneAnswers[];
  /** Absent if no bucket is wanted. */
  readonly bucket?: BucketAnswers;
  readonly systemBucket?: SystemBucketAnswers;
}

export interface ZoneAnswers {
  readonly zone: string;
  readonly acceleratorTypes: Looked<readonly string[]>;
  readonly runtimeVersions: Looked<readonly string[]>;
  readonly subnetwork: Looked<SubnetworkFacts | undefined>;
  readonly regionQuotas: Looked<readonly RegionQuota[]>;
  /** Whether the zone has the wanted machine type; absent if no VMs are wanted. */
  readonly hasMachineType?: Looked<boolean>;
  readonly hasAccelerator?: Looked<boolean>;
}

export interface BucketAnswers {
  readonly name: string;
  readonly facts: Looked<BucketFacts | undefined>;
  readonly granted: Looked<readonly string[] | undefined>;
}

export interface SystemBucketAnswers extends BucketAnswers {
  readonly bindings: Looked<readonly RoleBinding[] | undefined>;
  /** Role bindings of the project. */
  readonly projectBindings: Looked<readonly RoleBinding[]>;
}

export const SERVICES = ['tpu.googleapis.com', 'compute.googleapis.com', 'storage.googleapis.com'] as const;
const servicesOf = ({ vms }: Wanted): readonly string[] => (vms === undefined ? SERVICES : SERVICES.slice(1));

/** Answer to a question that is not asked, such as one about Cloud TPU for a job on VMs. */
const NOT_ASKED = { known: false, why: 'it is not wanted' } as const;

/** Asks all questions at the same time, each once. A question that fails does not stop the others. */
export async function readFacts(google: GoogleProjectPort, wanted: Wanted): Promise<GoogleFacts> {
  const identity = await look(google.identity());
  const { googleProject } = google;
  if (!identity.known) return { googleProject, identity };
  const project = await look(google.project());
  const serviceAccount = wanted.serviceAccount ?? (project.known ? defaultAccount(project.value) : undefined);
  const needed = [...permissionsOf(wanted), QUOTA_PROJECT_PERMISSION, ACT_AS].map(({ permission }) => permission);
  const [services, granted, grantedOnAccount, network, zones, bucket, systemBucket] = await Promise.all([
    readServices(google, wanted),
    look(google.granted(needed)),
    readAccount(google, serviceAccount),
    readNetwork(google, wanted),
    Promise.all(wanted.zones.map((zone) => readZone(google, zone, wanted))),
    wanted.bucket === undefined ? undefined : readBucket(google, wanted.bucket),
    wanted.systemBucket === undefined ? undefined : readSystemBucket(google, wanted.systemBucket),
  ]);
  return {
    googleProject,
    identity,
    rest: {
      ...{ project, services, granted, grantedOnAccount, zones, ...network },
      ...(serviceAccount === undefined ? {} : { serviceAccount }),
      ...(bucket === undefined ? {} : { bucket }),
      ...(systemBucket === undefined ? {} : { systemBucket }),
    },
  };
}

/** The default service account of Compute Engine. TPU VMs run as this account if no other is named. */
const defaultAccount = ({ number }: ProjectFacts): string => `${number}-compute@developer.gserviceaccount.com`;

/** Permissions that a `Wanted` needs on the project. */
export const permissionsOf = ({ vms }: Wanted): readonly NeededPermission[] =>
  vms === undefined ? PROJECT_PERMISSIONS : VM_PERMISSIONS;

async function readServices(google: GoogleProjectPort, wanted: Wanted): Promise<ReadonlyMap<string, Looked<boolean>>> {
  const looks = servicesOf(wanted).map(
    async (service) => [service, await look(google.isServiceEnabled(service))] as const,
  );
  return new Map(await Promise.all(looks));
}

async function readAccount(
  google: GoogleProjectPort,
  email: string | undefined,
): Promise<ProjectAnswers['grantedOnAccount']> {
  if (email !== undefined) return look(google.grantedOnServiceAccount(email, [ACT_AS.permission]));
  return { known: false, why: "the project's number is not known, so its default service account is not either" };
}

type NetworkAnswers = Pick<
  ProjectAnswers,
  'quotaLimits' | 'projectQuotas' | 'hasNetwork' | 'firewallRules' | 'externalIpPolicy' | 'osLoginPolicy'
>;

async function readNetwork(google: GoogleProjectPort, wanted: Wanted): Promise<NetworkAnswers> {
  const network = networkOf(wanted);
  const [quotaLimits, projectQuotas, hasNetwork, firewallRules, externalIpPolicy, osLoginPolicy] = await Promise.all([
    wanted.vms === undefined ? look(google.quotaLimits()) : NOT_ASKED,
    wanted.vms?.gpus === undefined ? undefined : look(google.projectQuotas()),
    network.includes('/') ? elsewhere(network) : look(google.hasNetwork(network)),
    network.includes('/') ? elsewhere(network) : look(google.firewallRules()),
    look(google.effectivePolicy('compute.vmExternalIpAccess')),
    look(google.effectivePolicy('compute.requireOsLogin')),
  ]);
  const found = { quotaLimits, hasNetwork, firewallRules, externalIpPolicy, osLoginPolicy };
  return projectQuotas === undefined ? found : { ...found, projectQuotas };
}

function elsewhere(network: string): { readonly known: false; readonly why: string } {
  return { known: false, why: `${network} is of another project; ask there` };
}

async function readZone(google: GoogleProjectPort, zone: string, wanted: Wanted): Promise<ZoneAnswers> {
  const region = regionOf(zone);
  const subnetwork = wanted.subnetwork ?? networkOf(wanted);
  const { vms } = wanted;
  const [acceleratorTypes, runtimeVersions, ofVms, found, regionQuotas] = await Promise.all([
    vms === undefined ? look(google.acceleratorTypes(zone)) : NOT_ASKED,
    vms === undefined ? look(google.runtimeVersions(zone)) : NOT_ASKED,
    vms === undefined ? {} : readVms(google, zone, vms),
    subnetwork.includes('/') ? elsewhere(subnetwork) : look(google.subnetwork(region, subnetwork)),
    look(google.regionQuotas(region)),
  ]);
  return { zone, acceleratorTypes, runtimeVersions, ...ofVms, subnetwork: found, regionQuotas };
}

async function readVms(
  google: GoogleProjectPort,
  zone: string,
  { machineType, accelerator }: WantedVms,
): Promise<Pick<ZoneAnswers, 'hasMachineType' | 'hasAccelerator'>> {
  const [hasMachineType, hasAccelerator] = await Promise.all([
    look(google.hasInZone(zone, 'machineTypes', machineType)),
    accelerator === undefined ? undefined : look(google.hasInZone(zone, 'acceleratorTypes', accelerator)),
  ]);
  return { hasMachineType, ...(hasAccelerator !== undefined && { hasAccelerator }) };
}

async function readBucket(google: GoogleProjectPort, name: string): Promise<BucketAnswers> {
  const permissions = BUCKET_PERMISSIONS.map(({ permission }) => permission);
  const [facts, granted] = await Promise.all([
    look(google.bucket(name)),
    look(google.grantedOnBucket(name, permissions)),
  ]);
  return { name, facts, granted };
}

async function readSystemBucket(google: GoogleProjectPort, name: string): Promise<SystemBucketAnswers> {
  const [answers, bindings, projectBindings] = await Promise.all([
    readBucket(google, name),
    look(google.roleBindingsOnBucket(name)),
    look(google.roleBindings()),
  ]);
  return { ...answers, bindings, projectBindings };
}

async function look<T>(asked: Promise<T>): Promise<Looked<T>> {
  try {
    return { known: true, value: await asked };
  } catch (error) {
    if (!(error instanceof GoogleCallFailed)) throw error;
    const { refusal, message } = error;
    const { httpStatus } = error.error;
    return {
      known: false,
      why: refusal?.what ?? message,
      ...(refusal === undefined ? {} : { remedy: refusal.remedy, kind: refusal.kind }),
      ...(httpStatus === undefined ? {} : { httpStatus }),
    };
  }
}
