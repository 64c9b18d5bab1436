import type { EpochMs } from '../../../domain/units.js';
import type { FailingTask } from '../../../client/job-executions.js';
import { oneLine } from './columns.js';
import { formatDuration } from './quantities.js';

/** `stands still, attempt 4 of its workflow task after 5m 02s: ERROR`. */
export function failingText({ attempt, since, error }: FailingTask, now: EpochMs): string {
  const after = since === undefined ? '' : ` after ${formatDuration(Math.max(0, now - since))}`;
  return `stands still, attempt ${attempt} of its workflow task${after}${error === undefined ? '' : `: ${oneLine(error)}`}`;
}

/** The meaning of a failing task, and the remedy. */
export const FAILING_REMEDY =
  'What runs on its slices runs on, unwatched, and nothing that it holds is given to others. It hears nothing, `cancel` included, until its workflow task succeeds. ' +
  'Tell who runs the worker: docs/operations.md, "A workflow that stands still".';
