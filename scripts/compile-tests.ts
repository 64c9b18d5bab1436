import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { init, parse } from 'es-module-lexer';
import { filesUnder, FOLDERS_OF_SOURCES, writeIfChanged } from './build-inputs.js';
import { withoutTypes } from './without-types.js';

/**
 * Copies every source into COMPILED without its types, for `npm test`: four processes that load some 2,000 files each by tsx spend
 * a tenth of its CPU time on that (docs/adr/0133). Where a source asks where it is,
 * its copy names the source, so it finds the files around it and starts other programs from there.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMPILED = join(ROOT, 'node_modules/.cache/jobctl-tests');
const FOLDERS = [...FOLDERS_OF_SOURCES, 'test', 'bench', 'chaos', 'scripts'];
const IS_SOURCE = /^(?!.*(?:^|\/)(?:dist|node_modules)\/).*(?<!\.d)\.ts$/;

/** How es-module-lexer names it among imports. */
const IMPORT_META = -2;

const compiledOf = (source: string): string => join(COMPILED, source.replace(/\.ts$/, '.js'));

/** Written only where it differs, so that tests that run meanwhile find whole files. */
function compile(source: string): void {
  const path = join(ROOT, source);
  writeIfChanged(compiledOf(source), inItsPlace(withoutTypes(path), path));
}

/** In place of the text between two places. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Replaces what `import.meta` says of the file, and has an import of a module that is only known as it runs go to that one's copy
 * (test/compiled-sources.cjs).
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
  // From behind: the places in front stay right.
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
