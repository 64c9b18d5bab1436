import { farBuckets, zonesOfJob } from '../client/far-buckets.js';
import { readPoolState } from '../client/pool-state.js';
import type { BucketPlace } from '../domain/store-place.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { StorePort } from '../cloud/store/port.js';

/**
 * Locations of buckets, as told to a submitter: of the installation's own, which every job writes to, and of buckets that Google shows
 * to anybody, asked without a login. By the server's login any caller could learn which buckets there are, and where
 * (docs/http-api.md).
 */
export type PublicPlaces = (
  bucket: string,
  as: { readonly login: 'own' | 'none'; readonly signal: AbortSignal },
) => Promise<BucketPlace | undefined>;

/** Never rejects. */
export async function warningsOf(
  spec: JobSpec,
  { store, placeOf }: { readonly store: StorePort; readonly placeOf: PublicPlaces | undefined },
): Promise<readonly string[]> {
  if (placeOf === undefined) return [];
  const zones = await zonesOfJob(spec, () => readPoolState(store, spec.pool));
  return farBuckets(
    { ...spec, ...zones },
    {
      own: store.bucket,
      placeOf: (bucket, signal) => placeOf(bucket, { login: bucket === store.bucket ? 'own' : 'none', signal }),
    },
  );
}
