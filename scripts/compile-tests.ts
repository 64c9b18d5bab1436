import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { init, parse } from 'es-module-lexer';
import { filesUnder, FOLDERS_OF_SOURCES, PAGE_SOURCES, writeIfChanged } from './build-inputs.js';
import { withoutTypes } from './without-types.js';

/**
 * Copies every source into COMPILED without its types, for `npm test`. Otherwise its four processes, which load some 2,000 files
 * each, would spend a tenth of their CPU time in tsx (docs/adr/0133). A source that asks for its own path gets the source's path
 * also in its copy, so it finds the files around it and starts other programs from there.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMPILED = join(ROOT, 'node_modules/.cache/jobctl-tests');
const FOLDERS = [...FOLDERS_OF_SOURCES, PAGE_SOURCES, 'test', 'bench', 'chaos', 'scripts'];
const IS_SOURCE = /^(?!.*(?:^|\/)(?:dist|node_modules)\/).*(?<!\.d)\.ts$/;

/** Marks `import.meta` among the imports of es-module-lexer. */
const IMPORT_META = -2;

const compiledOf = (source: string): string => join(COMPILED, source.replace(/\.ts$/, '.js'));

/** Writes the file only if it differs, so that tests that run meanwhile find whole files. */
function compile(source: string): void {
  const path = join(ROOT, source);
  writeIfChanged(compiledOf(source), inItsPlace(withoutTypes(path), path));
}

/** Replaces the text from `start` to `end`. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Replaces `import.meta` by values of the source. A dynamic import of a module that is known only at run time gets that module's
 * copy (test/compiled-sources.cjs).
 */
function inItsPlace(code: string, path: string): string {
  if (!/import\.meta|import\(/.test(code)) return code;
  const said = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) };
  const edits = parse(code)[0].flatMap(({ d, n, s: start, e: end }): readonly Edit[] => {
    if (d >= 0 && n === undefined)
      return [
        { start, end: start, text: 'jobctlCompiledSources.moduleOf(' },
        { start: end, end, text: ')' },
      ];
    if (d !== IMPORT_META) return [];
    const [property = '', name = ''] = /^\.(\w+)/.exec(code.slice(end)) ?? [];
    if (!(name in said))
      throw new Error(`${path}: import.meta${property} has no counterpart in scripts/compile-tests.ts`);
    return [{ start, end: end + property.length, text: JSON.stringify(said[name as keyof typeof said]) }];
  });
  // From the last edit to the first, so that positions before an edit stay valid.
  return edits
    .toSorted((a, b) => b.start - a.start)
    .reduce((text, edit) => text.slice(0, edit.start) + edit.text + text.slice(edit.end), code);
}

await init;
const sources = FOLDERS.flatMap((folder) => filesUnder(ROOT, folder)).filter((file) => IS_SOURCE.test(file));
sources.forEach(compile);
const meant = new Set(sources.map(compiledOf));
for (const file of filesUnder(COMPILED, '.')) if (!meant.has(join(COMPILED, file))) rmSync(join(COMPILED, file));
writeFileSync(join(COMPILED, 'package.json'), '{"type":"module"}\n');
