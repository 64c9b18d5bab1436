/** What jobctl exits with. `submit --wait` and `wait` pass the command's own code through where it failed with one. */
export const ExitCode = {
  /** Done; with `--wait`: the job succeeded. */
  Done: 0,
  /** The job failed without an exit code of its own; `audit leaks` found a leak; anything unforeseen. */
  Failed: 1,
  /** Usage, or a job file or configuration that is wrong: nothing was done. */
  Usage: 2,
  NotFound: 3,
  /** Refused: the name is in use with other content; a worker or pool refused a job or a call, or nobody agreed. */
  Refused: 4,
  /** Temporal, a `jobctl serve`, the store or the cloud does not answer, or lets nobody in: nothing is known of the job. */
  Unavailable: 5,
  /** `wait --timeout` or `delete --timeout` ran out; what was waited for goes on. */
  TimedOut: 124,
  /** Ctrl-C (the job goes on), or the job was cancelled. */
  Interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** For `jobctl --help`; docs/cli.md says the same at more length. */
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
