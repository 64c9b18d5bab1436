import { readFileSync, rmSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import ts from 'typescript';
import { emptyFoldersUnder, filesUnder, writeIfChanged } from './build-inputs.js';
import { internalSpecifier, type PackageLayout, PACKAGES } from './packages.js';

/**
 * Divides the compiled modules among the packages. Each module is in one package. Imports of another package's modules are
 * rewritten from `../domain/slice.js` to `jobctl/internal/domain/slice.js`; sources keep relative imports. Modules that only the
 * command line imports are in its bundle.
 * @param compiled folder of all compiled modules
 */
export function splitModules(root: string, compiled: string): void {
  const owners = ownersOf(compiled);
  const entries = PACKAGES.flatMap((layout) => layout.entries.filter((entry) => entry !== layout.bundled));
  const imported = reachedFrom(compiled, entries.map(fileOf), () => false);
  for (const layout of PACKAGES) {
    const modules = [...imported].filter((module) => owners.get(module) === layout);
    write(root, layout, IS_MODULE, modules, (module) => rewritten(compiled, module, owners));
  }
}

/** Gives each package the declarations of its typed entries and of all that these name, whichever package carries the code. */
export function splitDeclarations(root: string, compiled: string): void {
  for (const layout of PACKAGES) {
    const entries = layout.typed.map((entry) => `${entry}.d.ts`);
    const reached = reachedFrom(compiled, entries, () => false);
    write(root, layout, IS_DECLARATION, [...reached], (file) => readFileSync(join(compiled, file), 'utf8'));
  }
}

/** Excludes the workflow bundles beside the modules: the build makes and keeps them itself. */
const IS_MODULE = /^(?!\.)(?!workflow-bundle[^/]*$).*\.js$/;
/** Written by scripts/bundle-cli.ts and scripts/bundle-ui.ts. */
const BUNDLE = /^(cli|ui)\//;
const IS_DECLARATION = /^(?!\.).*\.d\.ts$/;

/** Writes the files, and removes others of the same kind: an import would still find them, and `npm pack` would include them. */
function write(
  root: string,
  layout: PackageLayout,
  kind: RegExp,
  files: readonly string[],
  textOf: (file: string) => string,
): void {
  const dist = join(root, layout.folder, 'dist');
  for (const file of files) writeIfChanged(join(dist, placeIn(layout, file)), textOf(file));
  const written = new Set(files.map((file) => placeIn(layout, file)));
  for (const file of filesUnder(dist, '.')) {
    if (kind.test(file) && !BUNDLE.test(file) && !written.has(file)) rmSync(join(dist, file));
  }
  for (const folder of emptyFoldersUnder(dist, '.')) {
    if (!relative(dist, folder).startsWith('.')) rmSync(folder, { recursive: true, force: true });
  }
}

type Owners = ReadonlyMap<string, PackageLayout>;

const placeIn = ({ strip = '' }: PackageLayout, module: string): string => module.slice(strip.length);

const fileOf = (entry: string): string => `${entry}.js`;

/** The package that carries each module. */
function ownersOf(compiled: string): Owners {
  const owners = new Map<string, PackageLayout>();
  for (const layout of PACKAGES) {
    const isForeign = (module: string): boolean =>
      PACKAGES.some((other) => other !== layout && other.owns.some((folder) => module.startsWith(`${folder}/`)));
    for (const module of reachedFrom(compiled, layout.entries.map(fileOf), isForeign)) {
      if (!owners.has(module)) owners.set(module, layout);
    }
  }
  return owners;
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
  /** Path of a compiled file, from `compiled`. */
  readonly target: string;
}

/** The relative imports of a compiled module or declaration: static, dynamic and type imports. */
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
