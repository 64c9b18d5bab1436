import type { BucketPlace } from '../../domain/bucket-place.js';
import type { GoogleError, GoogleRefusal } from '../google-refusal.js';

/** Whose calls Google sees. */
export interface Identity {
  readonly kind: 'user' | 'service-account' | 'external' | 'none';
  /** Absent where Google does not tell. */
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
  /** 0 first. */
  readonly priority: number;
  readonly sourceRanges: readonly string[];
  readonly targetTags: readonly string[];
  readonly allows: readonly PortRange[];
  readonly denies: readonly PortRange[];
}

/** `protocol` `all`, or a name such as `tcp`; `ports` such as `22` and `20-25`, none = all. */
export interface PortRange {
  readonly protocol: string;
  readonly ports: readonly string[];
}

export interface RegionQuota {
  readonly metric: string;
  readonly limit: number;
  readonly usage: number;
}

/** Of an organization policy with its inheritance. */
export interface EffectivePolicy {
  /** Of a boolean constraint. */
  readonly isEnforced: boolean;
  /** Of a list constraint: nothing is allowed. */
  readonly isAllDenied: boolean;
  /** Of a list constraint: what alone is allowed; absent: no such list. */
  readonly allowedValues?: readonly string[];
}

export interface BucketFacts extends BucketPlace {
  /** How long an object can be neither replaced nor removed; absent: no retention policy. */
  readonly retentionSeconds?: number;
}

/** Of an IAM policy (docs.cloud.google.com/iam/docs/reference/rest/v1/Policy, 2026-11). Its condition is left out. */
export interface RoleBinding {
  /** `roles/storage.objectAdmin`. */
  readonly role: string;
  /** `serviceAccount:EMAIL`, `projectEditor:PROJECT`, `allUsers` .. */
  readonly members: readonly string[];
}

/** Why a question to Google has no answer. */
export class GoogleCallFailed extends Error {
  override readonly name = 'GoogleCallFailed';
  readonly error: GoogleError;
  /** Where it is a matter of credentials, rights, project or API. */
  readonly refusal: GoogleRefusal | undefined;

  constructor(message: string, error: GoogleError, refusal: GoogleRefusal | undefined) {
    super(message);
    this.error = error;
    this.refusal = refusal;
  }
}

/**
 * What can be known of a Google project before money is spent: reads alone, but `createBucket`. `undefined` = Google says
 * that there is none. Every method rejects with `GoogleCallFailed`.
 */
export interface GoogleProjectPort {
  readonly googleProject: string;
  /** Gets a token too: rejects where the login is none or has run out. */
  identity(): Promise<Identity>;
  project(): Promise<ProjectFacts>;
  /** Those of `permissions` that the login has on the project. */
  granted(permissions: readonly string[]): Promise<readonly string[]>;
  grantedOnServiceAccount(email: string, permissions: readonly string[]): Promise<readonly string[] | undefined>;
  grantedOnBucket(bucket: string, permissions: readonly string[]): Promise<readonly string[] | undefined>;
  isServiceEnabled(service: string): Promise<boolean>;
  /** Names such as `v5litepod-16`. */
  acceleratorTypes(zone: string): Promise<readonly string[]>;
  runtimeVersions(zone: string): Promise<readonly string[]>;
  /** Of Cloud TPU. */
  quotaLimits(): Promise<readonly QuotaLimit[]>;
  hasNetwork(network: string): Promise<boolean>;
  subnetwork(region: string, subnetwork: string): Promise<SubnetworkFacts | undefined>;
  firewallRules(): Promise<readonly FirewallRule[]>;
  regionQuotas(region: string): Promise<readonly RegionQuota[]>;
  /** Of Compute Engine, of all regions together, such as GPUS_ALL_REGIONS. */
  projectQuotas(): Promise<readonly RegionQuota[]>;
  /** Whether a zone has a machine type, or GPUs that can be attached, of this name. */
  hasInZone(zone: string, kind: 'machineTypes' | 'acceleratorTypes', name: string): Promise<boolean>;
  /** @param constraint without `constraints/`, such as `compute.vmExternalIpAccess` */
  effectivePolicy(constraint: string): Promise<EffectivePolicy>;
  bucket(bucket: string): Promise<BucketFacts | undefined>;
  /** Of the project itself: what a folder or the organization grants is not in it. */
  roleBindings(): Promise<readonly RoleBinding[]>;
  roleBindingsOnBucket(bucket: string): Promise<readonly RoleBinding[] | undefined>;
  /** With uniform access. Rejects where the name is taken. */
  createBucket(bucket: string, location: string): Promise<void>;
}
