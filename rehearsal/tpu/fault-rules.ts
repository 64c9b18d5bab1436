import type { StatusName } from './api-error.js';

/** Calls that are refused. */
export interface Refusal {
  /** The RPC's name, or that of a method of the store; `*`: any; `Get*`: all that begin so. */
  readonly method: string;
  readonly status: StatusName;
  readonly message: string;
  /** Calls left to refuse; undefined = as many as come. */
  times: number | undefined;
  /** The call does what it should and only its answer is lost. */
  readonly afterEffect: boolean;
  readonly nameMatches: string | undefined;
  /** Only calls about this zone; those about every zone at once (`-`) are none of them. */
  readonly zone?: string | undefined;
  /**
   * Of a create call: it is accepted, and its operation fails (`operation`), or the queued resource that it made becomes FAILED
   * (`request`). Absent: the call itself is refused.
   */
  readonly as?: 'operation' | 'request' | undefined;
  /** ErrorInfo's, such as `LOCATION_POLICY_VIOLATED`. */
  readonly reason?: string | undefined;
  /** From then on it is over, epoch ms of the cloud's clock; undefined = until it is taken back. */
  readonly until?: number | undefined;
}

/** Resources that may not leave a state by themselves. Calls of the API and preemptions still move them. */
export interface Hold {
  readonly state: string;
  readonly nameMatches: string | undefined;
}

/** Lists show what was `lagMs` ago; single resources are read as they are. */
export interface ListLag {
  readonly lagMs: number;
  /** Since when, epoch ms of the cloud's clock: nothing older is shown. */
  readonly since: number;
}
