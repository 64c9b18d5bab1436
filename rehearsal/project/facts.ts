import { z } from 'zod';

/** A limit in the form of Google's front end: -1 is no limit, and a limit of 0 is left out of answers. */
const limit = z.number().int().min(-1);

const firewall = z.strictObject({
  network: z.string(),
  direction: z.enum(['INGRESS', 'EGRESS']).default('INGRESS'),
  priority: z.number().int().min(0).max(65_535).default(1000),
  sourceRanges: z.array(z.string()).default(['0.0.0.0/0']),
  targetTags: z.array(z.string()).optional(),
  disabled: z.boolean().default(false),
  /** Protocol and ports, such as `tcp:22,80`, `icmp` or `all`. */
  allowed: z.array(z.string()).default([]),
  denied: z.array(z.string()).default([]),
});

/** The rehearsed Google project as Cloud TPU's neighbours know it. Every existing project gets the same answers. */
export const projectSchema = z.strictObject({
  /** The project of the metadata server. */
  id: z.string(),
  number: z.string().regex(/^\d+$/),
  /** Ids of existing projects. Others are refused as Google refuses them: with 403, never 404. */
  known: z.union([z.literal('any'), z.array(z.string())]),
  state: z.enum(['ACTIVE', 'DELETE_REQUESTED']),
  /** Compute Engine's metadata for all VMs of the project, such as `enable-oslogin`. */
  metadata: z.record(z.string(), z.string()),
  /** Such as `tpu.googleapis.com`; every other service is enabled. */
  disabledServices: z.array(z.string()),
  /** Zones that an organisation's policy forbids. */
  deniedLocations: z.array(z.string()),
  /** Zones that Cloud TPU lists. A zone that is not named here offers everything, and so does a zone without lists. */
  zones: z.record(
    z.string(),
    z.strictObject({
      acceleratorTypes: z.array(z.string()).optional(),
      runtimeVersions: z.array(z.string()).optional(),
      /** Compute Engine's machine types; absent: every type of a known family. */
      machineTypes: z.array(z.string()).optional(),
    }),
  ),
  networks: z.record(
    z.string(),
    z.strictObject({
      /** True: the network has a subnetwork of the same name in every region. */
      autoCreateSubnetworks: z.boolean(),
      /** Applies to those subnetworks. */
      privateIpGoogleAccess: z.boolean().default(false),
    }),
  ),
  /** Keyed by `REGION/NAME`, beside the subnetworks of auto mode networks. */
  subnetworks: z.record(
    z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, 'must be REGION/NAME'),
    z.strictObject({ network: z.string(), ipCidrRange: z.string(), privateIpGoogleAccess: z.boolean().default(false) }),
  ),
  firewalls: z.record(z.string(), firewall),
  /** Keyed by region or `any`, then by Compute Engine's metric, such as IN_USE_ADDRESSES. */
  regionQuotas: z.record(z.string(), z.record(z.string(), z.strictObject({ limit: z.number(), usage: z.number() }))),
  /** Organisation policies in force, by constraint without `constraints/`: `allowAll`, `denyAll`, `enforce` or values. */
  policies: z.record(z.string(), z.record(z.string(), z.unknown())),
  /** Members of each role in the project's IAM policy. The API answers them, but rights come from the principals. */
  roleBindings: z.array(z.strictObject({ role: z.string(), members: z.array(z.string()) })),
  /** Emails of existing service accounts. */
  serviceAccounts: z.union([z.literal('any'), z.array(z.string())]),
  /** Keyed by metric without `tpu.googleapis.com/`. `limit` holds for each place without an entry in `at`. */
  tpuQuotas: z.record(
    z.string(),
    z.strictObject({ per: z.enum(['zone', 'region']), limit, at: z.record(z.string(), limit).default({}) }),
  ),
});
export type ProjectFacts = z.output<typeof projectSchema>;
export type ProjectRequest = z.input<typeof projectSchema>;

const perZone = (quota: number) => ({ per: 'zone', limit: quota }) as const;

/**
 * A new project with the default network and ample quota. The quota metrics' names come from public tools (`gcloud alpha services
 * quota list --service=tpu.googleapis.com`, seen 2026); they were not looked up at Google.
 */
export const DEFAULT_PROJECT: ProjectFacts = projectSchema.parse({
  id: 'rehearsed-project',
  number: '123456789012',
  known: 'any',
  state: 'ACTIVE',
  metadata: {},
  disabledServices: [],
  deniedLocations: [],
  zones: {
    'europe-west4-a': {},
    'europe-west4-b': {},
    'us-central1-a': {},
    'us-central2-b': {},
    'us-east1-d': {},
    'us-east5-a': {},
    'us-east5-b': {},
    'us-west4-a': {},
  },
  networks: { default: { autoCreateSubnetworks: true } },
  subnetworks: {},
  firewalls: {
    'default-allow-icmp': { network: 'default', priority: 65_534, allowed: ['icmp'] },
    'default-allow-internal': {
      network: 'default',
      priority: 65_534,
      sourceRanges: ['10.128.0.0/9'],
      allowed: ['all'],
    },
    'default-allow-ssh': { network: 'default', priority: 65_534, allowed: ['tcp:22'] },
  },
  regionQuotas: { any: { IN_USE_ADDRESSES: { limit: 64, usage: 0 }, CPUS: { limit: 200, usage: 0 } } },
  policies: {},
  roleBindings: [],
  serviceAccounts: 'any',
  tpuQuotas: {
    'tpu-v4s': perZone(512),
    'tpu-v4s-preemptible': perZone(512),
    'tpu-v5s-litepod': perZone(512),
    'tpu-v5s-litepod-preemptible': perZone(512),
    'tpu-v5s-litepod-serving': perZone(64),
    'tpu-v5s-litepod-serving-preemptible': perZone(64),
    'tpu-v5p': perZone(512),
    'tpu-v5p-preemptible': perZone(512),
    'tpu-v6e': perZone(512),
    'tpu-v6e-preemptible': perZone(512),
  },
} satisfies ProjectRequest);

/** `us-central1-a` -> `us-central1`. */
export function regionOf(zone: string): string {
  return zone.replace(/-[a-z]$/, '');
}
