/**
 * `npm run bench:capacity`: compares strategies for spot capacity in one simulated month. A seed draws when zones have chips
 * (bench/capacity/availability.ts), and the waits and preemptions (provider.ts). 50 jobs that do not meet each other want chips
 * until the month ends. jobctl's strategies run its shipped workflows in virtual time; the others are models (rules.ts). A bound
 * that no strategy can exceed is printed too. Aim: a hedged job loses at most 5 % of that bound. Results are in docs/runs.md. No
 * server is needed.
 *   -- --seed 29 --days 30 --jobs 50
 *   -- --hedge 2,3,4                 requests of a job at the same time
 *   -- --patience 10 --preempted 2   minutes that a zone is asked alone, at first and after a preemption
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Draws } from '../chaos/random.js';
import { DEFAULT_TIMINGS } from '../domain/timings.js';
import { Agenda } from '../test/virtual-clock/agenda.js';
import { Sandboxes } from '../test/virtual-clock/sandboxes.js';
import { type AskedJob, DAY, drawAvailability, drawJobs, ZONES } from './capacity/availability.js';
import { chipHoursOf, type Figures, figuresOf, type Lived } from './capacity/figures.js';
import { liveByJobctl } from './capacity/jobctl.js';
import { upperBound } from './capacity/oracle.js';
import { type Clock, PROVISION_MS, Provider } from './capacity/provider.js';
import { formerly, type Rule, skyPilot } from './capacity/rules.js';

const MINUTE = 60_000;
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '29' },
    days: { type: 'string', default: '30' },
    jobs: { type: 'string', default: '50' },
    hedge: { type: 'string', default: '2' },
    patience: { type: 'string', default: String(DEFAULT_TIMINGS.zonePatienceMs / MINUTE) },
    preempted: { type: 'string', default: String(DEFAULT_TIMINGS.zonePatiencePreemptedMs / MINUTE) },
    only: { type: 'string', default: '' },
  },
});
const [seed, days, count] = [Number(values.seed), Number(values.days), Number(values.jobs)];
const timings = {
  ...DEFAULT_TIMINGS,
  zonePatienceMs: Number(values.patience) * MINUTE,
  zonePatiencePreemptedMs: Number(values.preempted) * MINUTE,
};
const endMs = days * DAY;
const draws = new Draws(seed);
const availability = drawAvailability(draws.part(1), days);
const jobs = drawJobs(draws.part(2), count, days);
const bounds = jobs.map(({ submitAt }) =>
  upperBound(Object.values(availability), { from: submitAt, to: endMs }, PROVISION_MS.least),
);
const sandboxes = await Sandboxes.ofThisProcess();

const providerOf = (job: AskedJob, clock: Clock): Provider =>
  new Provider(clock, availability, draws.part(3).part(job.number));

async function byJobctl(job: AskedJob, zones: number, hedge: number): Promise<Provider> {
  const manner = { zones: job.zones.slice(0, zones), hedge, timings };
  return liveByJobctl(sandboxes, job, manner, { endMs, provider: (clock) => providerOf(job, clock) });
}

async function byRule(job: AskedJob, rule: Rule): Promise<Provider> {
  const agenda = new Agenda(job.submitAt);
  const provider = providerOf(job, agenda);
  rule(agenda, provider, job);
  while (agenda.nextAt !== undefined && agenda.nextAt <= endMs) agenda.step();
  return provider;
}

const strategies: Readonly<Record<string, (job: AskedJob) => Promise<Provider>>> = {
  'one zone for ever': (job) => byJobctl(job, 1, 1),
  '788a7aa, provision: 30m (model)': (job) => byRule(job, formerly(30 * MINUTE)),
  'ordered zones, hedge 1': (job) => byJobctl(job, ZONES.length, 1),
  "SkyPilot's rule (model)": (job) => byRule(job, skyPilot),
  ...Object.fromEntries(
    values.hedge.split(',').map((hedge) => [`hedge ${hedge}`, (job) => byJobctl(job, ZONES.length, Number(hedge))]),
  ),
};

console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`);
console.log(
  `seed ${seed}: ${count} jobs in ${days} days, ${ZONES.length} zones; a zone alone for ${values.patience} min, ` +
    `${values.preempted} after a preemption`,
);
for (const zone of ZONES) {
  const spans = availability[zone];
  const hours = spans.reduce((all, { from, to }) => all + to - from, 0) / 3_600_000;
  console.log(`  ${zone}: chips for ${((hours / 24 / days) * 100).toFixed(0)} % of the month, ${spans.length} times`);
}
print('', ['first chips p50', 'p95', 'chip-hours', 'loss', 'requests', 'at once', 'starts', 'never']);
const firsts = bounds
  .flatMap(({ firstAfterMs }) => (firstAfterMs === undefined ? [] : [firstAfterMs / MINUTE]))
  .toSorted((a, b) => a - b);
print('nobody can exceed', [
  minutes(firsts[Math.ceil(firsts.length / 2) - 1] ?? 0),
  minutes(firsts[Math.ceil(firsts.length * 0.95) - 1] ?? 0),
  chipHoursOf(
    jobs.map((job) => ({ job })),
    bounds,
  ).toFixed(0),
]);
for (const [name, live] of Object.entries(strategies)) {
  if (!name.includes(values.only)) continue;
  const began = performance.now();
  const lived: Lived[] = [];
  for (const job of jobs) {
    const provider = await live(job);
    provider.end();
    lived.push({ job, held: provider.held, requests: provider.requests, most: provider.most });
  }
  printFigures(name, figuresOf(lived, bounds, endMs));
  console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

function printFigures(name: string, { first, chipHours, loss, requests, most, starts, never }: Figures): void {
  const percent = `${(loss * 100).toFixed(1)} %`;
  print(name, [
    minutes(first.p50),
    minutes(first.p95),
    chipHours.toFixed(0),
    percent,
    ...[requests, most, starts, never].map(String),
  ]);
}

function print(name: string, cells: readonly string[]): void {
  console.log(`${name.padEnd(32)}${cells.map((cell) => cell.padStart(16)).join('')}`.trimEnd());
}

function minutes(number: number): string {
  return number < 100 ? `${number.toFixed(1)} min` : `${(number / 60).toFixed(1)} h`;
}
