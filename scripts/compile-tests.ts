import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from 'amaro';
import { init, parse } from 'es-module-lexer';
import { filesUnder } from './build-inputs.js';

/**
 * Copies every source into COMPILED without its types, for `npm test`: four processes that load some 2,000 files each by tsx spend
 * a tenth of its CPU time on that (docs/adr/0133). Types become blanks, so lines and columns stay. Where a source asks where it is,
 * its copy names the source, so it finds the files around it and starts other programs from there.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMPILED = join(ROOT, 'node_modules/.cache/jobctl-tests');
const FOLDERS = [
  ...['domain', 'quota', 'contract', 'workflows', 'activities', 'cloud', 'worker', 'server', 'client', 'rehearsal'],
  ...['test', 'bench', 'chaos', 'scripts'],
];
const IS_SOURCE = /^(?!.*(?:^|\/)(?:dist|node_modules)\/).*(?<!\.d)\.ts$/;

/** How es-module-lexer names it among imports. */
const IMPORT_META = -2;

const compiledOf = (source: string): string => join(COMPILED, source.replace(/\.ts$/, '.js'));

function compile(source: string): void {
  const path = join(ROOT, source);
  const { mtime } = statSync(path);
  const compiled = compiledOf(source);
  if (existsSync(compiled) && statSync(compiled).mtimeMs === mtime.getTime()) return;
  const { code } = transformSync(readFileSync(path, 'utf8'), { mode: 'strip-only', filename: path });
  mkdirSync(dirname(compiled), { recursive: true });
  writeFileSync(compiled, inItsPlace(code, path));
  utimesSync(compiled, mtime, mtime);
}

/**
 * Replaces what `import.meta` says of the file, and has an import of a module that is only known as it runs go to that one's copy
 * (test/compiled-sources.cjs); from behind, so that the places in front stay right.
 */
function inItsPlace(code: string, path: string): string {
  if (!/import\.meta|import\(/.test(code)) return code;
  const said = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) };
  return parse(code)[0].reduceRight((text, { d, n, s, e }) => {
    if (d >= 0 && n === undefined)
      return `${text.slice(0, s)}jobctlCompiledSources.moduleOf(${text.slice(s, e)})${text.slice(e)}`;
    if (d !== IMPORT_META) return text;
    const [property = '', name = ''] = /^\.(\w+)/.exec(text.slice(e)) ?? [];
    if (!(name in said))
      throw new Error(`${path}: import.meta${property} has no counterpart in scripts/compile-tests.ts`);
    return text.slice(0, s) + JSON.stringify(said[name as keyof typeof said]) + text.slice(e + property.length);
  }, code);
}

await init;
const sources = FOLDERS.flatMap((folder) => filesUnder(ROOT, folder)).filter((file) => IS_SOURCE.test(file));
sources.forEach(compile);
const meant = new Set(sources.map(compiledOf));
for (const file of filesUnder(COMPILED, '.')) if (!meant.has(join(COMPILED, file))) rmSync(join(COMPILED, file));
writeFileSync(join(COMPILED, 'package.json'), '{"type":"module"}\n');
