import type { LocalContents } from '../../client/uploads.js';
import { bucketsNamedIn, isGoogleBucket } from '../../domain/store-place.js';
import { asTyped, tellLine } from '../terminal/print.js';
import type { CliContext } from './context.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { farBuckets as farFrom, type Zones, zonesOfJob as zonesKnownOf } from '../../client/far-buckets.js';
import { readPoolState } from '../../client/pool-state.js';

/** Buckets that a job names, as far as they concern its submitter: where they lie, and those that a simulated cloud lacks. */

type Place = Pick<CliContext, 'bucket' | 'googleProject' | 'label'>;

/** Most bytes of a script that are searched: a larger one names its buckets further up. */
const MOST_BYTES = 1 << 20;

/**
 * Creates the buckets that a job names, on a simulated cloud: without them, its first mount or upload fails, and no user could
 * create them. They begin empty; the real ones are not touched. Does nothing on a real cloud. Repeating is safe.
 * @param named plain JSON of the job, such as its file and its spec
 * @param files contents of the local files that it copies
 */
export async function makeRehearsedBuckets(
  { bucket: own, googleProject, label }: Place,
  named: unknown,
  files: LocalContents = {},
): Promise<void> {
  if (label === undefined || own?.endpoint === undefined || !isGoogleBucket(own.bucket)) return;
  const texts = await Promise.all(Object.values(files).map(textOf));
  const buckets = bucketsNamedIn([named, texts]).filter((bucket) => bucket !== own.bucket);
  if (buckets.length === 0) return;
  const { ensureBucket } = await import('../../cloud/store/gcs.js');
  for (const bucket of buckets) {
    const made = await ensureBucket({ endpoint: own.endpoint, bucket, projectId: googleProject ?? NO_PROJECT });
    if (made === 'created') tellLine(asTyped(`gs://${bucket} is an empty bucket of the simulated cloud, not yours`));
  }
}

/** The text of a file to copy; empty if it is large. */
async function textOf(content: LocalContents[string]): Promise<string> {
  if (content instanceof Uint8Array) return content.length > MOST_BYTES ? '' : new TextDecoder().decode(content);
  const parts: Buffer[] = [];
  if (content.size <= MOST_BYTES) for await (const part of content.read(0)) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

/** Project of the created buckets: the simulated cloud accepts any. */
const NO_PROJECT = 'rehearsal';

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
