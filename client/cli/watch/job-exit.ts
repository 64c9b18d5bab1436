import { type JobRow, resultOf } from '../../job-rows.js';
import { ExitCode } from '../exit-codes.js';

/** The exit code that stands for the end of a job: the command's own where it failed with one. */
export function exitCodeOf(row: Pick<JobRow, 'phase' | 'outcome'>): number {
  switch (resultOf(row)) {
    case 'succeeded':
      return ExitCode.Done;
    case 'cancelled':
      return ExitCode.Interrupted;
    default:
      // A code of 0 beside a failure (a slice that was refused after a good attempt) must not pass for success.
      return row.outcome?.exitCode || ExitCode.Failed;
  }
}
