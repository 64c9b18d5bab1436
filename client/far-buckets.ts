import { findAccelerator } from '../domain/accelerators.js';
import { type BucketPlace, farRegions } from '../domain/store-place.js';
import { Report } from '../domain/job-file/report.js';
import type { JobSpec } from '../domain/job-spec.js';
import { zonesWith } from '../domain/machine-kinds/cloud-tpu/type-zones.js';
import { askedMachines } from '../domain/machines.js';
import type { PoolSnapshot } from '../quota/published-state.js';

/** For all buckets together: a submit that takes as long by itself waits for nothing. */
const MOST_MS = 2_000;
/** At most so many buckets of one job are looked up. */
const MOST_BUCKETS = 10;

/** Zones in which slices may be. */
export interface Zones {
  readonly zones: readonly string[];
  /** The pool chooses among them, so nobody chose the traffic between regions that is billed. */
  readonly isAnyZone?: true;
}

export interface Buckets {
  /** Undefined: it is nobody's to say here. It may reject, or take long. */
  readonly placeOf: (bucket: string, signal: AbortSignal) => Promise<BucketPlace | undefined>;
  /** The installation's own, for logs and outputs. Absent: it is no bucket of Google's, or not known. */
  readonly own?: string | undefined;
}

/**
 * Warnings of buckets that are mounted far from where they lie; of a job that takes any zone also the bucket of its outputs. Where a
 * bucket lies may be nobody's to say (no rights, no login, no answer in time): nothing is said then, and the module tells in its
 * log. Never rejects.
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
 * In which zones a job's slices may be, as far as that is known here: those of `zones: any` as the pool was published last. Never
 * rejects.
 * @param poolState of the job's pool; undefined: nothing was published
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

/** A login that is looked for in vain takes no signal. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
