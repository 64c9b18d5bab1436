/**
 * `npm run bench:load [-- --jobs 1000,10000] [-- --skip-postgres]`: measures the cost of thousands of waiting jobs, with a real
 * server, the built worker, every job submitted by `JobClient`, and a pool without free chips. It takes minutes. A figure that
 * misses its aim is marked MISSED. The exit code is 0 all the same, since figures of a busy machine prove nothing.
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
