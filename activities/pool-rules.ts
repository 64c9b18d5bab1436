import { buildChoices } from '../domain/build/choices.js';
import { choicesOf } from '../domain/job-choices.js';
import { inputSizeProblem } from '../domain/job-input-size.js';
import type { JobSpec } from '../domain/job-spec.js';
import { formatProblems } from '../domain/problem.js';
import type { JobInput, JobSettings } from '../contract/job.js';
import { allowedIn, allowedInEdits, notAllowed } from '../quota/allow/allowed.js';
import { floorProblem } from '../quota/pool-limits.js';
import type { QuotaConfig } from '../quota/quota-config.js';
import { invalidJob } from './failures.js';
import type { Installation } from './dependencies.js';
import type { LoadedPool } from './pool-source.js';

interface Question {
  /** The job file, with its machines as the pool completes them. */
  readonly spec: JobSpec;
  readonly input: JobInput;
  readonly pool: LoadedPool;
  readonly config: QuotaConfig;
  /** The quota project. */
  readonly project: string;
  readonly installation: Pick<Installation, 'googleProject' | 'trust'>;
}

/**
 * Checks what the pool's file forbids to a job: choices, a priority, its size.
 * @returns the limits and choices that the job is held to later, for its settings
 * @throws InvalidJob with all that is forbidden
 */
export function underPoolRules(question: Question): Pick<JobSettings, 'limits' | 'allowed'> {
  const { spec, input, pool, config, project, installation } = question;
  const { choices = { pool: spec.pool, admins: [], gives: {} }, limits } = pool;
  // A pool with verified users allows only what its file allows, even if the file has no `[allow]` (docs/adr/0075).
  const mode = { isStrict: installation.trust.isVerified(spec.pool), googleProject: installation.googleProject };
  const allowed = allowedIn(choices, mode);
  const floors = config.kind === 'limited' ? config.rules?.priorityFloors : undefined;
  const problems = [
    inputSizeProblem(input, limits?.inputBytes),
    floorProblem(floors, project, spec.priority),
    allowed && formatProblems(notAllowed(allowed, [...choicesOf(spec), ...buildChoices(input.job, spec)])),
  ].filter((problem) => problem !== undefined && problem !== '');
  if (problems.length > 0) throw invalidJob(problems.join('\n'));
  const { logBytesPerAttempt, inputBytes, requestsPerJob } = limits ?? {};
  const kept = {
    ...(logBytesPerAttempt !== undefined && { logBytesPerAttempt }),
    ...(inputBytes !== undefined && { inputBytes }),
    ...(requestsPerJob !== undefined && { requestsPerJob }),
  };
  return {
    ...(Object.keys(kept).length > 0 && { limits: kept }),
    ...(allowed && { allowed: allowedInEdits(allowed) }),
  };
}
