/**
 * How long jobctl waits for what. One object, chosen by the worker's configuration and handed to workflows as plain JSON,
 * so that a rehearsal or a test can shorten all of them together. All in milliseconds unless the name says otherwise.
 */
export interface Timings {
  /** After a create call without a definite answer, how long NOT_FOUND must hold before the slice counts as gone. */
  readonly createSettleMs: number;
  /** How long a slice may be READY without the addresses of all its hosts; a host without one by then never got it (marin#532). */
  readonly incompleteMs: number;
  /** After how long a deletion that has not ended is stuck: it is told, and a person may give it up (docs/adr/0099). */
  readonly giveBackMs: number;
  /** How far apart two NOT_FOUND answers must lie to be evidence. */
  readonly notFoundApartMs: number;
  /** Activities that hold a worker's connections are given up after this silence. */
  readonly heartbeatTimeoutMs: number;
  /** How long a claimed worker may take to pick up its next activity before another is claimed. */
  readonly claimTimeoutMs: number;
  /** How often the quota workflow compares its leases with open jobs and slices. */
  readonly reconcileMs: number;
  /** How long a quota workflow that lost its state waits for visibility to settle before it reads what is open. */
  readonly rebuildSettleMs: number;
  /**
   * How long it then waits, at most, for jobs that do not say what they hold (docs/adr/0035). Longer than a worker's restart,
   * shorter than anybody's patience with a pool that grants nothing.
   */
  readonly rebuildBoundMs: number;
  /** How long after its job closed a slice whose workflow tasks fail is replaced by the janitor (docs/adr/0035). */
  readonly wedgedSliceMs: number;
  /** The longest single supervision activity; between two of them the job may continue as new. */
  readonly superviseMs: number;
  /** Between two signs of life that a host writes into the store while its command runs (docs/adr/0046). */
  readonly signOfLifeMs: number;
  /** A sign of life that has not been renewed for this long is stale. Several times `signOfLifeMs`. */
  readonly signStaleMs: number;
  /** Between two looks for evidence about a host that does not answer. */
  readonly unreachableLookMs: number;
  /** First wait before a zone is asked again; doubles up to `zoneBackoffMaxMs`. */
  readonly zoneBackoffMs: number;
  readonly zoneBackoffMaxMs: number;
  /** How long one of several zones is asked alone, where `timeouts.provision` does not say (docs/adr/0101). */
  readonly zonePatienceMs: number;
  /** The same of a job whose slices were preempted, until it has all of them again. A place in line is kept for `zonePatienceMs`. */
  readonly zonePatiencePreemptedMs: number;
  /** History events after which a job continues as new between two supervision activities. */
  readonly jobHistoryEvents: number;
  /** History events and bytes after which the quota workflow continues as new. */
  readonly quotaHistoryEvents: number;
  readonly quotaHistoryBytes: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** What a worker waits that is not configured otherwise. */
export const DEFAULT_TIMINGS: Timings = {
  createSettleMs: 15 * MINUTE,
  incompleteMs: 10 * MINUTE,
  giveBackMs: 15 * MINUTE,
  notFoundApartMs: 5 * SECOND,
  heartbeatTimeoutMs: 60 * SECOND,
  claimTimeoutMs: 15 * SECOND,
  reconcileMs: 30 * SECOND,
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

/** Timings of a message whose sender may be of an earlier build, and not know those that came since. */
export const wholeTimings = (timings: Partial<Timings>): Timings => ({ ...DEFAULT_TIMINGS, ...timings });
