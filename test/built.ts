import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isBuildCurrent } from '../scripts/build-inputs.js';
import { TSX } from './own-program.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Whether tests start jobctl's processes from dist/, as users do: in a fraction of the time, since nothing is compiled and no
 * worker bundles its workflows. So it is in `npm test`, which builds first. Where a source has changed since the build they run
 * the sources; for a report of coverage too, which is one of sources.
 */
export const IS_BUILT = process.env['NODE_V8_COVERAGE'] === undefined && isBuildCurrent(ROOT);

/** The packages of the rehearsal and of the worker have folders of built modules of their own. */
function fileOf(entry: string): string {
  if (!IS_BUILT) return join(ROOT, `${entry}.ts`);
  if (entry.startsWith('rehearsal/')) return join(ROOT, `${entry.replace('rehearsal/', 'rehearsal/dist/')}.js`);
  return join(ROOT, /^(worker|server)\//.test(entry) ? 'worker/dist' : 'dist', `${entry}.js`);
}

/** Node's arguments that run an entry of jobctl, such as `cli/main`, in a process of its own. */
export const programArguments = (entry: string): readonly string[] => [
  ...(IS_BUILT ? [] : ['--import', TSX]),
  fileOf(entry),
];

/** A module that starts processes of its own kind: from dist/ built ones, from the sources sources. */
export const load = async <Module>(module: string): Promise<Module> =>
  (await import(pathToFileURL(fileOf(module)).href)) as Module;
