import { farRegions } from '../../domain/bucket-place.js';
import { findAccelerator } from '../../domain/accelerators.js';
import { Report } from '../../domain/job-file/report.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { zonesWith } from '../../domain/machine-kinds/cloud-tpu/type-zones.js';
import { askedMachines } from '../../domain/machines.js';
import { readPoolState } from '../pool-state.js';
import { isGoogleBucket } from '../../domain/store-place.js';
import type { CliContext } from './context.js';

/** Time limit for all buckets together, from its start: a submit that takes as long anyway waits for nothing. */
const MOST_MS = 2_000;

/** Zones where slices may be created. */
interface Zones {
  readonly zones: readonly string[];
  /** The pool chooses the zone, so traffic between regions is billed that the user did not choose. */
  readonly isAnyZone?: true;
}

/**
 * Warns of buckets that are mounted far from their location; for a job that takes any zone, also of the bucket of its outputs. If
 * the location of a bucket cannot be read (no rights, no login, no answer in time), there is no warning here, and the module
 * reports it in its log. Never rejects.
 */
export async function farBuckets(
  { gcsfuse = [], zones, isAnyZone }: Pick<JobSpec, 'gcsfuse'> & Zones,
  { bucket: own, label }: Pick<CliContext, 'bucket' | 'label'>,
): Promise<readonly string[]> {
  // A job with a label (a rehearsal) costs nothing, and its buckets are its own.
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

/** The zones where a job's slices may be created, as far as known here (`zones: any`: as last published). Never rejects. */
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

/** The search for a Google login takes no abort signal. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
