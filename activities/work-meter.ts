import type { LeasedUnits } from '../quota/pool-accounts.js';
import type { JanitorReport } from '../contract/janitor.js';
import type { SetUpEnd } from '../contract/job-activities.js';

/** Metrics that a worker counts of its own work; `domain/metric-names.ts` explains each. */
export interface WorkMeter {
  setUp(seconds: number, end: SetUpEnd['kind'] | 'error'): void;
  logLag(seconds: number): void;
  waitingJobs(pool: string, count: number): void;
  stuckDeletions(pool: string, count: number): void;
  leasedUnits(pool: string, leased: LeasedUnits): void;
  swept(report: Pick<JanitorReport, 'reclaimed' | 'unknown' | 'stuck'>): void;
}
