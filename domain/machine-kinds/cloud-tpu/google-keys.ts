import { given, textValues } from '../../job-file/fields.js';
import { GOOGLE_PROJECT, regionOf } from '../../job-file/cloud-path.js';
import type { PoolDefaults } from '../../job-file/pool-defaults.js';
import { LABEL_KEY, LABEL_VALUE, OWN_LABEL_PREFIX, OWN_LABELS } from '../../identity.js';
import { utf8Bytes } from '../../bounds.js';
import type { Path } from '../../problem.js';
import type { Report } from '../../job-file/report.js';
import { isSecret, warnOfSecret, warnOfSecretIn } from '../../job-file/secret-looks.js';
import { type Choice, type ChoiceKey, choiceIf, type ChoiceLists, entryChoices } from '../../choices.js';
import { nearestWord } from '../../nearest-word.js';
import type { FlagKey, UsualAccounts, RequestContext, ZoneNames } from '../kind.js';
import { type GoogleForm, type GooglePlace, ANY_ZONE, type DataDisk } from './words.js';
import { ALL_SCOPES, DEFAULT_SERVICE_ACCOUNT } from './google-resources.js';

/**
 * The zones of the file, in its order, each once. If the pool is known, there must be at least one.
 * @param zonesOf gives a pool's zones for a file that takes any of them. Absent: this kind of machines does not allow that
 */
export function resolveZones(
  tpu: Pick<GoogleForm, 'zone' | 'zones'>,
  context: ZoneContext,
  { section, report }: GooglePlace,
  zonesOf?: (pool: PoolDefaults) => readonly string[],
): readonly string[] {
  if (typeof tpu.zone === 'string' && tpu.zones !== undefined && tpu.zones !== null) {
    report.problem(
      [section, 'zones'],
      tpu.zones,
      'zone and zones are both given',
      'keep zones, in order of preference',
    );
  }
  if (tpu.zones === ANY_ZONE) {
    if (zonesOf !== undefined) return context.pool === undefined ? [] : zonesOf(context.pool);
    const message = `${ANY_ZONE} is for tpu: what Google has of other machines, by zone, no pool keeps`;
    report.problem([section, 'zones'], ANY_ZONE, message, 'list them: zones: [us-central1-a, ..]');
    return [];
  }
  const isEmpty = tpu.zones?.length === 0;
  if (isEmpty)
    report.wrong([section, 'zones'], tpu.zones, 'an empty list', "name zones, or leave it out for the pool's zones");
  const check = (path: Path, zone: string): void => {
    checkZone(path, zone, report);
    checkZoneExists(path, zone, context, report);
  };
  if (typeof tpu.zone === 'string') check([section, 'zone'], tpu.zone);
  tpu.zones?.forEach((zone, index) => check([section, 'zones', index], zone));
  const zones = tpu.zones ?? (typeof tpu.zone === 'string' ? [tpu.zone] : []);
  const { pool } = context;
  const isDropped = report.wasDropped([section, 'zone']) || report.wasDropped([section, 'zones']);
  if (zones.length === 0 && pool !== undefined && !isDropped && !isEmpty) noZone(pool, { section, report });
  return [...new Set(zones)];
}

function noZone({ pool, file }: PoolDefaults, { section, report }: GooglePlace): void {
  const there =
    file === undefined ? `and pool '${pool}' has no pool file` : `and none in ${file}, the file of pool '${pool}'`;
  const hint = 'write such as zone: us-central1-a, or zones: [..]; for all jobs of a pool see docs/pool-file.md';
  report.problem([section, 'zone'], undefined, `no zone in the job file, ${there}`, hint);
}

export const GOOGLE_ACCOUNT_KEY = { what: 'Google project', key: 'project', setting: 'googleProject' } as const;

/** The keys of `--zone` and `--pricing` in every section of Google's machines. */
export const GOOGLE_FLAGS: Readonly<Record<'zone' | 'pricing', FlagKey>> = {
  zone: { path: ['zone'], list: { key: 'zones', word: ANY_ZONE } },
  pricing: { path: ['pricing'] },
};

const RESOURCE_PREFIX = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

/** The prefix of resource names, and the Google project. */
export function resolveNames(
  tpu: Pick<GoogleForm, 'name' | 'project'>,
  { section, report }: GooglePlace,
): { name: string | undefined; project: string | undefined } {
  const name = given(tpu.name);
  if (name !== undefined && !RESOURCE_PREFIX.test(name)) {
    const hint = 'small letters, digits and dashes; it starts with a letter';
    report.wrong([section, 'name'], name, 'no resource name', hint);
  }
  const project = given(tpu.project);
  if (project !== undefined && !GOOGLE_PROJECT.test(project)) {
    const hint = 'the id of a Google Cloud project: 6 to 30 small letters, digits and dashes';
    report.wrong([section, 'project'], project, 'no Google Cloud project id', hint);
  }
  return { name, project };
}

