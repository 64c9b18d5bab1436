import { farRegions } from '../../domain/bucket-place.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { CliContext } from './context.js';

/** For all buckets together, from when it began: a submit that takes as long by itself waits for nothing. */
const MOST_MS = 2_000;

/**
 * Warnings of buckets that are mounted far from where they lie. Where a bucket lies may be nobody's to say here (no rights, no
 * login, no answer in time): nothing is said then, and the module tells in its log. Never rejects.
 */
export async function farBuckets(
  { gcsfuse = [], zones }: Pick<JobSpec, 'gcsfuse'> & { readonly zones: readonly string[] },
  { bucket: own, label }: Pick<CliContext, 'bucket' | 'label'>,
): Promise<readonly string[]> {
  // What carries a label costs nothing, and has buckets of its own.
  if (label !== undefined) return [];
  const buckets = [...new Set(gcsfuse.map(({ bucket }) => bucket))];
  if (buckets.length === 0 || zones.length === 0) return [];
  const { bucketPlace } = await import('../../cloud/store/bucket-place.js');
  const deadline = AbortSignal.timeout(MOST_MS);
  const endpoint = own?.endpoint === undefined ? {} : { endpoint: own.endpoint };
  const warningOf = async (bucket: string): Promise<readonly string[]> => {
    const place = await Promise.race([bucketPlace(bucket, { ...endpoint, signal: deadline }), aborted(deadline)]);
    const far = place === undefined ? [] : farRegions(place, zones);
    if (place === undefined || far.length === 0) return [];
    return [
      `gcsfuse: bucket ${bucket} lies in ${place.location}, and the slices in ${far.join(' or ')}: ` +
        'reads are slow, and Google bills the traffic',
    ];
  };
  const warnings = await Promise.all(buckets.map((bucket) => warningOf(bucket).catch(() => [])));
  return warnings.flat();
}

/** A login that is looked for in vain takes no signal. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
