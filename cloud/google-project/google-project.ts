import {
  type BucketFacts,
  type EffectivePolicy,
  type FirewallRule,
  GoogleCallFailed,
  type GoogleProjectPort,
  type Identity,
  type PortRange,
  type ProjectFacts,
  type QuotaLimit,
  type RegionQuota,
  type RoleBinding,
  type SubnetworkFacts,
  type TpuNodes,
} from './port.js';
import { GoogleRest, type GoogleRestOptions } from './rest.js';

/** The port over Google's REST APIs. ADR 0008 says why it does not use their seven client packages. */
export function createGoogleProject(options: GoogleRestOptions): GoogleProjectPort {
  return new RestGoogleProject(options);
}

class RestGoogleProject implements GoogleProjectPort {
  readonly googleProject: string;
  readonly #rest: GoogleRest;
  /** The project in the form that paths contain. */
  readonly #project: string;

  constructor(options: GoogleRestOptions) {
    this.googleProject = options.googleProject;
    this.#project = `projects/${encodeURIComponent(options.googleProject)}`;
    this.#rest = new GoogleRest(options);
  }

  identity(): Promise<Identity> {
    return this.#rest.identity();
  }

  async project(): Promise<ProjectFacts> {
    const found = await this.#rest.get<ApiProject>('cloudresourcemanager', `/v3/${this.#project}`);
    return { id: found.projectId, number: lastOf(found.name), state: found.state ?? 'ACTIVE' };
  }

  async granted(permissions: readonly string[]): Promise<readonly string[]> {
    const path = `/v3/${this.#project}:testIamPermissions`;
    return (await this.#rest.post<ApiPermissions>('cloudresourcemanager', path, { permissions })).permissions ?? [];
  }

  async grantedOnServiceAccount(email: string, permissions: readonly string[]): Promise<readonly string[] | undefined> {
    const path = `/v1/projects/-/serviceAccounts/${encodeURIComponent(email)}:testIamPermissions`;
    const answer = await orAbsent(this.#rest.post<ApiPermissions>('iam', path, { permissions }));
    return answer && (answer.permissions ?? []);
  }

  async grantedOnBucket(bucket: string, permissions: readonly string[]): Promise<readonly string[] | undefined> {
    const query = new URLSearchParams(permissions.map((permission): [string, string] => ['permissions', permission]));
    const path = `/storage/v1/b/${encodeURIComponent(bucket)}/iam/testPermissions?${query}`;
    const answer = await orAbsent(this.#rest.get<ApiPermissions>('storage', path));
    return answer && (answer.permissions ?? []);
  }

  async isServiceEnabled(service: string): Promise<boolean> {
    const path = `/v1/${this.#project}/services/${service}`;
    return (await this.#rest.get<{ readonly state?: string }>('serviceusage', path)).state === 'ENABLED';
  }

  async acceleratorTypes(zone: string): Promise<readonly string[]> {
    const path = `/v2/${this.#project}/locations/${encodeURIComponent(zone)}/acceleratorTypes`;
    const types = await this.#rest.list<{ readonly type?: string; readonly name?: string }>(
      'tpu',
      path,
      'acceleratorTypes',
    );
    return types.map(({ type, name = '' }) => type ?? lastOf(name));
  }

  async runtimeVersions(zone: string): Promise<readonly string[]> {
    const path = `/v2/${this.#project}/locations/${encodeURIComponent(zone)}/runtimeVersions`;
    const found = await this.#rest.list<{ readonly version?: string; readonly name?: string }>(
      'tpu',
      path,
      'runtimeVersions',
    );
    return found.map(({ version, name = '' }) => version ?? lastOf(name));
  }

  async quotaLimits(): Promise<readonly QuotaLimit[]> {
    const path = `/v1beta1/${this.#project}/services/tpu.googleapis.com/consumerQuotaMetrics`;
    const metrics = await this.#rest.list<ApiQuotaMetric>('serviceusage', path, 'metrics');
    return metrics.flatMap(({ metric = '', consumerQuotaLimits = [] }) =>
      consumerQuotaLimits.map(({ unit = '', quotaBuckets = [] }) => ({
        metric,
        unit,
        buckets: quotaBuckets.map(({ dimensions = {}, effectiveLimit = '0' }) => ({
          dimensions,
          effectiveLimit: Number(effectiveLimit),
        })),
      })),
    );
  }

  async tpuNodes(): Promise<TpuNodes> {
    const path = `/v2/${this.#project}/locations/-/nodes`;
    const unreachable = new Set<string>();
    const found = await this.#rest.list<ApiNode>('tpu', path, 'nodes', (page) => {
      for (const place of (page['unreachable'] ?? []) as readonly string[]) unreachable.add(lastOf(place));
    });
    const nodes = found.map(
      ({ name = '', acceleratorType = '', schedulingConfig: { preemptible, spot, reserved } = {} }) => ({
        zone: name.split('/')[3] ?? '',
        acceleratorType,
        isPreemptible: preemptible === true || spot === true,
        isReserved: reserved === true,
      }),
    );
    return { nodes, unreachable: [...unreachable] };
  }

