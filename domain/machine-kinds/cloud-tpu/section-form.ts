import { z } from 'zod';
import { MOST_REQUESTS } from '../../slice.js';
import { ANY_ZONE, DISK_MODES, MOST_RUN_SECONDS } from './words.js';
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
