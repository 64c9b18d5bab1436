import type { BucketPlace } from '../../domain/store-place.js';
import type { GoogleError, GoogleRefusal } from '../google-refusal.js';

/** The identity that Google sees behind our calls. */
export interface Identity {
  readonly kind: 'user' | 'service-account' | 'external' | 'none';
  /** Absent if Google does not tell. */
  readonly email?: string;
  /** The project that a person's calls are counted for. */
  readonly quotaProject?: string;
}

export interface ProjectFacts {
  readonly id: string;
  readonly number: string;
  /** ACTIVE, or DELETE_REQUESTED. */
  readonly state: string;
}

/** A limit of a service's quota, as Service Usage v1beta1 lists it: its buckets from the least to the most specific. */
export interface QuotaLimit {
  /** `tpu.googleapis.com/tpu-v6e-preemptible`. */
  readonly metric: string;
  /** `1/{project}/{zone}`. */
  readonly unit: string;
  readonly buckets: readonly {
    readonly dimensions: Readonly<Record<string, string>>;
    /** -1: no limit. Google leaves a limit of 0 out. */
    readonly effectiveLimit: number;
  }[];
}

/** Nodes of Cloud TPU in all zones, whoever made them. */
export interface TpuNodes {
  readonly nodes: readonly {
    readonly zone: string;
    /** Such as `v5litepod-16`; empty if Google names none. */
    readonly acceleratorType: string;
    readonly isPreemptible: boolean;
    readonly isReserved: boolean;
  }[];
  /** Zones that Google did not reach: their nodes are missing. */
  readonly unreachable: readonly string[];
}

export interface SubnetworkFacts {
  /** Its network's name. */
  readonly network: string;
  readonly hasPrivateGoogleAccess: boolean;
}

export interface FirewallRule {
  readonly name: string;
  /** Its network's name. */
  readonly network: string;
  readonly isIngress: boolean;
  readonly isDisabled: boolean;
  /** Rules with a lower number come first; the lowest is 0. */
  readonly priority: number;
  readonly sourceRanges: readonly string[];
  readonly targetTags: readonly string[];
  readonly allows: readonly PortRange[];
  readonly denies: readonly PortRange[];
}

/** `protocol` `all`, or a name such as `tcp`; `ports` such as `22` and `20-25`; empty means all. */
export interface PortRange {
  readonly protocol: string;
  readonly ports: readonly string[];
}

export interface RegionQuota {
  readonly metric: string;
  readonly limit: number;
  readonly usage: number;
}

/** An organization policy together with what it inherits. */
export interface EffectivePolicy {
  /** For a boolean constraint. */
  readonly isEnforced: boolean;
  /** For a list constraint: nothing is allowed. */
  readonly isAllDenied: boolean;
  /** For a list constraint: the only values allowed. Absent: there is no such list. */
  readonly allowedValues?: readonly string[];
}

export interface BucketFacts extends BucketPlace {
  /** Objects can be neither replaced nor removed for this long. Absent: no retention policy. */
  readonly retentionSeconds?: number;
}

/** A binding of an IAM policy, without its condition (docs.cloud.google.com/iam/docs/reference/rest/v1/Policy, 2026-11). */
export interface RoleBinding {
  /** `roles/storage.objectAdmin`. */
  readonly role: string;
  /** `serviceAccount:EMAIL`, `projectEditor:PROJECT`, `allUsers` .. */
  readonly members: readonly string[];
}

/** Says why a question to Google has no answer. */
export class GoogleCallFailed extends Error {
  override readonly name = 'GoogleCallFailed';
  readonly error: GoogleError;
  /** Set if the cause is credentials, rights, the project or an API. */
  readonly refusal: GoogleRefusal | undefined;

  constructor(message: string, error: GoogleError, refusal: GoogleRefusal | undefined) {
    super(message);
    this.error = error;
    this.refusal = refusal;
  }
}

/**
 * Facts about a Google project that can be known before money is spent. All methods only read, except `createBucket`. `undefined`
 * means that Google says the thing does not exist. Every method rejects with `GoogleCallFailed`.
 */
export interface GoogleProjectPort {
  readonly googleProject: string;
  /** Gets a token too, so it rejects if there is no login or the login has expired. */
  identity(): Promise<Identity>;
  project(): Promise<ProjectFacts>;
  /** Returns those of `permissions` that the login has on the project. */
  granted(permissions: readonly string[]): Promise<readonly string[]>;
  grantedOnServiceAccount(email: string, permissions: readonly string[]): Promise<readonly string[] | undefined>;
  grantedOnBucket(bucket: string, permissions: readonly string[]): Promise<readonly string[] | undefined>;
  isServiceEnabled(service: string): Promise<boolean>;
  /** Names such as `v5litepod-16`. */
  acceleratorTypes(zone: string): Promise<readonly string[]>;
  runtimeVersions(zone: string): Promise<readonly string[]>;
  /** Limits of Cloud TPU. */
  quotaLimits(): Promise<readonly QuotaLimit[]>;
  tpuNodes(): Promise<TpuNodes>;
  hasNetwork(network: string): Promise<boolean>;
  subnetwork(region: string, subnetwork: string): Promise<SubnetworkFacts | undefined>;
  firewallRules(): Promise<readonly FirewallRule[]>;
  regionQuotas(region: string): Promise<readonly RegionQuota[]>;
  /** Limits of Compute Engine over all regions together, such as GPUS_ALL_REGIONS. */
  projectQuotas(): Promise<readonly RegionQuota[]>;
  /** Returns whether a zone has a machine type, or GPUs that can be attached, of this name. */
  hasInZone(zone: string, kind: 'machineTypes' | 'acceleratorTypes', name: string): Promise<boolean>;
  /** @param constraint without `constraints/`, such as `compute.vmExternalIpAccess` */
  effectivePolicy(constraint: string): Promise<EffectivePolicy>;
  bucket(bucket: string): Promise<BucketFacts | undefined>;
  /** Bindings of the project itself; roles that a folder or the organization grants are not included. */
  roleBindings(): Promise<readonly RoleBinding[]>;
  roleBindingsOnBucket(bucket: string): Promise<readonly RoleBinding[] | undefined>;
  /** Creates it with uniform access. Rejects if the name is taken. */
  createBucket(bucket: string, location: string): Promise<void>;
}
