import { farBuckets, zonesOfJob } from '../client/far-buckets.js';
import { readPoolState } from '../client/pool-state.js';
import type { BucketPlace } from '../domain/store-place.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { StorePort } from '../cloud/store/port.js';

/**
 * Finds the locations of buckets for a submitter. The installation's own bucket, which every job writes to, is looked up by the
 * server's login. Any other bucket is looked up without a login, since by the server's login any caller could learn which buckets
 * exist, and where (docs/http-api.md).
 */
export type PublicPlaces = (
  bucket: string,
  as: { readonly login: 'own' | 'none'; readonly signal: AbortSignal },
) => Promise<BucketPlace | undefined>;

/** Warnings about buckets far from the job's zones. Never rejects. */
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
