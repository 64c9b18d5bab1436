import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import ts from 'typescript';
import { emptyFoldersUnder, filesUnder } from './build-inputs.js';
import { internalSpecifier, type PackageLayout, PACKAGES } from './packages.js';

/**
 * Divides what was compiled among the packages: each module is in one, with its imports of another's rewritten from
 * `../domain/slice.js` to `jobctl/internal/domain/slice.js`. Sources keep relative imports throughout.
 * @param compiled the folder that tsc wrote
 */
export function splitPackages(root: string, compiled: string): void {
  const owners = ownersOf(compiled);
  for (const layout of PACKAGES) {
    const dist = join(root, layout.folder, 'dist');
    const written = new Set<string>();
    const write = (path: string, text: string): void => {
      written.add(path);
      writeIfChanged(join(dist, path), text);
    };
    const modules = [...owners].filter(([, owner]) => owner === layout).map(([module]) => module);
    for (const module of modules) {
      write(placeIn(layout, module), rewritten(compiled, module, owners));
      write(
        `${placeIn(layout, module)}.map`,
        sourceMap(compiled, module, dirname(join(dist, placeIn(layout, module)))),
      );
    }
    for (const module of declarationsOf(compiled, layout)) {
      write(placeIn(layout, module), withoutMap(readFileSync(join(compiled, module), 'utf8')));
    }
    removeOthers(dist, written);
  }
}

type Owners = ReadonlyMap<string, PackageLayout>;

const placeIn = ({ strip = '' }: PackageLayout, module: string): string => module.slice(strip.length);

/** Which package carries each module that any of them reaches. */
function ownersOf(compiled: string): Owners {
  const owners = new Map<string, PackageLayout>();
  for (const layout of PACKAGES) {
    const isForeign = (module: string): boolean =>
      PACKAGES.some((other) => other !== layout && other.owns.some((folder) => module.startsWith(`${folder}/`)));
    const entries = layout.entries.map((entry) => `${entry}.js`);
    for (const module of reachedFrom(compiled, entries, isForeign)) {
      if (!owners.has(module)) owners.set(module, layout);
    }
  }
  return owners;
}

/** Declarations that are published: of the package's typed entries and of all that these name, whoever carries the code. */
function declarationsOf(compiled: string, { typed }: PackageLayout): ReadonlySet<string> {
  return reachedFrom(
    compiled,
    typed.map((entry) => `${entry}.d.ts`),
    () => false,
  );
}

function reachedFrom(
  compiled: string,
  entries: readonly string[],
  isForeign: (module: string) => boolean,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const queue = [...entries];
  for (let module = queue.pop(); module !== undefined; module = queue.pop()) {
    if (reached.has(module) || isForeign(module)) continue;
    reached.add(module);
    queue.push(...importsOf(compiled, module).map(({ target }) => target));
  }
  return reached;
}

interface OwnImport {
  readonly specifier: string;
  /** A compiled file, from `compiled`. */
  readonly target: string;
}

/** The relative imports of a compiled module or declaration, static, dynamic and of types. */
function importsOf(compiled: string, module: string): readonly OwnImport[] {
  const text = readFileSync(join(compiled, module), 'utf8');
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => {
      const target = posix.join(posix.dirname(module), fileName);
      return { specifier: fileName, target: module.endsWith('.d.ts') ? target.replace(/\.js$/, '.d.ts') : target };
    });
}

function rewritten(compiled: string, module: string, owners: Owners): string {
  let text = readFileSync(join(compiled, module), 'utf8');
  const owner = owners.get(module);
  for (const { specifier, target } of importsOf(compiled, module)) {
    const other = owners.get(target);
    if (other === undefined) throw new Error(`${module}: imports ${specifier}, which no package carries`);
    if (other === owner) continue;
    for (const quote of [`'`, `"`]) {
      text = text.replaceAll(`${quote}${specifier}${quote}`, `${quote}${internalSpecifier(other, target)}${quote}`);
    }
  }
  return text;
}

/** It leads from where the module lies now to its source. */
function sourceMap(compiled: string, module: string, folder: string): string {
  const map = JSON.parse(readFileSync(join(compiled, `${module}.map`), 'utf8')) as { sources: string[] };
  const sources = map.sources.map((source) => relative(folder, join(compiled, dirname(module), source)));
  return JSON.stringify({ ...map, sources });
}

const withoutMap = (text: string): string => text.replace(/^\/\/# sourceMappingURL=.*\n?/m, '');

function writeIfChanged(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A module of a source that is gone would still be found by an import, and be packed. Other steps write what is no module. */
function removeOthers(dist: string, written: ReadonlySet<string>): void {
  const isModule = /\.(js|d\.ts|js\.map)$/;
  for (const file of filesUnder(dist, '.')) {
    const isOurs = !file.startsWith('.') && isModule.test(file) && !/^workflow-bundle[^/]*$/.test(file);
    if (isOurs && !written.has(file)) rmSync(join(dist, file));
  }
  for (const folder of emptyFoldersUnder(dist, '.')) {
    if (!relative(dist, folder).startsWith('.')) rmSync(folder, { recursive: true, force: true });
  }
}
