import type { Fact } from './facts.js';

/**
 * The budget that pays for another try (docs/design.md, "Separate budgets"). Only `task` is the user's fault. `requested` pays
 * for starts that the command itself asked for (`command.restart_on`).
 */
export type Budget = 'preemption' | 'infrastructure' | 'task' | 'requested';

/** Retries by budget: allowed by the job file (`retries`), or used. Each 0 or more. */
export type Retries = { readonly [B in Budget]: number };

/** Says which budgets can pay for another attempt: n allowed retries are n more attempts, never n + 1. */
export function budgetLeft(used: Retries, allowed: Retries): { readonly [B in Budget]: 'left' | 'spent' } {
  const left = (budget: Budget) => (used[budget] < allowed[budget] ? 'left' : 'spent');
  return {
    preemption: left('preemption'),
    infrastructure: left('infrastructure'),
    task: left('task'),
    requested: left('requested'),
  };
}

/** For a job that has used no retry. */
export const NO_RETRIES: Retries = { preemption: 0, infrastructure: 0, task: 0, requested: 0 };

/** Takes one retry from `budget`. */
export const charge = (used: Retries, budget: Budget): Retries => ({ ...used, [budget]: used[budget] + 1 });

/** Number of ends in a row that came within `QUICK_MS` of their start. */
export type QuickEnds = number;

const QUICK_MS = 60_000;
const MOST_QUICK_ENDS = 10;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/**
 * Pause before the next start of a command that loops, in ms. It is a second after a command that ran for a while, and doubles
 * while the command ends quickly. After about 9 min of such pauses the loop gives up: there is no `pauseMs`.
 */
export function afterEnd(before: QuickEnds, lastedMs: number): { quickEnds: QuickEnds; pauseMs?: number } {
  const quickEnds = lastedMs < QUICK_MS ? before + 1 : 0;
  if (quickEnds >= MOST_QUICK_ENDS) return { quickEnds };
  const doublings = Math.max(0, quickEnds - 1);
  return { quickEnds, pauseMs: Math.min(FIRST_PAUSE_MS * 2 ** doublings, LONGEST_PAUSE_MS) };
}

export const gaveUpText = (lastEnd: string): string =>
  `${lastEnd}; it ended ${MOST_QUICK_ENDS} times in a row, each within ${QUICK_MS / 1000} s of its start, so its loop gives up`;

/** Errors in a row that workers reported of one attempt. */
export type WorkerErrors = number;

interface AfterError {
  readonly errors: WorkerErrors;
  readonly fact: Fact<'worker failed', 'errors'>;
  /** Pause before another worker is asked, in ms. */
  readonly pauseMs: number;
}

/** Duration of a call from which its error starts a new count: it worked until then. One error alone ends no attempt. */
export const HEALTHY_MS = 10 * 60_000;
const MOST_IN_A_ROW = 5;
const FIRST_ERROR_PAUSE_MS = 2_000;
const LONGEST_ERROR_PAUSE_MS = 5 * 60_000;

/**
 * Counts an error that a worker reported of a call that had run for `lastedMs`. Errors days apart never add up, however many they
 * are. The pause doubles from 2 s, so that five errors in a row take about a minute.
 */
export function afterWorkerError(before: WorkerErrors, lastedMs: number): AfterError {
  const errors = lastedMs >= HEALTHY_MS ? 1 : before + 1;
  return {
    errors,
    fact: errors > MOST_IN_A_ROW ? 'too many' : 'few',
    pauseMs: Math.min(FIRST_ERROR_PAUSE_MS * 2 ** (errors - 1), LONGEST_ERROR_PAUSE_MS),
  };
}
