import { given, textValues } from '../../job-file/fields.js';
import { GOOGLE_PROJECT } from '../../job-file/cloud-path.js';
import type { PoolDefaults } from '../../job-file/pool-defaults.js';
import { LABEL_KEY, LABEL_VALUE, OWN_LABEL_PREFIX, OWN_LABELS } from '../../identity.js';
import { utf8Bytes } from '../../job-input-size.js';
import type { Path } from '../../problem.js';
import type { Report } from '../../job-file/report.js';
import type { GoogleForm, GooglePlace } from './section-form.js';
import { checkZone, checkZoneExists, type ZoneContext } from './google-zones.js';
import type { FlagKey } from '../kind.js';
import { ANY_ZONE } from './words.js';

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

/** Keys that jobctl sets: it puts the login key there, and passes `startup_script` under Google's name. */
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
