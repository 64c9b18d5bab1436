/** The reason why a command is stopped, as in its $JOBCTL_NOTICE_FILE (docs/job-states.md). */
export interface StopNotice {
  /**
   * `quota`: its chips go to another job, and it will run again. `cancel`: it will not run again. `attempt`: another host or
   * slice failed, or no host has printed anything for `timeouts.no_output`. `stop`: a person stopped, restarted or requeued it,
   * and it will run again when they say so. `preemption`: the provider takes the host, within 30 s on a Spot VM (the runner
   * itself writes this), another host of its gang, or, once their run duration is over, its slices (a stop writes both). `unattended`: no worker has contacted the host for
   * `max_unattended` (the runner writes this).
   */
  readonly cause: 'quota' | 'cancel' | 'attempt' | 'stop' | 'preemption' | 'unattended';
  /** One sentence. */
  readonly reason: string;
}
