/**
 * The metrics of a worker, one list for the code, docs/metrics.md and the alert rules (deploy/prometheus/alerts.yml; a test
 * compares them), as Prometheus shows them; to histograms it adds `_bucket`, `_sum` and `_count`.
 */
export const Metric = {
  /** Gauge {phase}: open jobs of the namespace. Every worker says the same: take the maximum, not the sum. */
  OpenJobs: 'jobctl_open_jobs',
  /** Counter {result, by}: jobs that ended; `by` is whose failure it was, or `none`. */
  JobsEnded: 'jobctl_jobs_ended_total',
  /** Histogram {pool}: from asking for a lease to holding it. */
  QueueTime: 'jobctl_queue_time_seconds',
  /** Counter {end}: attempts that ended, and how. */
  Attempts: 'jobctl_attempts_total',
  /** Histogram {end}: one set-up of all hosts of an attempt. */
  SetUpTime: 'jobctl_set_up_time_seconds',
  /** Counter {pool}: leases granted, counted by the pool's workflow when it decides. */
  Grants: 'jobctl_grants_total',
  /** Counter {pool, cause}: leases that a pool took back: `quota`, `asking`, `parked`, or `drain` by an admin. */
  Revocations: 'jobctl_revocations_total',
  /** Gauge {pool}: jobs that wait for a lease. Of several workers take the maximum (activities/pool-gauges.ts). */
  WaitingJobs: 'jobctl_pool_waiting_jobs',
  /** Gauge {pool, project, type, state}: quota units of leases, over all tiers; of several workers the maximum. */
  LeasedUnits: 'jobctl_pool_leased_units',
  /** Gauge {pool}: slices whose deletion does not end, so that their chips count on; of several workers the maximum. */
  StuckDeletions: 'jobctl_stuck_deletions',
  /** Histogram: from a line's arrival at the worker to its being stored. */
  LogLag: 'jobctl_log_lag_seconds',
  /** Counter: resources of ours that no workflow knows, counted at each sweep of the janitor. */
  LeaksFound: 'jobctl_leaks_found_total',
  /** Counter: resources whose slice workflow was gone, and which a sweep had deleted. */
  LeaksReclaimed: 'jobctl_leaks_reclaimed_total',
  /** Counter: slices whose job is closed and whose workflow is not, counted at each sweep of the janitor. */
  StuckSlices: 'jobctl_stuck_slices_total',
  /** Counter {scope}: slices that the provider refused to a job. `installation`: a person has to act. */
  Refusals: 'jobctl_slice_refusals_total',
  /** Counter {pool, kind}: machines that jobs were moved away from because they broke the command. */
  BrokenMachines: 'jobctl_broken_machines_total',
  /** Counter {workflow, signal, reason}: messages that a workflow dropped, `malformed`, or kept, `unknown-version`. */
  RefusedMessages: 'jobctl_refused_messages_total',
  /** Counter: sweeps of the janitor that came to their end. */
  Sweeps: 'jobctl_sweeps_total',
  /** Counter {api, method, code}: calls to Google; code is gRPC's name, or the port's error. */
  CloudCalls: 'jobctl_cloud_calls_total',
} as const;
export type Metric = (typeof Metric)[keyof typeof Metric];

/** Upper bounds in seconds: log lag is of seconds, set-up of minutes, a queue of hours or days. */
export const HISTOGRAM_BUCKETS: Readonly<Partial<Record<Metric, readonly number[]>>> = {
  [Metric.QueueTime]: [1, 10, 60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600, 72 * 3_600],
  [Metric.SetUpTime]: [1, 5, 15, 30, 60, 120, 300, 600, 1_200, 3_600],
  [Metric.LogLag]: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900],
};

/** The name to make a counter with: the exporter adds `_total` to it. */
export const counterName = (name: Metric): string => name.replace(/_total$/, '');
