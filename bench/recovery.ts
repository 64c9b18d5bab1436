/**
 * `npm run bench:recovery [-- --samples 200] [-- --jobs 6] [-- --only
 * notice,without,silent-quiet,silent-busy,api,waiting,deletions]`: measures each stage from a preemption to the next attempt, and
 * counts API calls. It uses real processes, SSH and production's timers; docs/runs.md says what each stage depends on. A kind
 * takes 15 minutes at most. Figures of a busy machine prove nothing.
 */
import { cpus, loadavg } from 'node:os';
import { apiFigures } from './recovery/api-calls.js';
import { deletionFigures, waitingFigures } from './recovery/asked-together.js';
import { recoveryArguments } from './recovery/arguments.js';
import { measureKind } from './recovery/measure.js';
import { printApi, printDeletions, printKind, printWaiting } from './recovery/table.js';

const { samples, jobs, kinds, parts } = recoveryArguments(process.argv.slice(2));
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
console.log(`node ${process.version}, ${cpus().length} cores, load ${load()} before\n`);
for (const kind of kinds) {
  const figures = await measureKind(kind, { samples, jobs }, (step) => console.error(`${kind.name}: ${step}`));
  printKind(figures, console.log);
  console.log(`load ${load()} after\n`);
}
const tell = (step: string): void => console.error(`api: ${step}`);
if (parts.includes('api')) printApi(await apiFigures(tell), console.log);
if (parts.includes('waiting')) printWaiting(await waitingFigures(tell), console.log);
if (parts.includes('deletions')) printDeletions(await deletionFigures(tell), console.log);
process.exit(0);
