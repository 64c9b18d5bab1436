import { findAccelerator } from '../domain/accelerators.js';
import { type BucketPlace, farRegions } from '../domain/store-place.js';
import { Report } from '../domain/job-file/report.js';
import type { JobSpec } from '../domain/job-spec.js';
import { zonesWith } from '../domain/machine-kinds/cloud-tpu/type-zones.js';
import { askedMachines } from '../domain/machines.js';
import type { PoolSnapshot } from '../quota/published-state.js';

/** Time limit for all buckets together. A submit usually takes as long itself, so nobody waits longer. */
const MOST_MS = 2_000;
/** Most buckets of one job that are looked up. */
const MOST_BUCKETS = 10;

/** Zones in which slices may be. */
export interface Zones {
  readonly zones: readonly string[];
  /** The pool chooses among the zones, so the user did not choose to pay for traffic between regions. */
  readonly isAnyZone?: true;
}

export interface Buckets {
  /** Undefined: the location is not known here. The call may reject, or take long. */
  readonly placeOf: (bucket: string, signal: AbortSignal) => Promise<BucketPlace | undefined>;
  /** The installation's bucket for logs and outputs. Absent: it is not on Cloud Storage, or not known. */
  readonly own?: string | undefined;
}

/**
 * Warns of mounted buckets that are far from the slices; for a job that takes any zone, also of the bucket of its outputs. A
 * bucket is skipped if its location is not known (no rights, no login, no answer in time). The module that looks it up logs why.
 * Never rejects.
 */
export async function farBuckets(
  { gcsfuse = [], zones, isAnyZone }: Pick<JobSpec, 'gcsfuse'> & Zones,
  { placeOf, own }: Buckets,
): Promise<readonly string[]> {
  const mounted = new Set(gcsfuse.map(({ bucket }) => bucket));
  const buckets = [...new Set([...mounted, ...(isAnyZone && own !== undefined ? [own] : [])])].slice(0, MOST_BUCKETS);
  if (buckets.length === 0 || zones.length === 0) return [];
  const deadline = AbortSignal.timeout(MOST_MS);
  const warningOf = async (bucket: string): Promise<readonly string[]> => {
    const place = await Promise.race([placeOf(bucket, deadline), aborted(deadline)]);
    const far = place === undefined ? [] : farRegions(place, zones);
    if (place === undefined || far.length === 0) return [];
    const what = mounted.has(bucket) ? 'gcsfuse: bucket' : 'zones: any: the bucket of logs and outputs,';
    const where = `${isAnyZone ? 'slices may be in' : 'the slices in'} ${far.join(' or ')}`;
    return [`${what} ${bucket} lies in ${place.location}, and ${where}: reads are slow, and Google bills the traffic`];
  };
  const warnings = await Promise.all(buckets.map((bucket) => warningOf(bucket).catch(() => [])));
  return warnings.flat();
}

/**
 * Zones in which a job's slices may be, as far as they are known here. For `zones: any` they are those of the pool as last
 * published. Never rejects.
 * @param poolState the state of the job's pool; undefined: nothing was published
 */
export async function zonesOfJob(
  spec: JobSpec,
  poolState: () => Promise<Pick<PoolSnapshot, 'pool' | 'poolZones'> | undefined>,
): Promise<Zones> {
  const { zones, isAnyZone, accelerator } = askedMachines(spec);
  if (isAnyZone === undefined) return { zones };
  const { poolZones = [], pool = spec.pool } = (await poolState().catch(() => undefined)) ?? {};
  const having = zonesWith(findAccelerator(accelerator), { pool, listedZones: poolZones }, new Report([]));
  return { zones: having, isAnyZone };
}

/** Resolves when `signal` aborts: the search for a login does not heed the signal. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
