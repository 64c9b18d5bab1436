import { decide } from '../../quota/decide.js';
import { bastionPython } from '../quota/bastion-python.js';
import { emptyPool, fullPool, lentPool, meanOf } from '../quota/pass-times.js';
import { syntheticPool } from '../quota/synthetic-pool.js';
import { median } from '../start/statistics.js';
import { isInstalled } from '../fanout/peers.js';
import { inTurn, type TimedWay, timesOfWay } from './in-turn.js';
import type { Measured } from './table.js';

const JOBS = [1_000, 10_000] as const;
const ROUNDS = 5;
const ROUND_MS = 20;
const WARM_UP_MS = 300;
/** Passes of a round in Python, of which the median counts: its first one also fills the memory. */
const PYTHON_PASSES = 3;
const BASTION = "Bastion's pass, Python";
const FLOOR = 'sorting the requests';

/** One quota decision beside Bastion's pass over the same jobs, in CPU time of warm code. */
export async function decisions(tell: (step: string) => void): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const jobs of JOBS) rows.push(...(await decisionsOf(jobs, tell)));
  return rows;
}

async function decisionsOf(jobs: number, tell: (step: string) => void): Promise<readonly Measured[]> {
  const synthetic = syntheticPool(jobs);
  const { requests, now } = synthetic;
  const pools = {
    'all wait': emptyPool(synthetic),
    'a third runs': fullPool(synthetic),
    'owners return': lentPool(synthetic),
  };
  const ours = Object.entries(pools).map(([name, pool]) => ({ name, call: () => decide(pool, now) }));
  const sort = (): unknown => requests.toSorted((a, b) => a.priority - b.priority || a.submittedAt - b.submittedAt);
  for (const call of [...ours.map((pass) => pass.call), sort]) meanOf(call, WARM_UP_MS);
  const timed = (name: string, call: () => unknown): TimedWay => ({ name, run: async () => meanOf(call, ROUND_MS) });
  const hasPython = isInstalled('python3');
  const bastion: TimedWay = {
    name: BASTION,
    run: async () => median(bastionPython([synthetic.bastion], { rounds: PYTHON_PASSES })[0]?.ms ?? []),
  };
  const times = await inTurn(
    [...ours.map(({ name, call }) => timed(name, call)), timed(FLOOR, sort), ...(hasPython ? [bastion] : [])],
    { rounds: ROUNDS, warmUp: false, tell: (step) => tell(`${jobs} jobs, ${step}`) },
  );
  const floor = timesOfWay(times, FLOOR);
  const peer = hasPython ? timesOfWay(times, BASTION) : { name: BASTION, absent: 'install Python 3.9 or later' };
  return ours.map(({ name }) => ({
    what: `quota pass, ${jobs.toLocaleString('en-US')} jobs, ${name}`,
    ms: timesOfWay(times, name).ms,
    peers: [peer],
    floor,
  }));
}
