import type { Fact } from './facts.js';

/** Errors that workers reported of one attempt, in a row. */
export type WorkerErrors = number;

export interface AfterError {
  readonly errors: WorkerErrors;
  readonly fact: Fact<'worker failed', 'errors'>;
  /** Before another worker is asked, in ms. */
  readonly pauseMs: number;
}

/** A call that went on for so long did its work until then: its error is the first of a new row, which alone ends nothing. */
export const HEALTHY_MS = 10 * 60_000;
const MOST_IN_A_ROW = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/**
 * A worker reported an error of a call that had gone on for `lastedMs`. Errors days apart are no row, however many they are.
 * The pause doubles from 2 s; a row of five takes about a minute, because its causes are those of a host or of a worker.
 */
export function afterWorkerError(before: WorkerErrors, lastedMs: number): AfterError {
  const errors = lastedMs >= HEALTHY_MS ? 1 : before + 1;
  return {
    errors,
    fact: errors > MOST_IN_A_ROW ? 'too many' : 'few',
    pauseMs: Math.min(FIRST_PAUSE_MS * 2 ** (errors - 1), LONGEST_PAUSE_MS),
  };
}