/** Keys that jobctl sets itself, for the login key, and for `startup_script` under Google's name. */
const OWN_METADATA = new Map([
  ['ssh-keys', 'jobctl puts the key of ssh.private_key there'],
  ['startup-script', 'write startup_script in its place'],
]);

export function resolveMetadata(
  tpu: Pick<GoogleForm, 'metadata' | 'startup_script'>,
  { section, report }: GooglePlace,
): Record<string, string> {
  checkMetadataSize([section, 'startup_script'], given(tpu.startup_script), report);
  for (const key of Object.keys(tpu.metadata ?? {})) {
    checkMetadataSize([section, 'metadata', key], tpu.metadata?.[key], report);
    const instead = OWN_METADATA.get(key);
    if (instead !== undefined)
      report.problem([section, 'metadata', key], tpu.metadata?.[key], 'is set by jobctl', instead);
  }
  return textValues(tpu.metadata);
}

/** Warns of values of the file's own metadata that look like secrets: whoever may see the VM reads them too. */
export function warnOfSecretMetadata(
  { metadata }: Pick<GoogleForm, 'metadata'>,
  { section, report }: GooglePlace,
): void {
  for (const [key, value] of Object.entries(textValues(metadata))) {
    const path = [section, 'metadata', key];
    if (isSecret(key, value) && !value.includes('\n')) warnOfSecret(path, key, value, report);
    else warnOfSecretIn(path, value, report);
  }
}

/** Google's limit for one value (cloud.google.com/compute/docs/metadata/overview, "Metadata entry limitations", 2026). */
const MOST_METADATA_BYTES = 256 * 1024;

function checkMetadataSize(path: Path, value: unknown, report: Report): void {
  const bytes = utf8Bytes(String(value ?? ''));
  if (bytes <= MOST_METADATA_BYTES) return;
  const message = `is ${bytes} bytes, and Google takes ${MOST_METADATA_BYTES} of one value of a VM's metadata`;
  const hint = 'put it into a file of the job (files:, bundle:), or into a bucket that the VM reads';
  report.problem(path, value, message, hint);
}

/** Google's limit of labels on a resource, including ours. */
const MAX_LABELS = 64;

export function resolveLabels(
  tpu: Pick<GoogleForm, 'labels'>,
  { section, report }: GooglePlace,
): Record<string, string> {
  const labels = textValues(tpu.labels);
  const most = MAX_LABELS - OWN_LABELS;
  const count = Object.keys(labels).length;
  if (count > most) report.problem([section, 'labels'], labels, `has ${count} labels`, `${most} at most, beside ours`);
  for (const [key, value] of Object.entries(labels)) {
    const path = [section, 'labels', key];
    if (key.startsWith(OWN_LABEL_PREFIX)) report.wrong(path, key, "one of jobctl's own labels", 'take another key');
    else if (!LABEL_KEY.test(key))
      report.wrong(path, key, 'no label key', 'a-z, 0-9, - and _; 63 at most; a letter first');
    else if (!LABEL_VALUE.test(value)) report.wrong(path, value, 'no label value', 'a-z, 0-9, - and _; 63 at most');
  }
  return labels;
}

type Present<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

export function withoutUndefined<Values extends Record<string, unknown>>(values: Values): Present<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<Values>;
}

/** The network that Compute Engine takes if the request names none. */
const DEFAULT_NETWORK = 'default';

/** Values that a job in Google Cloud has without choosing any. Scopes and external IPs only narrow what the other keys give. */
export const usualGoogleChoices = (section: string, { googleProject }: Partial<UsualAccounts>): ChoiceLists => ({
  google_projects: googleProject === undefined ? [] : [googleProject],
  service_accounts: [DEFAULT_SERVICE_ACCOUNT],
  networks: [DEFAULT_NETWORK],
  scopes: ['**'],
  external_ips: ['true'],
  machines: [section],
});

interface GoogleRequest {
  readonly project?: string;
  readonly serviceAccount?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly dataDisks?: readonly DataDisk[];
  readonly scopes?: readonly string[];
  readonly externalIps: boolean;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly reservation?: string;
}

/**
 * The choices of a job in Google Cloud. If the job names no service account or network, Google takes a default, which is a
 * choice too: Compute Engine's default account often may do everything. test/security/f09-every-key.test.ts lists every other
 * key by name as harmless.
 */
