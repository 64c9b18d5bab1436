import type { JobSpec } from '../../domain/job-spec.js';
import { isGoogleBucket } from '../../domain/store-place.js';
import { farBuckets as farFrom, type Zones, zonesOfJob as zonesKnownOf } from '../../client/far-buckets.js';
import { readPoolState } from '../../client/pool-state.js';
import type { CliContext } from './context.js';

/** Warns of far buckets, with this computer's own login. Never rejects. */
export async function farBuckets(
  job: Pick<JobSpec, 'gcsfuse'> & Zones,
  { bucket: own, label }: Pick<CliContext, 'bucket' | 'label'>,
): Promise<readonly string[]> {
  // A job with a label (a rehearsal) costs nothing, and its buckets are its own.
  if (label !== undefined) return [];
  const google = own !== undefined && isGoogleBucket(own.bucket) ? own : undefined;
  const endpoint = google?.endpoint === undefined ? {} : { endpoint: google.endpoint };
  return farFrom(job, {
    own: google?.bucket,
    placeOf: async (bucket, signal) => {
      const { bucketPlace } = await import('../../cloud/store/open-store.js');
      return bucketPlace(bucket, { ...endpoint, signal });
    },
  });
}

/** Zones in which the job's slices may be. Never rejects. */
export function zonesOfJob(spec: JobSpec, { store }: Pick<CliContext, 'store'>): Promise<Zones> {
  return zonesKnownOf(spec, async () => {
    if (store === undefined) return undefined;
    const { openReader } = await import('./connect.js');
    return readPoolState(await openReader(store), spec.pool);
  });
}
