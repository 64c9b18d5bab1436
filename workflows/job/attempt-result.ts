import { ActivityFailure } from '@temporalio/workflow';
import type { AttemptEnd, SetUpEnd } from '../../activities/contract.js';
import { reasonOf } from './claimed-worker.js';
import type { Interruption } from './interruption.js';

/** The pool, a person or a clock ended it: the command was stopped, or had not begun. */
export interface Interrupted {
  readonly kind: Interruption['end'];
}

/** How an attempt ended, as the job decides on it. `pause`: nothing ended; the job may continue as new here. */
export type AttemptResult =
  | Exclude<AttemptEnd, { kind: 'handed-over' | 'still-running' | 'fenced' }>
  | Extract<SetUpEnd, { kind: 'module-failed' | 'host-bad' }>
  | { readonly kind: 'worker-failed'; readonly message: string }
  | Interrupted
  | { readonly kind: 'pause' };

/** An error that is no activity's is a bug of ours: it fails the workflow task, which retries and stays visible. */
export function workerFailure(error: unknown): AttemptResult {
  if (!(error instanceof ActivityFailure)) throw error;
  return { kind: 'worker-failed', message: reasonOf(error) };
}
