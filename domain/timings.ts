/**
 * Waiting times of jobctl. One object, chosen by the worker's configuration and handed to workflows as plain JSON, so that a
 * rehearsal or a test can shorten all of them together. In milliseconds unless the name says otherwise.
 */
export interface Timings {
  /** After a create call without a definite answer: time for which NOT_FOUND must hold before the slice counts as gone. */
  readonly createSettleMs: number;
  /** Time for which a slice may be READY without all hosts' addresses. A host without one by then never got it (marin#532). */
  readonly incompleteMs: number;
  /** Time after which a deletion that has not ended is stuck: it is reported, and a person may give it up (docs/adr/0099). */
  readonly giveBackMs: number;
  /** Least time between two NOT_FOUND answers that are evidence. */
  readonly notFoundApartMs: number;
  /** Silence after which activities that hold a worker's connections are given up. */
  readonly heartbeatTimeoutMs: number;
  /** Time for a claimed worker to pick up its next activity before another worker is claimed. */
  readonly claimTimeoutMs: number;
  /** Interval at which the workflow of a quiet pool compares its leases with open jobs and slices. */
  readonly reconcileMs: number;
  /**
   * Interval at which workers look whether a pool's files have changed, or a holder of its leases was terminated (docs/adr/0151).
   * A pool in which a job waits, or a lease is on its way, makes this comparison itself, as often.
   */
  readonly poolLookMs: number;
  /** Interval at which one of the workers looks whether the janitor has something to do (docs/adr/0152). */
  readonly sweepLookMs: number;
  /** Time for which a quota workflow that lost its state lets visibility settle before it reads the open work. */
  readonly rebuildSettleMs: number;
  /**
   * Longest time that a rebuilding quota workflow waits for jobs that do not say what they hold (docs/adr/0035). Longer than a
   * worker's restart, shorter than people's patience with a pool that grants nothing.
   */
  readonly rebuildBoundMs: number;
  /** Time from a job's end until the janitor replaces its slice if the slice's workflow tasks fail (docs/adr/0035). */
  readonly wedgedSliceMs: number;
  /** The longest single supervision activity. Between two of them the job may continue as new. */
  readonly superviseMs: number;
  /** Interval of the signs of life that a host writes into the store while its command runs (docs/adr/0046). */
  readonly signOfLifeMs: number;
  /** A sign of life that has not been renewed for this long is stale. Several times `signOfLifeMs`. */
  readonly signStaleMs: number;
  /** Interval of looks for evidence about a host that does not answer. */
  readonly unreachableLookMs: number;
  /** First wait before a zone is asked again. It doubles up to `zoneBackoffMaxMs`. */
  readonly zoneBackoffMs: number;
  readonly zoneBackoffMaxMs: number;
  /** Time for which one of several zones is asked alone, unless `timeouts.provision` says otherwise (docs/adr/0101). */
  readonly zonePatienceMs: number;
  /** The same for a job with preempted slices, until it has all of them again. A place in line is kept for `zonePatienceMs`. */
  readonly zonePatiencePreemptedMs: number;
  /** History events after which a job continues as new between two supervision activities. */
  readonly jobHistoryEvents: number;
  /** History events and bytes after which the quota workflow continues as new. */
  readonly quotaHistoryEvents: number;
  readonly quotaHistoryBytes: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Waiting times of a worker whose configuration sets no others. */
export const DEFAULT_TIMINGS: Timings = {
  createSettleMs: 15 * MINUTE,
  incompleteMs: 10 * MINUTE,
  giveBackMs: 15 * MINUTE,
  notFoundApartMs: 5 * SECOND,
  heartbeatTimeoutMs: 90 * SECOND,
  claimTimeoutMs: 15 * SECOND,
  reconcileMs: 10 * MINUTE,
  poolLookMs: 30 * SECOND,
  sweepLookMs: 5 * MINUTE,
  rebuildSettleMs: 5 * SECOND,
  rebuildBoundMs: 2 * MINUTE,
  wedgedSliceMs: 5 * MINUTE,
  superviseMs: 24 * 60 * MINUTE,
  signOfLifeMs: 2 * MINUTE,
  signStaleMs: 10 * MINUTE,
  unreachableLookMs: MINUTE,
  zoneBackoffMs: 15 * SECOND,
  zoneBackoffMaxMs: 10 * MINUTE,
  zonePatienceMs: 10 * MINUTE,
  zonePatiencePreemptedMs: 2 * MINUTE,
  jobHistoryEvents: 10_000,
  quotaHistoryEvents: 2_000,
  quotaHistoryBytes: 2_000_000,
};

/** Completes the timings of a message whose sender may be of an earlier build and not know newer ones. */
export const wholeTimings = (timings: Partial<Timings>): Timings => ({ ...DEFAULT_TIMINGS, ...timings });
