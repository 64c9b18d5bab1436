import { regionOf } from '../../job-file/cloud-path.js';
import type { Report } from '../../job-file/report.js';
import { nearestWord } from '../../nearest-word.js';
import type { Path } from '../../problem.js';
import type { RequestContext, ZoneNames } from '../kind.js';
import { ANY_ZONE } from './words.js';

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
export function checkZone(path: Path, zone: string, report: Report): void {
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
export function checkZoneExists(path: Path, zone: string, context: ZoneContext, report: Report): void {
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

export type ZoneContext = Pick<RequestContext, 'pool' | 'isZoneStrict'>;

/** In characters. Comparing a longer text with every zone would take long and find nothing. */
const LONGEST_ZONE = 40;
