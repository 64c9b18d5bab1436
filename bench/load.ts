/**
 * `npm run bench:load [-- --jobs 1000,10000] [-- --skip-postgres]`: what thousands of waiting jobs cost: a real server, the
 * built worker, every job through `JobClient.submit`, and a pool in which nothing is free. It takes minutes. What misses its
 * aim says MISSED; the exit code is 0 all the same, since a figure of a busy machine decides nothing.
 */
import { cpus, loadavg } from 'node:os';
import { loadArguments } from './load/arguments.js';
import { measureScenario, type ScenarioFigures } from './load/scenario.js';
import { printTable } from './load/table.js';

const scenarios = loadArguments(process.argv.slice(2));
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
console.log(`node ${process.version}, ${cpus().length} cores, load ${load()} before\n`);
const measured: ScenarioFigures[] = [];
for (const scenario of scenarios) {
  const figures = await measureScenario(scenario, (step) => console.error(`${scenario.title}: ${step}`));
  measured.push(figures);
}
printTable(measured, console.log);
console.log(`\nload ${load()} after`);
process.exit(0);
