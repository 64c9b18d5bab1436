/** Why a command is stopped, as it may read in its $JOBCTL_NOTICE_FILE (docs/job-states.md). */
export interface StopNotice {
  /**
   * `quota`: its chips go to somebody else, and it will run again. `cancel`: it will not. `attempt`: another host or slice
   * failed, or no host has printed anything for `timeouts.no_output`. `stop`: a person stopped, restarted or requeued it, and
   * it will run again when they say so. `preemption`: the provider takes the host, within 30 s on a Spot VM, written by
   * the runner itself; or another host of its gang, written by a stop. `unattended`: no worker has spoken with the host for `max_unattended`; the same.
   */
  readonly cause: 'quota' | 'cancel' | 'attempt' | 'stop' | 'preemption' | 'unattended';
  /** One sentence. */
  readonly reason: string;
}
