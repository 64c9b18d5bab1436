import { quotaRates } from '../start/quota-rate.js';
import { median, spread } from '../start/statistics.js';
import type { Row } from './row.js';

const JOBS = 1_000;
const ROUNDS = 3;
const AIM_RATIO = 0.85;

/** Runs 1,000 jobs of three activities through a real server, in turn with and without a lease. */
export async function grantRate(): Promise<readonly Row[]> {
  const { bare, quota, signals, messages, pool, jobEvents } = await quotaRates({ jobs: JOBS, rounds: ROUNDS });
  const ratio = median(quota) / median(bare);
  return [
    { what: '1,000 quick jobs, no quota', figure: `${median(bare).toFixed(1)} jobs/s`, note: spread(bare) },
    { what: '  each with a grant', figure: `${median(quota).toFixed(1)} grants/s`, note: spread(quota) },
    { what: '  ratio', figure: ratio.toFixed(2), aim: String(AIM_RATIO), isMet: ratio >= AIM_RATIO },
    { what: '  signals to the pool', figure: String(signals), note: `for ${messages} messages` },
    {
      what: '  events in the pool’s history, a grant',
      figure: (pool.events / JOBS).toFixed(2),
      note: `${pool.events} events in ${pool.runs} runs, ${pool.mostEvents} in one, ${(pool.mostBytes / 1000).toFixed(0)} kB`,
    },
    {
      what: '  events in the job’s history, a grant',
      figure: String(jobEvents.quota - jobEvents.bare),
      note: `${jobEvents.quota} with a lease, ${jobEvents.bare} without`,
    },
  ];
}
