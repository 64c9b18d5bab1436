import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** compiled-sources.cjs, where that is loaded. */
const { jobctlCompiledSources } = globalThis as {
  readonly jobctlCompiledSources?: { readonly fileOf: (path: string) => string };
};
/** Whole, so that a process finds it from any folder. */
export const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const COMPILED_SOURCES = fileURLToPath(new URL('compiled-sources.cjs', import.meta.url));

/** What Node is given to run a program of the tests, as they are run themselves: its source by tsx, or what was compiled of it. */
export function wordsOf(program: URL): readonly string[] {
  const path = fileURLToPath(program);
  if (jobctlCompiledSources === undefined) return ['--import', TSX, path];
  return ['--require', COMPILED_SOURCES, jobctlCompiledSources.fileOf(path)];
}
