import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { kindFiles, kindNames } from '../../scripts/new-kind/skeleton.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAME = 'some-pods';
const FILES = kindFiles(kindNames(NAME));
const SUITE = `test/cloud/${NAME}-machines.test.ts`;

/** The suite of the new kind as one module: its files as `npm run new:kind` would write them, over the sources that are there. */
async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: FILES[SUITE] ?? '', resolveDir: join(ROOT, 'test/cloud'), loader: 'ts' },
    absWorkingDir: ROOT,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'files that are not written',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => {
            const file = relative(ROOT, join(resolveDir, path.replace(/\.js$/, '.ts')));
            return { path: join(ROOT, file), ...(file in FILES && { namespace: 'new' }) };
          });
          onLoad({ filter: /./, namespace: 'new' }, ({ path }) => ({
            contents: FILES[relative(ROOT, path)] ?? '',
            resolveDir: dirname(path),
            loader: 'ts',
          }));
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}

const file = join(ROOT, 'node_modules/.cache', `new-kind-${process.pid}.mjs`);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, await bundled());
// Its cases are of the suite that every adapter passes: the one that is written passes it over a stub of its provider.
await import(pathToFileURL(file).href);
rmSync(file);

describe('npm run new:kind', () => {
  it('finds the lines of the registry before which it writes its rows', () => {
    const registry = readFileSync(join(ROOT, 'domain/machine-kinds/registry.ts'), 'utf8');
    const script = readFileSync(join(ROOT, 'scripts/new-kind.ts'), 'utf8');
    const before = [...script.matchAll(/^ +\[?["'](.+)["'],(?: registryImports| `|$)/gmu)].map(([, line = '']) => line);
    assert.equal(before.length, 4, before.join('\n'));
    for (const line of before) assert.ok(registry.includes(line.replaceAll('\\n', '\n').replaceAll("\\'", "'")), line);
  });
});
