import type { LeasedUnits } from '../quota/pool-counts.js';
import type { JanitorReport, SetUpEnd } from './contract.js';

/** What a worker counts of its own work; `domain/metric-names.ts` says what each is. */
export interface WorkMeter {
  setUp(seconds: number, end: SetUpEnd['kind'] | 'error'): void;
  logLag(seconds: number): void;
  waitingJobs(pool: string, count: number): void;
  leasedUnits(pool: string, leased: LeasedUnits): void;
  swept(report: Pick<JanitorReport, 'reclaimed' | 'unknown'>): void;
}
