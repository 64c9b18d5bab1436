import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Area } from './areas.js';

const ROOT = join(import.meta.dirname, '../..');
/** Installed on demand, in exact versions. As development dependencies they would add 23 MB to each `npm ci`, for a daily run. */
const TOOLS = { '@stryker-mutator/instrumenter': '10.0.0', esbuild: '0.28.2' };

/** One change of the code, as Stryker's instrumenter describes it. Its lines and columns count from 0. */
export interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
  /** A comment `Stryker disable` argues that nobody can see the change. */
  readonly status?: 'Ignored';
}

interface Instrumented {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly mutants: readonly Mutant[];
}

interface Tools {
  readonly Instrumenter: new (logger: object) => {
    instrument(files: object[], options: object): Promise<Instrumented>;
  };
  readonly build: (options: object) => Promise<unknown>;
}

/**
 * Writes the area's tests with all code that they import as one script. It holds every mutant at once, behind a switch:
 * `__stryker__.activeMutant` chooses the one that runs. One script, so that evaluating all modules anew costs milliseconds.
 * @param globs files to change instead of the whole area's; empty: the whole area
 */
export async function instrument(
  area: Area,
  globs: readonly string[],
): Promise<{ readonly script: string; readonly mutants: readonly Mutant[] }> {
  const home = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'jobctl', 'mutants');
  const { Instrumenter, build } = await toolsIn(join(home, 'in-process'));
  const names = filesOf(globs.length > 0 ? globs : area.mutate);
  const { files, mutants } = await new Instrumenter(LOGGER).instrument(
    names.map((name) => ({ name: join(ROOT, name), mutate: true, content: readFileSync(join(ROOT, name), 'utf8') })),
    { plugins: [], excludedMutations: [], ignorers: [] },
  );
  const script = join(home, `${area.name.replaceAll(/[^a-z]+/g, '-')}.cjs`);
  const tests = ['test/async-local-storage.ts', 'test/mutants/fixed-seed.ts', ...filesOf(area.tests)];
  await build({
    stdin: { contents: tests.map((file) => `import './${file}';`).join('\n'), resolveDir: ROOT },
    ...{ outfile: script, bundle: true, format: 'cjs', platform: 'node', target: 'node20', packages: 'external' },
    ...{ keepNames: true, logLevel: 'error', supported: { 'dynamic-import': false } },
    plugins: [sourcesWith(new Map(files.map(({ name, content }) => [name, content])))],
  });
  return { script, mutants };
}

/** An esbuild plugin. A module in the script must still know its own folder. */
function sourcesWith(changed: ReadonlyMap<string, string>): object {
  const contents = (path: string): string =>
    (changed.get(path) ?? readFileSync(path, 'utf8'))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      .replaceAll('import.meta.filename', JSON.stringify(path))
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
  return {
    name: 'mutants',
    setup(esbuild: { onLoad(of: object, load: (file: { path: string }) => object): void }) {
      esbuild.onLoad({ filter: /\.ts$/ }, ({ path }) => ({ contents: contents(path), loader: 'ts' }));
    },
  };
}

const LOGGER = {
  ...{ trace: silence, debug: silence, info: silence, warn: console.warn, error: console.error },
  isDebugEnabled: () => false,
};

function silence(): void {
  // What the instrumenter tells of its progress is of no use here.
}

/** Files that match the globs, in order. Only file names may have `*` and `{a,b}`. @throws Error for a glob without files */
export function filesOf(globs: readonly string[]): readonly string[] {
  return globs.flatMap((glob) => {
    const pattern = basename(glob)
      .replaceAll('.', '\\.')
      .replaceAll('*', '.*')
      .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(${names.replaceAll(',', '|')})`);
    const found = readdirSync(join(ROOT, dirname(glob))).filter((name) => new RegExp(`^${pattern}$`).test(name));
    if (found.length === 0) throw new Error(`scripts/mutants/areas.ts: no file matches ${glob}`);
    return found.sort().map((name) => join(dirname(glob), name));
  });
}

async function toolsIn(folder: string): Promise<Tools> {
  const stamp = join(folder, 'installed.json');
  const wanted = JSON.stringify(TOOLS);
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    console.log(`installing Stryker's instrumenter into ${folder}`);
    const packages = Object.entries(TOOLS).map(([name, version]) => `${name}@${version}`);
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', [
      'install',
      '--silent',
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--prefix',
      folder,
      ...packages,
    ]);
    writeFileSync(stamp, wanted);
  }
  const modules = join(folder, 'node_modules');
  const { Instrumenter } = (await import(join(modules, '@stryker-mutator/instrumenter/dist/src/index.js'))) as Tools;
  const { build } = (await import(join(modules, 'esbuild/lib/main.js'))) as Tools;
  return { Instrumenter, build };
}
