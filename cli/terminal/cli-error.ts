/** An error printed without a stack trace: its first line gives place and problem, indented lines give reason and remedy. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, what: string, ...rest: readonly string[]) {
    super([what, ...rest.map((line) => `  ${line}`)].join('\n'));
    this.exitCode = exitCode;
  }
}

/** Exit codes of jobctl. `submit --wait` and `wait` pass the command's own exit code through if it failed with one. */
export const ExitCode = {
  /** Done; with `--wait`: the job succeeded. */
  Done: 0,
  /** The job failed without an exit code; `audit leaks` found a leak; or an unforeseen error. */
  Failed: 1,
  /** Wrong usage, or an invalid job file or configuration: nothing was done. */
  Usage: 2,
  NotFound: 3,
  /** Refused: the name is in use with other content, a worker or pool refused a job or a call, or nobody agreed to it. */
  Refused: 4,
  /** Temporal, a `jobctl serve`, the store or the cloud does not answer or denies access: the state of the job is unknown. */
  Unavailable: 5,
  /** `wait --timeout` or `delete --timeout` ran out. The job or the deletion continues. */
  TimedOut: 124,
  /** Ctrl-C (the job continues), or the job was cancelled. */
  Interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Exit codes for `jobctl --help`; docs/cli.md explains them at more length. */
export const EXIT_CODES_TEXT = `Exit codes:
  0    done; with --wait: the job succeeded
  1    the job failed without an exit code, or jobctl failed
  2    wrong usage, or a wrong file: nothing was submitted
  3    no such job, pool or machine
  4    refused: the name is in use with other content, or a pool refused the job
  5    Temporal, a server of jobctl, the store or the cloud does not answer, or nobody is logged in
  124  the time of wait --timeout or delete --timeout is over; what it waited for goes on
  130  Ctrl-C: the job continues, and nothing was changed; with --wait also: the job was cancelled
  With --wait, the exit code of a failed command is passed on.`;
