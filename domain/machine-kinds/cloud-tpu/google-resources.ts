import type { AcceleratorType } from '../../accelerators.js';
import type { GoogleForm, GooglePlace, DataDisk } from './words.js';
import { nearestWord } from '../../nearest-word.js';
import type { Path } from '../../problem.js';
import { namesIn, referenceHint, regionOf, RESOURCE_NAME } from '../../job-file/cloud-path.js';
import { given } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';

// Network ------------------------------------------------------------------------------------------------------------

const NETWORK_FORMS = "a network's name such as default, or of a Shared VPC projects/HOST_PROJECT/global/networks/NAME";
const SUBNETWORK_FORMS =
  "a subnetwork's name, or of a Shared VPC projects/HOST_PROJECT/regions/REGION/subnetworks/NAME";

/** Network, subnetwork and tags. A short name is in the job's own Google project; a path names its project. */
export function resolveNetwork(
  tpu: Pick<GoogleForm, 'network' | 'subnetwork' | 'tags'>,
  zones: readonly string[],
  place: GooglePlace,
): { network: string | undefined; subnetwork: string | undefined; tags: readonly string[] } {
  const { section, report } = place;
  const network = given(tpu.network);
  const subnetwork = given(tpu.subnetwork);
  const host = network === undefined ? undefined : namesIn(network, ['projects', 'global', 'networks']);
  if (network !== undefined && host === undefined && !RESOURCE_NAME.test(network))
    report.wrong([section, 'network'], network, 'no network', referenceHint(network, NETWORK_FORMS));
  if (subnetwork !== undefined) checkSubnetwork(subnetwork, host?.projects, zones, place);
  return { network, subnetwork, tags: resolveTags(tpu, place) };
}

function checkSubnetwork(
  subnetwork: string,
  networkProject: string | undefined,
  zones: readonly string[],
  { section, report }: GooglePlace,
): void {
  const path = [section, 'subnetwork'];
  const names = namesIn(subnetwork, ['projects', 'regions', 'subnetworks']);
  if (names === undefined) {
    if (!RESOURCE_NAME.test(subnetwork))
      report.wrong(path, subnetwork, 'no subnetwork', referenceHint(subnetwork, SUBNETWORK_FORMS));
    return;
  }
  const { projects, regions } = names;
  const elsewhere = zones.find((zone) => regionOf(zone) !== regions);
  if (elsewhere !== undefined) {
    const message = `lies in region ${regions}, and the job may run in zone ${elsewhere}`;
    report.problem(path, subnetwork, message, 'for zones of several regions write its name alone, the same in each');
  }
  if (networkProject !== undefined && networkProject !== projects) {
    const message = `is of project ${projects}, and the network is of project ${networkProject}`;
    report.problem(path, subnetwork, message, 'a subnetwork is a part of its network: name both of one project');
  }
}

/** Google's limit for network tags of an instance. */
const MAX_TAGS = 64;

function resolveTags(tpu: Pick<GoogleForm, 'tags'>, { section, report }: GooglePlace): readonly string[] {
  const tags = tpu.tags ?? [];
  tags.forEach((tag, index) => {
    if (RESOURCE_NAME.test(tag)) return;
    report.wrong(
      [section, 'tags', index],
      tag,
      'no network tag',
      'small letters, digits and -; 63 at most; a letter first',
    );
  });
  if (tags.length > MAX_TAGS) report.problem([section, 'tags'], tags, `has ${tags.length} tags`, `${MAX_TAGS} at most`);
  return tags;
}

// Service account ----------------------------------------------------------------------------------------------------

/** The project's default service account of Compute Engine, which the API uses if no email is given. */
export const DEFAULT_SERVICE_ACCOUNT = 'default';
const SERVICE_ACCOUNT = /^[a-z0-9][a-z0-9.-]*@([a-z0-9.-]+\.)?gserviceaccount\.com$/;
const SERVICE_ACCOUNT_HINT =
  "an email such as trainer@my-project.iam.gserviceaccount.com; default is Compute Engine's default one";

const AUTH = 'https://www.googleapis.com/auth/';
/** The scope that the APIs give if the request names none. */
export const ALL_SCOPES = `${AUTH}cloud-platform`;
const AGENT_SCOPES = ['logging.write', 'service.management.readonly', 'servicecontrol', 'trace.append'];

/**
 * gcloud's short names of scopes, without the deprecated `sql` (Google Cloud SDK 528, compute/constants.py). The TPU API takes
 * only URLs, and `gcloud compute tpus` does not translate short names.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  bigquery: ['bigquery'],
  'cloud-platform': ['cloud-platform'],
  'cloud-source-repos': ['source.full_control'],
  'cloud-source-repos-ro': ['source.read_only'],
  'compute-ro': ['compute.readonly'],
  'compute-rw': ['compute'],
  datastore: ['datastore'],
  default: ['devstorage.read_only', 'monitoring.write', 'pubsub', ...AGENT_SCOPES],
  'gke-default': ['devstorage.read_only', 'monitoring', ...AGENT_SCOPES],
  'logging-write': ['logging.write'],
  monitoring: ['monitoring'],
  'monitoring-read': ['monitoring.read'],
  'monitoring-write': ['monitoring.write'],
  pubsub: ['pubsub'],
  'service-control': ['servicecontrol'],
  'service-management': ['service.management.readonly'],
  'sql-admin': ['sqlservice.admin'],
  'storage-full': ['devstorage.full_control'],
  'storage-ro': ['devstorage.read_only'],
  'storage-rw': ['devstorage.read_write'],
  taskqueue: ['taskqueue'],
  trace: ['trace.append'],
  'userinfo-email': ['userinfo.email'],
};

export function resolveServiceAccount(
  tpu: Pick<GoogleForm, 'service_account'>,
  { section, report }: GooglePlace,
): string | undefined {
  const email = given(tpu.service_account);
  if (email !== undefined && email !== DEFAULT_SERVICE_ACCOUNT && !SERVICE_ACCOUNT.test(email))
    report.wrong([section, 'service_account'], email, 'no service account', SERVICE_ACCOUNT_HINT);
  return email;
}

/** The URL itself, or the URLs of an alias. Empty for anything else. */
export function scopeUrls(scope: string): readonly string[] {
  if (/^https:\/\/\S+$/.test(scope)) return [scope];
  const known = Object.hasOwn(ALIASES, scope) ? ALIASES[scope] : undefined;
  return (known ?? []).map((name) => AUTH + name);
}

