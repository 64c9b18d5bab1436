import type { AttemptRecord } from '../../contract/job-activities.js';
import type { JobResult, Outcome } from '../../domain/job-state.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Facts } from '../../domain/recovery/facts.js';

/**
 * The file that `jobctl export` writes, and test/incidents plays (docs/adr/0050). `expected` is the actual result of the job. If
 * that was wrong, write the correct result there: the test fails until jobctl decides so.
 */
export interface Incident {
  readonly format: 'jobctl-incident';
  readonly v: 1;
  readonly jobctl: string;
  readonly expected: Expected;
  readonly attempts: readonly AttemptRecord[];
  readonly outcome?: Outcome;
  /** The job's own log. */
  readonly log: readonly string[];
  readonly histories: readonly IncidentHistory[];
  /** Parts that are not in the file, with the reason. */
  readonly missing: readonly string[];
}

export interface IncidentHistory {
  readonly workflowId: string;
  readonly runId: string;
  readonly events: readonly unknown[];
}

export interface Expected {
  readonly attempts: readonly ExpectedAttempt[];
  readonly outcome: JobResult | 'goes on';
}

/** Absent values: neither hosts nor slices ended it (a cancel, an older record). */
export interface ExpectedAttempt {
  readonly attempt: number;
  readonly end?: Facts<'attempt ended'>['end'];
  /** The job's action afterwards. */
  readonly next?: string;
}

/** The action of a job after an attempt that ended so: `succeed`, `retry (preemption)`, `fail (task)`. */
export function afterText(facts: Facts<'attempt ended'>): string {
  const decision = decide('attempt ended', facts);
  if (decision.do === 'retry') return `retry (${decision.budget})`;
  return decision.do === 'fail' ? `fail (${decision.by})` : decision.do;
}

/** The outcome that follows from an attempt's own decision, or else the stored one (`told`). */
export function outcomeAfter(next: string | undefined, told: Outcome | undefined): Expected['outcome'] {
  if (next === 'succeed') return 'succeeded';
  if (next?.startsWith('fail') === true) return 'failed';
  return told?.result ?? 'goes on';
}

/** The result of the job according to its records. */
export function recordedExpectation(attempts: readonly AttemptRecord[], outcome: Outcome | undefined): Expected {
  const expected = attempts.map(({ attempt, ended }) => ({
    attempt,
    ...(ended && { end: ended.end, next: afterText(ended) }),
  }));
  return { attempts: expected, outcome: outcome?.result ?? 'goes on' };
}
