import { regionOf } from './job-file/cloud-path.js';

/** Where a bucket's objects are, in the words of Cloud Storage. */
export interface BucketPlace {
  /** Small letters: `us-central1`, `us`. */
  readonly location: string;
  /** `region`, `dual-region` or `multi-region`. */
  readonly locationType: string;
}

/** The regions of `zones` from which a bucket is read over long distances, for money. Each once, in order. */
export function farRegions(place: BucketPlace, zones: readonly string[]): readonly string[] {
  return [...new Set(zones.map(regionOf))].filter((region) => !isNear(place, region));
}

/** The same zones, first those that are near the most of these buckets, else in their order. */
export function nearFirst(places: readonly BucketPlace[], zones: readonly string[]): readonly string[] {
  const farOf = (zone: string): number => places.filter((place) => !isNear(place, regionOf(zone))).length;
  return zones.toSorted((a, b) => farOf(a) - farOf(b));
}

/** `us` holds every us-.. region, `eu` every europe-.. one. Which regions a dual region such as nam4 pairs, its name does not tell: it is let pass. */
function isNear({ location, locationType }: BucketPlace, region: string): boolean {
  if (locationType === 'dual-region') return true;
  if (locationType === 'multi-region') return region.startsWith(location);
  return location === region;
}
