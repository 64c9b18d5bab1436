import type { JobRow } from '../../client/job-rows.js';

export const T0 = Date.UTC(2026, 10, 21, 12, 0, 0);

/** A running job of vision's; `over` says what matters. */
export function row(over: Partial<JobRow> = {}): JobRow {
  return {
    id: 'train-7f3k',
    project: 'vision',
    user: 'alice',
    slice: 'v5litepod-16',
    pool: 'default',
    phase: 'running',
    phaseSince: T0,
    submittedAt: T0,
    attempts: 1,
    why: 'attempt 1 on 4 hosts in us-central1-a',
    ...over,
  };
}
