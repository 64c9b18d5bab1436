/**
 * `npm run bench:policy`: compares jobctl's quota with Bastion's and with plain FIFO. A seed draws a month of jobs of 20 projects
 * on one pool (bench/policy/month.ts). Jobs, provider and clock are the same for each policy. No server is needed. Aims: issue
 * "Quota", Must show 3. Results are in docs/runs.md.
 *   -- --seed 6 --days 30 --checkpoint 30       minutes between two checkpoints of a job
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { entitledJobs } from './policy/entitled.js';
import { figuresOf } from './policy/figures.js';
import { monthOf, POOL_UNITS, TYPE } from './policy/month.js';
import { play } from './policy/play.js';
import { bastion, fifo, jobctl } from './policy/policies.js';
import { printPolicies } from './policy/table.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '6' },
    days: { type: 'string', default: '30' },
    checkpoint: { type: 'string', default: '30' },
  },
});
const [seed, days, checkpoint] = [whole('seed'), whole('days'), whole('checkpoint')];

const month = monthOf(seed, days);
const entitled = entitledJobs(month);
console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`);
console.log(
  `seed ${seed}: ${month.jobs.length} jobs in ${days} days, ${entitled.size} in quota at arrival, ` +
    `${month.config.projects.length} projects, ${POOL_UNITS} ${TYPE}, a checkpoint every ${checkpoint} minutes\n`,
);
const rounds = [
  { contender: jobctl, saveOnNotice: false, title: 'jobctl' },
  { contender: jobctl, saveOnNotice: true, title: 'jobctl, jobs save' },
  { contender: bastion, saveOnNotice: false, title: 'Bastion' },
  { contender: fifo, saveOnNotice: false, title: 'FIFO' },
];
const results = rounds.map(({ contender, saveOnNotice, title }) => {
  const played = play(month, contender, { checkpointEveryMs: checkpoint * 60_000, saveOnNotice });
  console.error(`${title}: ${played.decisions} decisions in ${(played.wallMs / 1000).toFixed(1)} s`);
  return { title, figures: figuresOf(played, entitled, days) };
});
printPolicies(results, console.log);

function whole(name: keyof typeof values): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number > 0) return number;
  throw new RangeError(`--${name}: '${values[name]}' is no whole number of 1 or more`);
}
