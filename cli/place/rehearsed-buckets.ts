import type { LocalContents } from '../../client/uploads.js';
import { bucketsNamedIn, isGoogleBucket } from '../../domain/store-place.js';
import { asTyped, tellLine } from '../terminal/print.js';
import type { CliContext } from './context.js';

type Place = Pick<CliContext, 'bucket' | 'googleProject' | 'label'>;

/** A larger script names its buckets further up. */
const MOST_BYTES = 1 << 20;

/**
 * On a simulated cloud, creates the buckets that a job names: nobody else can, and without them its first mount or upload fails. They
 * begin empty, and the real ones are not touched. Does nothing on a real cloud. Repeating is safe.
 * @param named plain JSON of the job, such as its file and its spec
 * @param files contents of the local files that it copies
 */
export async function makeRehearsedBuckets(
  { bucket: own, googleProject, label }: Place,
  named: unknown,
  files: LocalContents = {},
): Promise<void> {
  if (label === undefined || own?.endpoint === undefined || !isGoogleBucket(own.bucket)) return;
  const texts = Object.values(files).flatMap((content) =>
    content instanceof Uint8Array && content.length <= MOST_BYTES ? [new TextDecoder().decode(content)] : [],
  );
  const buckets = bucketsNamedIn([named, texts]).filter((bucket) => bucket !== own.bucket);
  if (buckets.length === 0) return;
  const { ensureBucket } = await import('../../cloud/store/gcs.js');
  for (const bucket of buckets) {
    const made = await ensureBucket({ endpoint: own.endpoint, bucket, projectId: googleProject ?? NO_PROJECT });
    if (made === 'created') tellLine(asTyped(`gs://${bucket} is an empty bucket of the simulated cloud, not yours`));
  }
}

/** The simulated cloud takes any. */
const NO_PROJECT = 'rehearsal';
