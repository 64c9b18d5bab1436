import type { StatusName } from './api-error.js';

/** A rule that refuses calls. */
export interface Refusal {
  /** Name of an RPC or of a method of the store; `*`: any; `Get*`: all with that prefix. */
  readonly method: string;
  readonly status: StatusName;
  readonly message: string;
  /** Calls left to refuse; undefined: no limit. */
  times: number | undefined;
  /** The call takes effect and only its answer is lost. */
  readonly afterEffect: boolean;
  readonly nameMatches: string | undefined;
  /** Only calls about this zone; calls about all zones at once (`-`) are not among them. */
  readonly zone?: string | undefined;
  /**
   * For a create call: it is accepted, and its operation fails (`operation`), or the queued resource that it made becomes FAILED
   * (`request`). Absent: the call itself is refused.
   */
  readonly as?: 'operation' | 'request' | undefined;
  /** Reason in ErrorInfo, such as `LOCATION_POLICY_VIOLATED`. */
  readonly reason?: string | undefined;
  /** End of the rule, epoch ms of the cloud's clock; undefined: until it is taken back. */
  readonly until?: number | undefined;
}

/** Resources that may not leave a state by themselves. API calls and preemptions still move them. */
export interface Hold {
  readonly state: string;
  readonly nameMatches: string | undefined;
}

/** Lists show the state of `lagMs` ago; single resources are read as they are. */
export interface ListLag {
  readonly lagMs: number;
  /** Start of the lag, epoch ms of the cloud's clock: nothing older is shown. */
  readonly since: number;
}