/** Returns URLs, each once, in the file's order. An empty list stays empty, which the API reads as all scopes. */
export function resolveScopes(
  tpu: Pick<GoogleForm, 'scopes'>,
  { section, report }: GooglePlace,
): readonly string[] | undefined {
  const scopes = given(tpu.scopes);
  if (scopes === undefined) return undefined;
  const resolved = scopes.flatMap((scope, index) => {
    const urls = scopeUrls(scope);
    if (urls.length === 0) report.wrong([section, 'scopes', index], scope, 'no scope', scopeHint(scope));
    return urls;
  });
  return [...new Set(resolved)];
}

function scopeHint(scope: string): string {
  const nearest = nearestWord(scope, Object.keys(ALIASES));
  const known = `known: ${Object.keys(ALIASES).join(', ')}, or a URL such as ${AUTH}cloud-platform`;
  return nearest === undefined ? known : `did you mean ${nearest}?\n${known}`;
}

// Data disks ---------------------------------------------------------------------------------------------------------

/** Google's limits, boot disk included (cloud.google.com/tpu/docs/setup-persistent-disk, 2026). */
const MOST_DISKS: Partial<Record<AcceleratorType['generation'], number>> = { v6e: 32 };
const MOST_DISKS_OF_OTHERS = 128;

const SOURCE_FORMS =
  "a disk's name, for the disk of that name in the slice's zone, or its path projects/P/zones/ZONE/disks/NAME";

/** Most data disks of one TPU VM, without its boot disk. @param type undefined: any type, as for a pool's defaults */
export const mostTpuDisks = (type: AcceleratorType | undefined): number =>
  ((type && MOST_DISKS[type.generation]) ?? MOST_DISKS_OF_OTHERS) - 1;

/** Bounds for the disks of a job. */
export interface DiskUse {
  readonly zones: readonly string[];
  /** Most disks on one host. */
  readonly most: number;
  /** Hosts of the whole job. */
  readonly hosts: number;
}

/**
 * Existing disks that are attached to every host. A disk must be in the slice's zone. Either one VM writes to it, or several read
 * it (cloud.google.com/tpu/docs/setup-persistent-disk, "Access modes").
 */
export function resolveDataDisks(
  tpu: Pick<GoogleForm, 'data_disks'>,
  use: DiskUse,
  { section, report }: GooglePlace,
): readonly DataDisk[] | undefined {
  const forms = tpu.data_disks ?? [];
  if (forms.length === 0) return undefined;
  const { most, zones } = use;
  if (forms.length > most)
    report.problem([section, 'data_disks'], forms, `has ${forms.length} disks`, `a host takes ${most} at most`);
  return forms.map(({ source, mode }, index) => {
    const path = [section, 'data_disks', index];
    checkSource(source, [...path, 'source'], zones, report);
    if (forms.findIndex((other) => other.source === source) !== index)
      report.wrong([...path, 'source'], source, 'named twice');
    if ((mode ?? DEFAULT_MODE) === 'read-write') checkOneWriter(mode, [...path, 'mode'], use, report);
    return { source, mode: mode ?? DEFAULT_MODE };
  });
}

/** Google's default. */
const DEFAULT_MODE: DataDisk['mode'] = 'read-write';

function checkSource(source: string, path: Path, zones: readonly string[], report: Report): void {
  if (RESOURCE_NAME.test(source)) return;
  const zonal = namesIn(source, ['projects', 'zones', 'disks']);
  const regional = namesIn(source, ['projects', 'regions', 'disks']);
  if (zonal === undefined && regional === undefined) {
    report.wrong(path, source, 'no disk', referenceHint(source, SOURCE_FORMS));
    return;
  }
  const elsewhere = zones.find((zone) => (zonal ? zone !== zonal.zones : regionOf(zone) !== regional?.regions));
  if (elsewhere === undefined) return;
  const place = zonal ? `zone ${zonal.zones}` : `region ${regional?.regions}`;
  const message = `lies in ${place}, and the job may run in zone ${elsewhere}`;
  report.problem(path, source, message, 'a name alone means the disk of that name in whichever zone the slice is');
}

function checkOneWriter(mode: string | null | undefined, path: Path, { hosts }: DiskUse, report: Report): void {
  if (hosts === 1) return;
  const said = mode ? '' : ` (${DEFAULT_MODE} where no mode is given)`;
  const message = `only one host can write to a disk, and the job has ${hosts} hosts${said}`;
  report.problem(path, mode ?? undefined, message, 'write mode: read-only');
}
