import { z } from 'zod';
import { type Ownership, type Pricing, MOST_REQUESTS } from '../../slice.js';
import {
  duration,
  durationValue,
  flag,
  oneOf,
  section,
  text,
  textMap,
  texts,
  wholeNumber,
} from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';

export type AllocationMode = 'queued-resources' | 'tpu-vm';

export const DISK_MODES = ['read-write', 'read-only'] as const;

/** The word that `zones` may have in place of a list: every zone of the pool that has the type (docs/adr/0119). */
export const ANY_ZONE = 'any';

/** Seconds: the longest flex-start run (docs.cloud.google.com/tpu/docs/request-using-flex-start, 2025-09-04: "up to 7 days"). */
export const MOST_RUN_SECONDS = 7 * 86_400;
/** Reserved capacity is in a fixed place, so only one zone is asked. */
export const usualRequests = (pricing: Pricing | 'any'): number => (pricing === 'reserved' ? 1 : 2);

/** An existing disk that is attached to every host of a slice. */
export interface DataDisk {
  /** A disk's name, for the disk of that name in the slice's own project and zone, or `projects/P/zones/Z/disks/NAME`. */
  readonly source: string;
  /** One VM at a time may write to a disk (Google's "single-writer mode"). */
  readonly mode: (typeof DISK_MODES)[number];
}

/** A node that was made by hand, in the project of the job. */
export interface AdoptedNode {
  readonly node: string;
  readonly zone: string;
}

/** The `tpu` section of a job file after defaults and checks: the job's request to Cloud TPU. */
export interface CloudTpuRequest {
  readonly allocationMode: AllocationMode;
  readonly accelerator: string;
  /** Prefix of resource names. Absent: `jc`. */
  readonly name?: string;
  /** In order of preference. Empty: the pool's zones, which the worker that accepts the job puts in. */
  readonly zones: readonly string[];
  /** The file says `zones: any`: `zones` are its pool's, asked in an order that the pool determines. Absent: asked as listed. */
  readonly anyZone?: true;
  /** The Google Cloud project. Absent: the worker's. */
  readonly project?: string;
  readonly runtimeVersion: string;
  /** Requests for the whole gang at the same time, each in another zone, 1 to `MOST_REQUESTS`. Absent: `usualRequests`. */
  readonly hedge?: number;
  /** Used if the job's tier has no pricing. `any` becomes spot. */
  readonly pricing: Pricing | 'any';
  /** For flex-start: seconds from a slice's start to its end, 60 to `MOST_RUN_SECONDS`. Absent: `MOST_RUN_SECONDS`. */
  readonly runSeconds?: number;
  /** Seconds for which Google may keep a request that it has no chips for, 60 or more. Absent: for ever. */
  readonly validUntilSeconds?: number;
  readonly startupScript?: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  readonly serviceAccount?: string;
  /** URLs. */
  readonly scopes?: readonly string[];
  readonly reservation?: string;
  /** For a future reservation in calendar mode: the slices end with the reservation. */
  readonly reservationBound?: true;
  /** Absent: the type's usual one. */
  readonly topology?: string;
  readonly dataDisks?: readonly DataDisk[];
  /** The node that becomes the job's first slice (docs/adr/0179). Absent: every slice is created. */
  readonly adopt?: AdoptedNode;
}

/** The section itself, as part of a job's spec. */
export interface CloudTpuSection {
  readonly tpu: CloudTpuRequest;
}

/** A queued resource and its node of the same name, a node alone, or a queued resource of several nodes (docs/adr/0054). */
export interface CloudTpuRef {
  readonly kind: 'cloud-tpu';
  /** The Google Cloud project id, not the quota project. */
  readonly googleProject: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  readonly mode: AllocationMode;
  /** For a queued resource of several nodes: their number. They are named `<name>-0` to `<name>-(slices - 1)`. */
  readonly slices?: number;
  /** For one such node: its queued resource. */
  readonly request?: string;
  /** The node of that name was made by somebody else. It is given back, not deleted. Absent: the node was made for the slice. */
  readonly adopts?: string;
}

/** One create request, complete: the same plan always makes the same request. */
export interface CloudTpuPlan {
  readonly ref: CloudTpuRef;
  readonly ownership: Ownership;
  readonly accelerator: string;
  readonly topology?: string;
  readonly runtimeVersion: string;
  readonly pricing: Pricing;
  /** A name in the slice's own project and zone, or a path. A path with name `-` means any. Only used with `reserved`. */
  readonly reservation?: string;
  readonly reservationBound?: true;
  /** Always present with flex-start, and only then. See `CloudTpuRequest`. */
  readonly runSeconds?: number;
  /** Only for a queued resource. See `CloudTpuRequest`. */
  readonly validUntilSeconds?: number;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  /** An email; `default` is Compute Engine's default service account. */
  readonly serviceAccount?: string;
  /** URLs. Absent: all scopes of Google Cloud. */
  readonly scopes?: readonly string[];
  readonly dataDisks?: readonly DataDisk[];
  readonly tags: readonly string[];
  /** The user's labels; the adapter adds ownership labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance metadata, `ssh-keys` and `startup-script` included. */
  readonly metadata: Readonly<Record<string, string>>;
}

