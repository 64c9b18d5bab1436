import { quotaRates } from '../start/quota-rate.js';
import type { Measured, Timed } from './table.js';

const JOBS = 100;
const ROUNDS = 3;

/** A job of three activities under a lease of the quota workflow, through a real server and worker, by jobs per second. */
export async function grants(tell: (step: string) => void): Promise<readonly Measured[]> {
  tell(`${ROUNDS} rounds of ${JOBS} jobs with a grant, as many without, as many empty workflows`);
  const { bare, quota, empty } = await quotaRates({ jobs: JOBS, rounds: ROUNDS, withEmpty: true });
  const each = (rates: readonly number[]): readonly number[] => rates.map((perSecond) => 1_000 / perSecond);
  const timed = (name: string, rates: readonly number[]): Timed => ({ name, ms: each(rates) });
  return [
    {
      what: `a job with a grant, ${JOBS} at a time, each`,
      ms: each(quota),
      peers: [timed('the same without quota', bare)],
      floor: timed('an empty workflow', empty),
    },
  ];
}
