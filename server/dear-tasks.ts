import type { PoolFileText } from '../client/pool-client.js';
import { readPoolState } from '../client/pool-state.js';
import type { JobArray } from '../domain/array/array.js';
import { assignAll, type Assignment } from '../domain/job-file/edit.js';
import type { Environment } from '../domain/job-file/interpolation.js';
import { parseJobFile } from '../domain/job-file/parse.js';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import { resolveJob } from '../domain/job-file/resolve.js';
import type { JobSpec } from '../domain/job-spec.js';
import { formatProblems } from '../domain/problem.js';
import { checkFiles, type PoolFiles } from '../quota/files/pool-files.js';
import { parseQuotaFile } from '../quota/files/quota-file.js';
import { type Plan, publishedPlan } from '../quota/plan.js';

// The tasks that run in a thread of `DearWork`. Each reports its duration without the wait for a thread.

export interface ReadTask {
  readonly job?: unknown;
  readonly file?: { readonly name: string; readonly text: string } | undefined;
  readonly env?: Environment | undefined;
}

/** Reads a job file, as text or JSON, in the submitter's environment, or returns every problem with its place. */
export const read = ({ job, file, env = {} }: ReadTask): Timed<{ readonly job: unknown } | Wrong> =>
  timed(() => {
    const parsed =
      file === undefined
        ? resolveJob(job, { env, mayBuild: true, mayBeArray: true })
        : parseJobFile(file.text, { file: file.name, env, mayBeArray: true });
    return parsed.ok ? { job: parsed.raw } : { problems: formatProblems(parsed.problems) };
  });

interface ResolveTask {
  readonly job: unknown;
  /** The defaults of the job's pool file, once the pool is known. */
  readonly pool?: PoolDefaults;
}

/** A resolved job file; with an array, the spec is that of its first member. */
export interface ResolvedFile {
  readonly spec: JobSpec;
  readonly array?: JobArray;
}

/** Resolves a job file, or returns every problem as `jobctl validate` prints it. */
export const resolve = ({ job, pool }: ResolveTask): Timed<ResolvedFile | Wrong> =>
  timed(() => {
    const resolved = resolveJob(job, { mayBeArray: true, ...(pool && { pool }) });
    if (!resolved.ok) return { problems: formatProblems(resolved.problems) };
    return { spec: resolved.spec, ...(resolved.array && { array: resolved.array }) };
  });

interface EditTask {
  readonly job?: unknown;
  readonly set?: readonly Assignment[];
}

/** Problems of an edit that show without the file in force. `set` without a file has none: it is resolved for its cost. */
export const edit = ({ job, set = [] }: EditTask): Timed<{ readonly problems?: string }> =>
  timed(() => {
    const assigned = assignAll(job ?? {}, set);
    if ('blocked' in assigned) return {};
    const resolved = resolveJob(assigned.tree);
    return job === undefined || resolved.ok ? {} : { problems: formatProblems(resolved.problems) };
  });

/** Names of the projects of a quota file; empty if the file is wrong, which the worker reports. */
export const projects = ({ name, text }: PoolFileText): Timed<readonly string[]> =>
  timed(() => {
    const parsed = parseQuotaFile(text, name);
    return parsed.ok ? parsed.config.projects.map((project) => project.name) : [];
  });

/** The plan that `quota plan --output json` prints, with warnings about likely mistakes. */
export interface ApiPlan extends Plan {
  readonly warnings?: readonly string[];
}

export interface PlanTask {
  readonly pool: string;
  readonly files: PoolFiles;
  readonly bucket: string;
  /** The pool's published state. */
  readonly published: Uint8Array | undefined;
}

/** `unreadable`: the pool's published state was written by another version, or by another writer with access to the bucket. */
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