const dataDisk = section({
  source: text().describe("A disk's name, or its path projects/P/zones/Z/disks/NAME."),
  mode: oneOf(DISK_MODES).nullish().describe('read-write (default), for a job of one host; read-only for several.'),
});

const schema = section({
  accelerator: text()
    .nullish()
    .describe('TPU type, such as v5litepod-16 (alias v5e-16); or a generation, such as v4, with topology.'),
  allocation_mode: oneOf(['queued-resources', 'tpu-vm'])
    .nullish()
    .describe('tpu-vm without it; queued-resources where a reservation is named.'),
  name: text().nullish().describe('Prefix of resource names; jc without it.'),
  num_workers: wholeNumber(1, 100_000).nullish().describe("JobMan's own; a slice has the hosts of its type."),
  zone: text().nullish().describe("Such as us-central1-a; the pool's zones without it."),
  zones: z
    .union([z.literal(ANY_ZONE), texts()], { error: `a list of zones, or ${ANY_ZONE}` })
    .nullish()
    .describe('In order of preference; any: every zone of the pool that has the type, the most promising first.'),
  project: text().nullish().describe("Id of the Google Cloud project; the pool's, else the worker's, without it."),
  version: text().nullish().describe('Runtime version; each generation has a default.'),
  pricing: text()
    .nullish()
    .describe(
      'spot, ondemand, preemptible, reserved, flex-start or any (what its tier is bought as); spot without it, reserved where a reservation is named, flex-start with run_duration.',
    ),
  run_duration: duration(`Google sells ${durationValue(MOST_RUN_SECONDS)} (7 days) at most`)
    .nullish()
    .describe('How long Google lets a slice of pricing flex-start live; 168h at most, and without it.'),
  valid_until: duration()
    .nullish()
    .describe('How long Google may keep a queued resource that it has no chips for; for ever without it.'),
  startup_script: text().nullish().describe('Runs as root on every host when it boots.'),
  tags: texts().nullish().describe('Network tags, which firewall rules name.'),
  metadata: textMap().nullish().describe('Instance metadata.'),
  labels: textMap().nullish().describe('Of the node; a-z, 0-9, - and _.'),
  flags: texts().nullish().describe('Extra flags of gcloud compute tpus tpu-vm create; those that have a key here.'),
  network: text()
    .nullish()
    .describe("A network's name, or projects/HOST/global/networks/NAME of a Shared VPC; default without it."),
  subnetwork: text()
    .nullish()
    .describe("A subnetwork's name, or projects/HOST/regions/REGION/subnetworks/NAME of a Shared VPC."),
  external_ips: flag().nullish().describe('Whether hosts have external addresses; true without it.'),
  service_account: text()
    .nullish()
    .describe("Email of the hosts' service account; default is Compute Engine's default one."),
  scopes: texts()
    .nullish()
    .describe(
      'OAuth scopes of the service account: URLs, or aliases of gcloud such as cloud-platform; all without it.',
    ),
  reservation: text()
    .nullish()
    .describe(
      'Name or path of a reservation, for pricing reserved by queued-resources; any of the project without it.',
    ),
  reservation_bound: flag()
    .nullish()
    .describe('true for a future reservation in calendar mode, with whose end its slices end.'),
  hedge: wholeNumber(1, MOST_REQUESTS)
    .nullish()
    .describe(
      `Requests at once, each in another of the zones, of which the first that is ready is used; 1 to ${MOST_REQUESTS}, 2 without it, 1 for reserved capacity.`,
    ),
  topology: text().nullish().describe("Chips along the axes, such as 4x4x8; the type's usual one without it."),
  adopt: text()
    .nullish()
    .describe(
      'A node that somebody made by hand, which becomes the first slice: its name, or projects/P/locations/ZONE/nodes/NAME.',
    ),
  data_disks: z
    .array(dataDisk, { error: 'a list of disks {source, mode}' })
    .nullish()
    .describe('Existing disks that are attached to every host.'),
});

/** The form of `tpu` in a job file. */
export const tpuSection = (): typeof schema => schema;

export type TpuForm = z.infer<typeof schema>;
export type DataDiskForm = z.infer<typeof dataDisk>;

/** The place of keys of Google's own resources in a job file. */
export interface GooglePlace {
  /** `tpu`, or the section of another kind of Google's machines. */
  readonly section: string;
  readonly report: Report;
}

/** Keys of `tpu` with the same meaning for every kind of Google's machines. */
export type GoogleForm = Pick<
  TpuForm,
  | 'name'
  | 'zone'
  | 'zones'
  | 'project'
  | 'pricing'
  | 'startup_script'
  | 'tags'
  | 'metadata'
  | 'labels'
  | 'network'
  | 'subnetwork'
  | 'external_ips'
  | 'service_account'
  | 'scopes'
  | 'reservation'
  | 'data_disks'
>;
