import type { AskedAfter, AskedGroup } from '../oracle/evidence.js';
import type { Draws } from '../random.js';
import { askedOf, type DrawnJob, drawJob, type JobDraw } from './jobs.js';

/** A group of a seed: its submission, as of a job, and what the oracle is told. */
export interface DrawnGroup extends DrawnJob {
  readonly size: number;
  readonly maxParallel?: number;
  readonly isFailFast?: true;
}

/** What is submitted together, each behind those that it waits for. */
export interface DrawnFamilies {
  readonly jobs: readonly DrawnJob[];
  readonly groups: readonly DrawnGroup[];
}

/** Seeds with fewer jobs have the group of the chain alone. */
const LEAST_JOBS_FOR_SWEEP = 8;
/** Number of jobs of a seed that are not drawn alone, so that it has about as many as it is asked for. */
export const familySize = (count: number): number => (count < LEAST_JOBS_FOR_SWEEP ? 0 : 7);
const AFTER = ['ok', 'ok', 'any', 'any', 'not_ok'] as const;

/**
 * Draws a chain whose first part is the first job that stands alone, its middle a group, and its end a job; and, unless the seed is
 * small, a sweep.
 */
export function drawFamilies(draws: Draws, of: JobDraw, alone: readonly DrawnJob[]): DrawnFamilies {
  const [head] = alone;
  if (head === undefined) return { jobs: [], groups: [] };
  const isSmall = of.count < LEAST_JOBS_FOR_SWEEP;
  const mid = drawGroup(draws.part(1), of, {
    id: `c${of.seed}-mid`,
    size: isSmall ? 2 : 3,
    submitAt: head.submitAt,
    after: drawAfter(draws, head.id),
  });
  const last = drawJob(draws.part(2), {
    ...of,
    id: `c${of.seed}-last`,
    isSmall: true,
    ...afterOf(drawAfter(draws, mid.id)),
  });
  const jobs = [{ ...last, submitAt: head.submitAt }];
  if (isSmall) return { jobs, groups: [mid] };
  const sweep = drawGroup(draws.part(3), of, {
    id: `c${of.seed}-sweep`,
    size: draws.between(4, 5),
    submitAt: draws.next() * head.submitAt,
  });
  return { jobs, groups: [mid, sweep] };
}

const drawAfter = (draws: Draws, of: string): AskedAfter => ({ kind: draws.pick(AFTER), of });
const afterOf = (after: AskedAfter | undefined): { readonly after?: AskedAfter } =>
  after === undefined ? {} : { after };

interface GroupDraw {
  readonly id: string;
  readonly size: number;
  readonly submitAt: number;
  readonly after?: AskedAfter;
}

function drawGroup(draws: Draws, of: JobDraw, { id, size, submitAt, after }: GroupDraw): DrawnGroup {
  const job = drawJob(draws, { ...of, id, isSmall: true, isArray: true, ...afterOf(after) });
  const maxParallel = draws.chance(0.7) ? draws.between(1, 3) : undefined;
  const isFailFast = draws.chance(0.3);
  const array = {
    matrix: { n: `1..${size}` },
    ...(maxParallel !== undefined && { max_parallel: maxParallel }),
    ...(isFailFast && { fail_fast: true }),
  };
  const kind = `${size} members${maxParallel === undefined ? '' : `, ${maxParallel} at once`}${isFailFast ? ', fail_fast' : ''}, of ${job.kind}`;
  return {
    ...{ ...job, size, kind, submitAt, file: { ...job.file, array } },
    ...(maxParallel !== undefined && { maxParallel }),
    ...(isFailFast && { isFailFast }),
  };
}

/** The part of a group that the oracle is told. */
export const askedGroupOf = ({ size, maxParallel, isFailFast, ...job }: DrawnGroup): AskedGroup => ({
  ...{ ...askedOf(job), size },
  ...(maxParallel !== undefined && { maxParallel }),
  ...(isFailFast && { isFailFast }),
});
