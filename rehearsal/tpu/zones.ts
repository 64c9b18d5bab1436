/**
 * Zones with Cloud TPU (docs.cloud.google.com/tpu/docs/regions-zones, 2026-11), beside those that the rehearsed project names.
 * The types in each zone change too often to be copied: a zone offers everything, unless the project limits it.
 */
export const TPU_ZONES: ReadonlySet<string> = new Set([
  'asia-east1-c',
  'asia-northeast1-b',
  'asia-southeast1-b',
  'asia-southeast1-c',
  'europe-west4-a',
  'europe-west4-b',
  'southamerica-west1-a',
  'us-central1-a',
  'us-central1-b',
  'us-central1-c',
  'us-central1-f',
  'us-central2-b',
  'us-east1-c',
  'us-east1-d',
  'us-east5-a',
  'us-east5-b',
  'us-east5-c',
  'us-south1-a',
  'us-west1-c',
  'us-west4-a',
  'us-west4-b',
]);

/** Compute Engine's regions (docs.cloud.google.com/compute/docs/regions-zones, 2026-11). */
const REGIONS: ReadonlySet<string> = new Set(
  [
    'africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2',
    'asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2 europe-central2 europe-north1',
    'europe-north2 europe-southwest1 europe-west1 europe-west2 europe-west3 europe-west4 europe-west6 europe-west8',
    'europe-west9 europe-west10 europe-west12 me-central1 me-central2 me-west1 northamerica-northeast1',
    'northamerica-northeast2 northamerica-south1 southamerica-east1 southamerica-west1 us-central1 us-central2',
    'us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4',
  ].flatMap((line) => line.split(' ')),
);

/** Whether it may be a zone of Google's, with TPUs or without. */
export function isGoogleZone(zone: string): boolean {
  const found = /^([a-z]+-[a-z]+\d+)-[a-f]$/.exec(zone);
  return TPU_ZONES.has(zone) || (found !== null && REGIONS.has(found[1] ?? ''));
}
