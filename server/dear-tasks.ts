import { readPoolState } from '../client/pool-state.js';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import { resolveJob } from '../domain/job-file/resolve.js';
import type { JobSpec } from '../domain/job-spec.js';
import { formatProblems } from '../domain/problem.js';
import { checkFiles, type PoolFiles } from '../quota/files/pool-files.js';
import type { Plan } from '../quota/plan.js';
import { publishedPlan } from '../quota/published-plan.js';

// What runs in a thread of `DearWork`. Each says how long it took, without the wait for a thread.

interface ResolveTask {
  readonly job: unknown;
  /** What the file of the job's pool gives, once that is known. */
  readonly pool?: PoolDefaults;
}

/** What a job file means, or every problem as `jobctl validate` prints it. */
export const resolve = ({ job, pool }: ResolveTask): Timed<{ readonly spec: JobSpec } | Wrong> =>
  timed(() => {
    const resolved = resolveJob(job, pool && { pool });
    return resolved.ok ? { spec: resolved.spec } : { problems: formatProblems(resolved.problems) };
  });

/** What `quota plan --output json` prints, and what was likely not meant. */
export interface ApiPlan extends Plan {
  readonly warnings?: readonly string[];
}

export interface PlanTask {
  readonly pool: string;
  readonly files: PoolFiles;
  readonly bucket: string;
  /** What was published of the pool. */
  readonly published: Uint8Array | undefined;
}

/** `unreadable`: what was published is of another version, or of somebody who may write the bucket. */
export async function plan({
  pool,
  files,
  bucket,
  published,
}: PlanTask): Promise<Timed<{ readonly plan: ApiPlan | undefined } | Wrong | { readonly unreadable: string }>> {
  const begun = performance.now();
  const done = <T>(result: T): Timed<T> => ({ ms: performance.now() - begun, result });
  const { quotaFile, poolFile } = files;
  const checked = quotaFile && checkFiles(files, pool);
  if (checked?.ok === false) return done({ problems: formatProblems(checked.problems) });
  try {
    const store = { bucket, read: async () => published && Buffer.from(published) };
    const state = await readPoolState(store, pool);
    if (state === undefined) return done({ plan: undefined });
    const planned = publishedPlan(state, checked && { config: checked.config, hasPoolFile: poolFile !== undefined });
    const warnings = checked?.warnings ?? [];
    return done({ plan: { ...planned, ...(warnings.length === 0 ? {} : { warnings }) } });
  } catch (error) {
    if (error instanceof RangeError) return done({ unreadable: error.message });
    throw error;
  }
}

interface Wrong {
  readonly problems: string;
}
interface Timed<T> {
  readonly ms: number;
  readonly result: T;
}

function timed<T>(work: () => T): Timed<T> {
  const begun = performance.now();
  const result = work();
  return { ms: performance.now() - begun, result };
}
