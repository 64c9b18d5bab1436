/**
 * `npm run bench:start`: measures the time that jobctl takes to start things. Figures that are compared are taken in turn in one
 * run. No test depends on them. Aims: issue "The main job: one slice" (results are in docs/runs.md).
 */
import { cpus, loadavg } from 'node:os';
import { commandLineTimes } from './start/command-line-times.js';
import { firstOutputTimes } from './start/first-output.js';
import { quotaRates } from './start/quota-rate.js';
import { median, spread } from './start/statistics.js';

console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before\n`);

const times = await commandLineTimes();
const ratio = (ms: number): string => `${(ms / median(times.node)).toFixed(1)}x`;
row('node -e 0', `${median(times.node).toFixed(0)} ms`, '');
row('jobctl --help', `${median(times.help).toFixed(0)} ms`, `${ratio(median(times.help))} of node -e 0 (aim 3x)`);
row('jobctl list', `${median(times.list).toFixed(0)} ms`, `${ratio(median(times.list))} of node -e 0 (aim 8x)`);

const first = await firstOutputTimes();
row(
  'submit to first output line',
  `${(median(first) / 1000).toFixed(1)} s`,
  `warm stack, ${spread(first)} ms (aim 3 s)`,
);

const rates = await quotaRates();
row('500 quick jobs, no quota', `${median(rates.bare).toFixed(1)} jobs/s`, spread(rates.bare));
row('500 quick jobs, through quota', `${median(rates.quota).toFixed(1)} jobs/s`, spread(rates.quota));
row('  ratio', (median(rates.quota) / median(rates.bare)).toFixed(2), '(aim 0.8)');
row('  signals to the quota workflow', String(rates.signals), `for ${rates.messages} messages`);

function row(what: string, figure: string, note: string): void {
  console.log(`${what.padEnd(34)}${figure.padStart(14)}   ${note}`);
}
process.exit(0);
