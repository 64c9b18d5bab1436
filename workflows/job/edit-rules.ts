import { choicesOf } from '../../domain/job-choices.js';
import { inputSizeProblem } from '../../domain/job-input-size.js';
import { formatProblems } from '../../domain/problem.js';
import type { JobSettings } from '../../contract/job.js';
import { notAllowed } from '../../quota/allow/allowed.js';
import { refusal } from '../human-call.js';
import type { JobEdit } from './job-file.js';

/**
 * Applies the pool's rules that a job was accepted under to an edit of it. Only validators call it: an edit that a history has
 * taken is not judged again (docs/adr/0075).
 * @throws refusal
 */
export function mustBeUnderRules(edit: JobEdit | undefined, { allowed, limits }: JobSettings): void {
  if (edit === undefined) return;
  const { spec, ...carried } = edit;
  const size = inputSizeProblem(carried, limits?.inputBytes);
  if (size !== undefined) throw refusal(size);
  const problems = allowed === undefined ? [] : notAllowed(allowed, choicesOf(spec));
  if (problems.length > 0) throw refusal(formatProblems(problems));
}
