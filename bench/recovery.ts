/**
 * `npm run bench:recovery [-- --samples 200] [-- --jobs 6] [-- --only notice,without,silent-quiet,silent-busy,api]`: from a
 * preemption to the next attempt, stage by stage, and what the API is called. Real processes, SSH and production's timers; what
 * each stage rests on is in docs/runs.md. A kind takes 15 minutes at most. Figures of a busy machine decide nothing.
 */
import { cpus, loadavg } from 'node:os';
import { apiFigures } from './recovery/api-calls.js';
import { recoveryArguments } from './recovery/arguments.js';
import { measureKind } from './recovery/measure.js';
import { printApi, printKind } from './recovery/table.js';

const { samples, jobs, kinds, withApi } = recoveryArguments(process.argv.slice(2));
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
console.log(`node ${process.version}, ${cpus().length} cores, load ${load()} before\n`);
for (const kind of kinds) {
  const figures = await measureKind(kind, { samples, jobs }, (step) => console.error(`${kind.name}: ${step}`));
  printKind(figures, console.log);
  console.log(`load ${load()} after\n`);
}
if (withApi) printApi(await apiFigures((step) => console.error(`api: ${step}`)), console.log);
process.exit(0);
