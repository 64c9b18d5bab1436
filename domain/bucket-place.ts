import { regionOf } from './job-file/cloud-path.js';

/** Location of a bucket's objects, in Cloud Storage's terms. */
export interface BucketPlace {
  /** In small letters: `us-central1`, `us`. */
  readonly location: string;
  /** `region`, `dual-region` or `multi-region`. */
  readonly locationType: string;
}

/** The regions of `zones` from which a bucket is read over long distances, at a price. Each once, in order. */
export function farRegions(place: BucketPlace, zones: readonly string[]): readonly string[] {
  return [...new Set(zones.map(regionOf))].filter((region) => !isNear(place, region));
}

/** The same zones: first those that are near the most of these buckets, otherwise in their order. */
export function nearFirst(places: readonly BucketPlace[], zones: readonly string[]): readonly string[] {
  const farOf = (zone: string): number => places.filter((place) => !isNear(place, regionOf(zone))).length;
  return zones.toSorted((a, b) => farOf(a) - farOf(b));
}

/** `us` holds every us-.. region, `eu` every europe-.. one. The name of a dual region (nam4) hides its two: it counts as near. */
function isNear({ location, locationType }: BucketPlace, region: string): boolean {
  if (locationType === 'dual-region') return true;
  if (locationType === 'multi-region') return region.startsWith(location);
  return location === region;
}
