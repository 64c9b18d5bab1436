import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { filesUnder, writeIfChanged } from './build-inputs.js';
import { internalSpecifier, PACKAGES } from './packages.js';

/**
 * Bundles the command line: its modules with those of the libraries that almost every command loads, in some three hundred chunks, so that a
 * command opens some hundred files in place of five hundred (docs/adr/0160). A module that is imported lazily stays a chunk of its
 * own. The rest of what jobctl's package carries is written by scripts/split-packages.ts, module for module.
 */

/** Of these packages, and of those that only they import, the code is in the bundle. All others are loaded from node_modules. */
const BUNDLED =
  /^(zod|commander|yaml|toml|toml-eslint-parser|ignore|re2js|@temporalio\/(client|common|envconfig|proto))(\/|$)/;

/**
 * Modules that others import by their path: the command itself, two that a worker in another tree asks for (cli/place/packages.ts),
 * and the one by which tests start a local stack (test/built.ts).
 */
const ENTRIES = [
  ...['cli/main.js', 'cli/commands/verbs/worker.js', 'cli/commands/verbs/serve.js'],
  'cli/local/dev/up.js',
];
/** Licenses of what is in the bundle; each asks that its text goes along. */
const NOTICES = 'THIRD-PARTY-NOTICES.txt';

/**
 * @param root of the repository
 * @param compiled the folder of all compiled modules
 */
export async function bundleCli(root: string, compiled: string): Promise<void> {
  const folder = join(root, 'dist/cli');
  const { outputFiles, metafile } = await build({
    absWorkingDir: compiled,
    entryPoints: ENTRIES,
    outbase: 'cli',
    outdir: folder,
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Names stay, and each module's begin is marked with its path: a stack can be read without a source map.
    legalComments: 'none',
    // Packages in CommonJS call it for Node's own modules.
    banner: {
      js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
    },
    plugins: [borders(root, compiled), ownPlaces(compiled)],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const written = new Set([NOTICES]);
  for (const { path, text } of outputFiles) {
    written.add(relative(folder, path));
    writeIfChanged(path, text);
  }
  writeIfChanged(join(folder, NOTICES), noticesOf(compiled, metafile));
  for (const file of filesUnder(folder, '.')) if (!written.has(file)) rmSync(join(folder, file));
}

/** Imports that leave the bundle: of other packages of ours by the name that scripts/split-packages.ts gives, of libraries as they are. */
function borders(root: string, compiled: string): Plugin {
  const load = createRequire(join(root, 'package.json'));
  return {
    name: 'borders',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const module = relative(compiled, join(resolveDir, path));
        const owner = PACKAGES.find(
          ({ name, owns }) => name !== 'jobctl' && owns.some((own) => module.startsWith(`${own}/`)),
        );
        return owner === undefined ? undefined : { path: internalSpecifier(owner, module), external: true };
      });
      onResolve({ filter: /^[^./]/ }, ({ path, kind, importer, namespace }) => {
        if (path.startsWith('node:')) return { path, external: true };
        if (namespace === IMPORTED_LATER || importer.includes('/node_modules/')) return undefined;
        if (!BUNDLED.test(path)) return { path, external: true };
        return kind === 'dynamic-import' && COMMON_JS.test(path) ? { path, namespace: IMPORTED_LATER } : undefined;
      });
      // esbuild gives an import() of CommonJS its default alone. Node.js gives the names too.
      onLoad({ filter: /^/, namespace: IMPORTED_LATER }, ({ path }) => {
        const names = Object.keys(load(path) as object).filter((name) => name !== 'default');
        const contents = `const all = require('${path}');\nexport const { ${names.join(', ')} } = all;\nexport default all;\n`;
        return { contents, resolveDir: root };
      });
    },
  };
}

/** Bundled packages in CommonJS. */
const COMMON_JS = /^@temporalio\//;
const IMPORTED_LATER = 'imported-later';

/** `import.meta.url` of a module in a chunk: as if the module lay at its own place in the folder of the bundle. */
function ownPlaces(compiled: string): Plugin {
  return {
    name: 'own places',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (path.includes('/node_modules/') || !path.startsWith(`${compiled}/`)) return undefined;
        const code = readFileSync(path, 'utf8');
        if (!code.includes('import.meta.url')) return undefined;
        const place = JSON.stringify(relative(join(compiled, 'cli'), path));
        return { contents: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`) };
      });
    },
  };
}

/** Licenses of the packages whose code is in a bundle. @param from the folder that the bundle's paths begin at */
export function noticesOf(from: string, { inputs }: Metafile): string {
  const folders = new Set(Object.keys(inputs).flatMap((input) => packageFolder(join(from, input)) ?? []));
  return [...folders]
    .toSorted()
    .map(noticeOf)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** Folder of the package to which a file in node_modules belongs. */
const packageFolder = (file: string): string | undefined => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];

function noticeOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  const texts = filesUnder(folder, '.').filter((file) => /^(licen[cs]e|notice|copying)([.-][^/]*)?$/i.test(file));
  return [`${name} ${version}, ${license}`, ...texts.map((file) => readFileSync(join(folder, file), 'utf8').trim())]
    .join('\n\n')
    .concat('\n');
}
