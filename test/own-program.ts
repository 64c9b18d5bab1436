import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** compiled-sources.cjs, where that is loaded. */
const { jobctlCompiledSources } = globalThis as {
  readonly jobctlCompiledSources?: { readonly fileOf: (path: string) => string };
};
/** Whole, so that a process finds it from any folder. */
export const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const COMPILED_SOURCES = fileURLToPath(new URL('compiled-sources.cjs', import.meta.url));

/** A source as the tests themselves are loaded, by tsx or compiled: what Node is given for that, and the file. */
export function loaded(source: URL): { readonly by: readonly string[]; readonly file: string } {
  const path = fileURLToPath(source);
  if (jobctlCompiledSources === undefined) return { by: ['--import', TSX], file: path };
  return { by: ['--require', COMPILED_SOURCES], file: jobctlCompiledSources.fileOf(path) };
}

/** What Node is given to run a program of the tests. */
export function wordsOf(program: URL): readonly string[] {
  const { by, file } = loaded(program);
  return [...by, file];
}