export function googleChoices(section: string, request: GoogleRequest): readonly Choice[] {
  const { project, serviceAccount, network, subnetwork, dataDisks = [], scopes = [] } = request;
  const or = (key: ChoiceKey, name: string, value: string | undefined, implied: string): Choice =>
    value === undefined
      ? { key, path: [section, name], value: implied, isImplied: true }
      : { key, path: [section, name], value };
  return [
    ...choiceIf('google_projects', [section, 'project'], project),
    or('service_accounts', 'service_account', serviceAccount, DEFAULT_SERVICE_ACCOUNT),
    or('networks', 'network', network, DEFAULT_NETWORK),
    ...choiceIf('networks', [section, 'subnetwork'], subnetwork),
    ...dataDisks.map(({ source }, index): Choice => ({
      key: 'data_disks',
      path: [section, 'data_disks', index, 'source'],
      value: source,
    })),
    ...(scopes.length > 0 ? [] : [or('scopes', 'scopes', undefined, ALL_SCOPES)]),
    ...scopes.map((value): Choice => ({ key: 'scopes', path: [section, 'scopes'], value })),
    ...(request.externalIps ? [{ key: 'external_ips', path: [section, 'external_ips'], value: 'true' } as const] : []),
    ...request.tags.map((value): Choice => ({ key: 'tags', path: [section, 'tags'], value })),
    ...entryChoices('metadata', [section, 'metadata'], request.metadata),
    ...choiceIf('reservations', [section, 'reservation'], request.reservation),
  ];
}

/**
 * Google's regions, with the letters of their zones if other than a, b and c (docs.cloud.google.com/compute/docs/regions-zones,
 * 2026-11). us-central2 is a region of Cloud TPU only, whose zones Google does not list for all users.
 */
const REGIONS: ReadonlyMap<string, string> = new Map(
  [
    'africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2',
    'asia-southeast1 asia-southeast2 asia-southeast3 australia-southeast1 australia-southeast2 europe-central2',
    'europe-north1 europe-north2 europe-southwest1 europe-west1:bcd europe-west2 europe-west3 europe-west4 europe-west6',
    'europe-west8 europe-west9 europe-west10 europe-west12 me-central1 me-central2 me-west1 northamerica-northeast1',
    'northamerica-northeast2 northamerica-south1 southamerica-east1 southamerica-west1 us-central1:abcf',
    'us-central2:abcd us-east1:bcd us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4',
  ].flatMap((line) =>
    line.split(' ').map((entry): [string, string] => {
      const [region = '', letters = 'abc'] = entry.split(':');
      return [region, letters];
    }),
  ),
);

const zonesOf = (region: string): readonly string[] =>
  (REGIONS.get(region) ?? '').split('').map((letter) => `${region}-${letter}`);

/** The form of a zone: region, dash, letter. `us-central1-ai1a` is an AI zone of a region. */
const ZONE = /^[a-z]+-[a-z]+\d+-(?:ai\d+)?[a-z]$/;

/** Returns whether a text has the form of a zone's name. */
export const isZoneName = (text: string): boolean => text.length <= LONGEST_ZONE && ZONE.test(text);

/** Reports a text that is not a zone's name. */
function checkZone(path: Path, zone: string, report: Report): void {
  if (ZONE.test(zone)) return;
  const [first = `${zone}-a`] = zonesOf(zone);
  if (zone === ANY_ZONE)
    return report.wrong(path, zone, 'no zone', `in a job's tpu ${ANY_ZONE} stands alone: zones: ${ANY_ZONE}`);
  const hint = /^[a-z]+-[a-z]+\d+$/.test(zone)
    ? `${zone} is a region: its zones end in a letter, such as ${first}`
    : 'a zone is a region and a letter, such as us-central1-a';
  report.wrong(path, zone, 'no zone', hint);
}

export const GOOGLE_ZONES: ZoneNames = { isName: isZoneName, check: checkZone };

/** Returns whether Google has the zone, according to this list of regions. AI zones are not listed: their region counts. */
function isGoogleZone(zone: string): boolean {
  const letters = REGIONS.get(regionOf(zone));
  return letters !== undefined && (letters.includes(zone.slice(-1)) || /-ai\d+[a-z]$/.test(zone));
}

/**
 * Reports a zone that Google does not have, so that no job waits for it (docs/adr/0099). A pool file may list a zone that Google
 * opened after this list was written. While the file is not known, such a zone only causes a warning, unless `isZoneStrict`.
 */
function checkZoneExists(path: Path, zone: string, context: ZoneContext, report: Report): void {
  const { pool, isZoneStrict } = context;
  const listed = pool?.listedZones ?? [];
  if (!ZONE.test(zone) || isGoogleZone(zone) || listed.includes(zone)) return;
  const known = [...listed, ...[...REGIONS.keys()].flatMap(zonesOf)];
  const near = zone.length > LONGEST_ZONE ? undefined : nearestWord(zone, known);
  const message = `zone ${zone} does not exist${near === undefined ? '' : `. Did you mean ${near}?`}`;
  if (pool === undefined && !isZoneStrict) return report.warn(path, message);
  const hint = `a zone that Google opened lately has to be in the pool file: zones = ["${zone}"]`;
  report.problem(path, zone, message, hint);
}

type ZoneContext = Pick<RequestContext, 'pool' | 'isZoneStrict'>;

/** Longest text, in characters, that is compared with every zone's name. A longer one would take long and match nothing. */
const LONGEST_ZONE = 40;