  async hasNetwork(network: string): Promise<boolean> {
    const path = `/compute/v1/${this.#project}/global/networks/${encodeURIComponent(network)}`;
    return (await orAbsent(this.#rest.get<object>('compute', path))) !== undefined;
  }

  async subnetwork(region: string, subnetwork: string): Promise<SubnetworkFacts | undefined> {
    const path = `/compute/v1/${this.#project}/regions/${encodeURIComponent(region)}/subnetworks/${encodeURIComponent(subnetwork)}`;
    const found = await orAbsent(this.#rest.get<ApiSubnetwork>('compute', path));
    return (
      found && { network: lastOf(found.network ?? ''), hasPrivateGoogleAccess: found.privateIpGoogleAccess === true }
    );
  }

  async firewallRules(): Promise<readonly FirewallRule[]> {
    const path = `/compute/v1/${this.#project}/global/firewalls`;
    return (await this.#rest.list<ApiFirewall>('compute', path, 'items')).map(firewallRule);
  }

  async regionQuotas(region: string): Promise<readonly RegionQuota[]> {
    const path = `/compute/v1/${this.#project}/regions/${encodeURIComponent(region)}`;
    return this.#quotasOf(path);
  }

  projectQuotas(): Promise<readonly RegionQuota[]> {
    return this.#quotasOf(`/compute/v1/${this.#project}`);
  }

  async #quotasOf(path: string): Promise<readonly RegionQuota[]> {
    const { quotas = [] } = await this.#rest.get<{ readonly quotas?: readonly Partial<RegionQuota>[] }>(
      'compute',
      path,
    );
    return quotas.map(({ metric = '', limit = 0, usage = 0 }) => ({ metric, limit, usage }));
  }

  async hasInZone(zone: string, kind: 'machineTypes' | 'acceleratorTypes', name: string): Promise<boolean> {
    const path = `/compute/v1/${this.#project}/zones/${encodeURIComponent(zone)}/${kind}/${encodeURIComponent(name)}`;
    return (await orAbsent(this.#rest.get<object>('compute', path))) !== undefined;
  }

  async effectivePolicy(constraint: string): Promise<EffectivePolicy> {
    const path = `/v2/${this.#project}/policies/${encodeURIComponent(constraint)}:getEffectivePolicy`;
    const { spec } = await this.#rest.get<ApiPolicy>('orgpolicy', path);
    const rules = spec?.rules ?? [];
    const allowed = rules.flatMap(({ values }) => values?.allowedValues ?? []);
    return {
      isEnforced: rules.some(({ enforce }) => enforce === true),
      isAllDenied: rules.some(({ denyAll }) => denyAll === true),
      ...(allowed.length === 0 ? {} : { allowedValues: allowed }),
    };
  }

  async bucket(bucket: string): Promise<BucketFacts | undefined> {
    const path = `/storage/v1/b/${encodeURIComponent(bucket)}`;
    const found = await orAbsent(this.#rest.get<ApiBucket>('storage', path));
    if (found === undefined) return undefined;
    const { location = '', locationType = 'region', retentionPolicy } = found;
    return {
      ...{ location: location.toLowerCase(), locationType },
      ...(retentionPolicy && { retentionSeconds: Number(retentionPolicy.retentionPeriod) }),
    };
  }

  async roleBindings(): Promise<readonly RoleBinding[]> {
    const path = `/v3/${this.#project}:getIamPolicy`;
    // Version 3: the only one that includes conditional bindings in full (IAM's "Policy versions", 2026-11).
    const options = { requestedPolicyVersion: 3 };
    return bindingsOf(await this.#rest.post<ApiIamPolicy>('cloudresourcemanager', path, { options }));
  }

  async roleBindingsOnBucket(bucket: string): Promise<readonly RoleBinding[] | undefined> {
    const path = `/storage/v1/b/${encodeURIComponent(bucket)}/iam?optionsRequestedPolicyVersion=3`;
    const policy = await orAbsent(this.#rest.get<ApiIamPolicy>('storage', path));
    return policy && bindingsOf(policy);
  }

  async createBucket(name: string, location: string): Promise<void> {
    const body = { name, location, iamConfiguration: { uniformBucketLevelAccess: { enabled: true } } };
    await this.#rest.post('storage', `/storage/v1/b?project=${encodeURIComponent(this.googleProject)}`, body);
  }
}

/** The last part of a path or URL. */
const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

async function orAbsent<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GoogleCallFailed && error.error.httpStatus === 404) return undefined;
    throw error;
  }
}

const bindingsOf = ({ bindings = [] }: ApiIamPolicy): readonly RoleBinding[] =>
  bindings.map(({ role = '', members = [] }) => ({ role, members }));

function firewallRule(rule: ApiFirewall): FirewallRule {
  const ranges = (list: ApiFirewall['allowed'] = []): readonly PortRange[] =>
    list.map(({ IPProtocol = 'all', ports = [] }) => ({ protocol: IPProtocol, ports }));
  return {
    name: rule.name ?? '',
    network: lastOf(rule.network ?? ''),
    isIngress: (rule.direction ?? 'INGRESS') === 'INGRESS',
    isDisabled: rule.disabled === true,
    priority: rule.priority ?? 1000,
    sourceRanges: rule.sourceRanges ?? [],
    targetTags: rule.targetTags ?? [],
    allows: ranges(rule.allowed),
    denies: ranges(rule.denied),
  };
}

interface ApiNode {
  readonly name?: string;
  readonly acceleratorType?: string;
  readonly schedulingConfig?: { readonly preemptible?: boolean; readonly spot?: boolean; readonly reserved?: boolean };
}

interface ApiProject {
  /** `projects/NUMBER`. */
  readonly name: string;
  readonly projectId: string;
  readonly state?: string;
}
interface ApiPermissions {
  readonly permissions?: readonly string[];
}
interface ApiBucket {
  readonly location?: string;
  readonly locationType?: string;
  readonly retentionPolicy?: { readonly retentionPeriod?: string };
}
interface ApiIamPolicy {
  readonly bindings?: readonly { readonly role?: string; readonly members?: readonly string[] }[];
}
interface ApiQuotaMetric {
  readonly metric?: string;
  readonly consumerQuotaLimits?: readonly {
    readonly unit?: string;
    readonly quotaBuckets?: readonly {
      readonly dimensions?: Readonly<Record<string, string>>;
      readonly effectiveLimit?: string;
    }[];
  }[];
}
interface ApiSubnetwork {
  readonly network?: string;
  readonly privateIpGoogleAccess?: boolean;
}
interface ApiFirewall {
  readonly name?: string;
  readonly network?: string;
  readonly direction?: string;
  readonly disabled?: boolean;
  readonly priority?: number;
  readonly sourceRanges?: readonly string[];
  readonly targetTags?: readonly string[];
  readonly allowed?: readonly { readonly IPProtocol?: string; readonly ports?: readonly string[] }[];
  readonly denied?: readonly { readonly IPProtocol?: string; readonly ports?: readonly string[] }[];
}
interface ApiPolicy {
  readonly spec?: {
    readonly rules?: readonly {
      readonly enforce?: boolean;
      readonly denyAll?: boolean;
      readonly values?: { readonly allowedValues?: readonly string[] };
    }[];
  };
}
