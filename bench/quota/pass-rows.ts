import { Explainer } from '../../quota/explain.js';
import { median } from '../start/statistics.js';
import { fullPool, growthExponent, type PassTimes, passTimes, pythonTimes, timesOf } from './pass-times.js';
import type { Row } from './row.js';
import { figures, milliseconds } from './row.js';
import { syntheticPool } from './synthetic-pool.js';

const COMPARED = [1_000, 10_000] as const;
const GROWN = [1_000, 3_000, 10_000, 30_000, 100_000] as const;
const AIM_MS = 10;
const AIM_RATIO = 15;
const AIM_EXPLAIN_MS = 1;

/** Compares jobctl's pass with Bastion's in Python, over the same jobs in one run. */
export function comparedPasses(): readonly Row[] {
  return COMPARED.flatMap((jobs) => {
    const ours = passTimes(jobs);
    const python = pythonTimes(jobs);
    const slowest = Math.max(median(ours.empty), median(ours.full), median(ours.lent));
    const ratio = median(python.priorityQueue) / slowest;
    const isLarge = jobs === 10_000;
    return [
      { what: `${shown(jobs)} jobs x 100 projects: Bastion, Python`, ...figures(python.priorityQueue) },
      { what: '  with heapq in place of queue.PriorityQueue', ...figures(python.heapq) },
      { what: `  jobctl, all wait for an empty pool`, ...figures(ours.empty), note: `${shown(ours.grants)} grants` },
      { what: '  jobctl, a third holds the whole pool', ...figures(ours.full) },
      {
        what: '  jobctl, all that is held is lent, owners are back',
        ...figures(ours.lent),
        note: `${shown(ours.preemptions)} preemptions`,
      },
      {
        what: '  jobctl’s slowest of the three',
        figure: milliseconds(slowest),
        ...(isLarge && { aim: `${AIM_MS} ms`, isMet: slowest <= AIM_MS }),
      },
      {
        what: '  Bastion beside it',
        figure: `${ratio.toFixed(1)}x`,
        ...(isLarge && { aim: `${AIM_RATIO}x`, isMet: ratio >= AIM_RATIO }),
      },
    ];
  });
}

export function growth(): readonly Row[] {
  const measured = GROWN.map(passTimes);
  const exponent = (of: 'empty' | 'full' | 'lent'): string =>
    growthExponent(measured.map((times) => ({ jobs: times.jobs, ms: median(times[of]) }))).toFixed(2);
  const line = (times: PassTimes): Row => ({
    what: `${shown(times.jobs)} jobs: empty, full, lent pool`,
    figure: [times.empty, times.full, times.lent].map((ms) => median(ms).toFixed(1)).join(', ') + ' ms',
  });
  return [
    ...measured.map(line),
    { what: '  exponent of growth', figure: [exponent('empty'), exponent('full'), exponent('lent')].join(', ') },
  ];
}

/** Measures `explain` of jobs of a full pool, and the pass that it reads. The pass runs once for any number of jobs. */
export function explanation(): readonly Row[] {
  const synthetic = syntheticPool(10_000);
  const pool = fullPool(synthetic);
  const explainer = new Explainer(pool, synthetic.now);
  const ids = pool.requests.map(({ id }) => id);
  let next = 0;
  const ms = timesOf(() => explainer.of(ids[next++ % ids.length] ?? ''));
  return [
    {
      what: '10,000 jobs: what an explanation reads, once',
      ...figures(timesOf(() => new Explainer(pool, synthetic.now))),
    },
    {
      what: '  `explain` of one job',
      ...figures(ms),
      aim: `${AIM_EXPLAIN_MS} ms`,
      isMet: median(ms) <= AIM_EXPLAIN_MS,
    },
  ];
}

const shown = (count: number): string => count.toLocaleString('en-US');
