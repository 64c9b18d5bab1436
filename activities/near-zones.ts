import { type BucketPlace, nearFirst } from '../domain/store-place.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';

/** Returns the place of a bucket, or undefined. May reject, or take long. @param login `none`: asks without a login */
export type PlaceOfBucket = (
  bucket: string,
  signal: AbortSignal,
  login: 'own' | 'none',
) => Promise<BucketPlace | undefined>;

interface Buckets {
  /** Absent: places cannot be known here. */
  readonly placeOf?: PlaceOfBucket | undefined;
  /** The installation's own bucket, for a job that mounts none. */
  readonly own: string;
  /**
   * Whether a server tells users apart. They have other rights than the worker, and the order of zones must not tell them the
   * place of a bucket that they may not read.
   */
  readonly isVerified?: boolean;
}

/**
 * The machines of a job that takes any zone, with zones near its buckets first. Among zones of which a pool has seen the same,
 * these are asked first (docs/adr/0119). If the place of a bucket is not known, the order is the pool file's.
 */
export async function withNearZones(
  machines: MachineRequest,
  { gcsfuse = [] }: Pick<JobSpec, 'gcsfuse'>,
  { placeOf, own, isVerified = false }: Buckets,
): Promise<MachineRequest> {
  if (!('tpu' in machines) || machines.tpu.anyZone !== true || placeOf === undefined) return machines;
  const mounted = [...new Set(gcsfuse.map(({ bucket }) => bucket))];
  const buckets = mounted.length === 0 ? [own] : mounted.slice(0, MOST_BUCKETS);
  const deadline = AbortSignal.timeout(MOST_MS);
  const loginFor = (bucket: string) => (isVerified && bucket !== own ? 'none' : 'own');
  const places = await Promise.all(
    buckets.map((bucket) => placeOf(bucket, deadline, loginFor(bucket)).catch(() => undefined)),
  );
  const known = places.filter((place) => place !== undefined);
  return { tpu: { ...machines.tpu, zones: nearFirst(known, machines.tpu.zones) } };
}

const MOST_BUCKETS = 10;
/** Time for all buckets together: a job waits for it to be accepted. */
const MOST_MS = 2_000;
