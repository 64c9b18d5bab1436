import { ActivityFailure } from '@temporalio/workflow';
import type { AttemptEnd, SetUpEnd } from '../../activities/contract.js';
import type { UnreadyHosts } from '../../domain/unready-hosts.js';
import { reasonOf } from './claimed-worker.js';
import type { Interruption } from './interruption.js';

/** The pool, a person or a clock ended it: the command was stopped, or had not begun. */
export interface Interrupted {
  readonly kind: Interruption['end'];
  /** Of a set-up whose time was over, where its worker could tell. */
  readonly unready?: UnreadyHosts;
}

/** How an attempt ended, as the job decides on it. `pause`: nothing ended; the job may continue as new here. */
export type AttemptResult =
  | Exclude<AttemptEnd, { kind: 'handed-over' | 'still-running' | 'fenced' }>
  | Extract<SetUpEnd, { kind: 'module-failed' | 'host-bad' }>
  | { readonly kind: 'worker-failed'; readonly message: string }
  | Interrupted
  | { readonly kind: 'pause' };

/** What a set-up came to that was ended for the sake of something else. @param late undefined: its worker is gone */
export function afterSetUpWasEnded(end: Interruption['end'], late: SetUpEnd | undefined): SetUpEnd | Interrupted {
  // Evidence is evidence, whoever asked for what.
  if (late?.kind === 'slices-lost' || late?.kind === 'ended-before') return late;
  if (end !== 'set-up-timed-out' || late === undefined) return { kind: end };
  // Time ran out as it came to its own end.
  if (late.kind !== 'handed-over') return late;
  return { kind: end, ...(late.unready && { unready: late.unready }) };
}

/** An error that is no activity's is a bug of ours: it fails the workflow task, which retries and stays visible. */
export function workerFailure(error: unknown): AttemptResult {
  if (!(error instanceof ActivityFailure)) throw error;
  return { kind: 'worker-failed', message: reasonOf(error) };
}
