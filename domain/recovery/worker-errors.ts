import type { Fact } from './facts.js';

/** Errors in a row that workers reported of one attempt. */
export type WorkerErrors = number;

export interface AfterError {
  readonly errors: WorkerErrors;
  readonly fact: Fact<'worker failed', 'errors'>;
  /** Pause before another worker is asked, in ms. */
  readonly pauseMs: number;
}

/** A call that ran for this long did its work until then. Its error is the first of a new row, which alone ends nothing. */
export const HEALTHY_MS = 10 * 60_000;
const MOST_IN_A_ROW = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/**
 * Counts an error that a worker reported of a call that had run for `lastedMs`. Errors days apart are not a row, however many.
 * The pause doubles from 2 s. A row of five takes about a minute, because its causes are those of a host or of a worker.
 */
export function afterWorkerError(before: WorkerErrors, lastedMs: number): AfterError {
  const errors = lastedMs >= HEALTHY_MS ? 1 : before + 1;
  return {
    errors,
    fact: errors > MOST_IN_A_ROW ? 'too many' : 'few',
    pauseMs: Math.min(FIRST_PAUSE_MS * 2 ** (errors - 1), LONGEST_PAUSE_MS),
  };
}
