/**
 * The metrics of a worker with their names in Prometheus, which adds `_bucket`, `_sum` and `_count` to histograms. This is the
 * one list for the code, docs/metrics.md and the alert rules (deploy/prometheus/alerts.yml); a test compares them.
 */
export const Metric = {
  /** Gauge {phase}: open jobs of the namespace. Every worker reports the same: take the maximum, not the sum. */
  OpenJobs: 'jobctl_open_jobs',
  /** Counter {result, by}: jobs that ended. `by`: the budget that a failure is charged to, or `none`. */
  JobsEnded: 'jobctl_jobs_ended_total',
  /** Histogram {pool}: from the request for a lease to its grant. */
  QueueTime: 'jobctl_queue_time_seconds',
  /** Counter {end}: attempts that ended, by their end. */
  Attempts: 'jobctl_attempts_total',
  /** Histogram {end}: one set-up of all hosts of an attempt. */
  SetUpTime: 'jobctl_set_up_time_seconds',
  /** Counter {pool}: leases granted. The pool's workflow counts them when it decides. */
  Grants: 'jobctl_grants_total',
  /** Counter {pool, cause}: leases that a pool revoked: `quota`, `asking`, `parked`, or `drain` by an admin. */
  Revocations: 'jobctl_revocations_total',
  /** Gauge {pool}: jobs that wait for a lease. Take the maximum over workers (activities/quota-publisher.ts). */
  WaitingJobs: 'jobctl_pool_waiting_jobs',
  /** Gauge {pool, project, type, state}: quota units of leases, over all tiers. Take the maximum over workers. */
  LeasedUnits: 'jobctl_pool_leased_units',
  /** Gauge {pool}: slices whose deletion does not end, so that their chips still count. Take the maximum over workers. */
  StuckDeletions: 'jobctl_stuck_deletions',
  /** Histogram: from a line's arrival at the worker until it is stored. */
  LogLag: 'jobctl_log_lag_seconds',
  /** Counter: resources of ours that no workflow knows, counted in each sweep of the janitor. */
  LeaksFound: 'jobctl_leaks_found_total',
  /** Counter: resources without their slice workflow that a sweep had deleted. */
  LeaksReclaimed: 'jobctl_leaks_reclaimed_total',
  /** Counter: slices whose job is closed but whose workflow is open, counted in each sweep of the janitor. */
  StuckSlices: 'jobctl_stuck_slices_total',
  /** Counter {scope}: slices that the provider refused to a job. `installation`: a person must act. */
  Refusals: 'jobctl_slice_refusals_total',
  /** Counter {pool, kind}: machines that jobs were moved away from because they broke the command. */
  BrokenMachines: 'jobctl_broken_machines_total',
  /** Counter {workflow, signal, reason}: messages that a workflow dropped (`malformed`) or kept (`unknown-version`). */
  RefusedMessages: 'jobctl_refused_messages_total',
  /** Counter: completed sweeps of the janitor, and looks of a worker that found no need for a sweep. */
  Sweeps: 'jobctl_sweeps_total',
  /** Counter {api, method, code}: calls to Google; code is gRPC's name, or the port's error. */
  CloudCalls: 'jobctl_cloud_calls_total',
} as const;
export type Metric = (typeof Metric)[keyof typeof Metric];

/** Upper bounds in seconds: log lag takes seconds, set-up minutes, a queue hours or days. */
export const HISTOGRAM_BUCKETS: Readonly<Partial<Record<Metric, readonly number[]>>> = {
  [Metric.QueueTime]: [1, 10, 60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600, 72 * 3_600],
  [Metric.SetUpTime]: [1, 5, 15, 30, 60, 120, 300, 600, 1_200, 3_600],
  [Metric.LogLag]: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900],
};

/** The name for creating a counter: the exporter appends `_total`. */
export const counterName = (name: Metric): string => name.replace(/_total$/, '');
