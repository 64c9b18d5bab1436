import type { JanitorReport, SetUpEnd } from './contract.js';

/** What a worker counts of its own work; `domain/metric-names.ts` says what each is. */
export interface WorkMeter {
  setUp(seconds: number, end: SetUpEnd['kind'] | 'error'): void;
  logLag(seconds: number): void;
  swept(report: Pick<JanitorReport, 'reclaimed' | 'unknown'>): void;
}
