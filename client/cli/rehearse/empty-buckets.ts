import type { DevContext } from '../dev/context.js';

/** Google's rule for names of buckets, without those that hold dots. */
const BUCKET = /\bgs:\/\/([a-z0-9][a-z0-9_-]{1,61}[a-z0-9])(?=[/"'\s]|$)/g;

/**
 * Makes the buckets that a job file names, empty, in the rehearsal's own Cloud Storage: a job that stores its checkpoints in its
 * user's bucket finds one there, and the real one is not touched. One that the job only reads is empty too.
 * @returns their names
 */
export async function emptyBuckets({ store, googleProject }: DevContext, source: string): Promise<readonly string[]> {
  const names = [...new Set([...source.matchAll(BUCKET)].flatMap(([, name]) => name ?? []))];
  const foreign = names.filter((name) => name !== store.bucket);
  if (foreign.length === 0 || store.endpoint === undefined) return [];
  const { ensureBucket } = await import('../../../cloud/store/gcs.js');
  for (const bucket of foreign) await ensureBucket({ endpoint: store.endpoint, bucket, projectId: googleProject });
  return foreign;
}
