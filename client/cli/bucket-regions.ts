import { farRegions } from '../../domain/bucket-place.js';
import { findAccelerator } from '../../domain/accelerators.js';
import { Report } from '../../domain/job-file/report.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { zonesWith } from '../../domain/machine-kinds/cloud-tpu/type-zones.js';
import { askedMachines } from '../../domain/machines.js';
import { readPoolState } from '../pool-state.js';
import { isGoogleBucket } from '../../domain/store-place.js';
import type { CliContext } from './context.js';

/** For all buckets together, from when it began: a submit that takes as long by itself waits for nothing. */
const MOST_MS = 2_000;

/** Where slices may be. */
interface Zones {
  readonly zones: readonly string[];
  /** Its pool decides in which of them: traffic between regions is billed that nobody chose. */
  readonly isAnyZone?: true;
}

/**
 * Warnings of buckets that are mounted far from where they lie; of a job that takes any zone also the bucket of its outputs. Where a
 * bucket lies may be nobody's to say here (no rights, no login, no answer in time): nothing is said then, and the module tells in its
 * log. Never rejects.
 */
export async function farBuckets(
  { gcsfuse = [], zones, isAnyZone }: Pick<JobSpec, 'gcsfuse'> & Zones,
  { bucket: own, label }: Pick<CliContext, 'bucket' | 'label'>,
): Promise<readonly string[]> {
  // What carries a label costs nothing, and has buckets of its own.
  if (label !== undefined) return [];
  const mounted = [...new Set(gcsfuse.map(({ bucket }) => bucket))];
  const buckets = isAnyZone && own && isGoogleBucket(own.bucket) ? [...new Set([...mounted, own.bucket])] : mounted;
  if (buckets.length === 0 || zones.length === 0) return [];
  const { bucketPlace } = await import('../../cloud/store/bucket-place.js');
  const deadline = AbortSignal.timeout(MOST_MS);
  const endpoint = own?.endpoint === undefined || !isGoogleBucket(own.bucket) ? {} : { endpoint: own.endpoint };
  const warningOf = async (bucket: string): Promise<readonly string[]> => {
    const place = await Promise.race([bucketPlace(bucket, { ...endpoint, signal: deadline }), aborted(deadline)]);
    const far = place === undefined ? [] : farRegions(place, zones);
    if (place === undefined || far.length === 0) return [];
    const what = mounted.includes(bucket) ? 'gcsfuse: bucket' : 'zones: any: the bucket of logs and outputs,';
    const where = `${isAnyZone ? 'slices may be in' : 'the slices in'} ${far.join(' or ')}`;
    return [`${what} ${bucket} lies in ${place.location}, and ${where}: reads are slow, and Google bills the traffic`];
  };
  const warnings = await Promise.all(buckets.map((bucket) => warningOf(bucket).catch(() => [])));
  return warnings.flat();
}

/**
 * In which zones a job's slices may be, as far as that is known here: those of `zones: any` as the pool was published last. Never
 * rejects.
 */
export async function zonesOfJob(spec: JobSpec, { store }: Pick<CliContext, 'store'>): Promise<Zones> {
  const { zones, isAnyZone, accelerator } = askedMachines(spec);
  if (isAnyZone === undefined || store === undefined) return { zones };
  const { openReader } = await import('./connect.js');
  const state = await openReader(store)
    .then((reader) => readPoolState(reader, spec.pool))
    .catch(() => undefined);
  const { poolZones = [], pool = spec.pool } = state ?? {};
  const having = zonesWith(findAccelerator(accelerator), { pool, listedZones: poolZones }, new Report([]));
  return { zones: having, isAnyZone };
}

/** A login that is looked for in vain takes no signal. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
