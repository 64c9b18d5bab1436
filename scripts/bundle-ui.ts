import { readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { build } from 'esbuild';
import { filesUnder, writeIfChanged } from './build-inputs.js';
import { noticesOf } from './bundle-cli.js';

/**
 * Bundles the page of `jobctl serve` and `jobctl ui` into dist/ui: scripts and a style sheet under names that change with their
 * content, and the one HTML file that names them (docs/adr/0164). A screen that is opened later is a chunk of its own.
 */
const NOTICES = 'THIRD-PARTY-NOTICES.txt';

/** @param root of the repository */
export async function bundleUi(root: string): Promise<void> {
  const folder = join(root, 'dist/ui');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'ui/main.tsx', style: 'ui/style.css' },
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    // Browsers of 2024 and later.
    target: ['chrome120', 'firefox121', 'safari17.2'],
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    tsconfig: 'ui/tsconfig.json',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const written = new Set([NOTICES, 'index.html', 'icon.svg']);
  for (const { path, text } of outputFiles) {
    written.add(relative(folder, path));
    writeIfChanged(path, text);
  }
  const nameOf = (source: string): string => {
    const found = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source);
    if (found === undefined) throw new Error(`the bundle of the page has no ${source}`);
    return basename(found[0]);
  };
  const html = readFileSync(join(root, 'ui/index.html'), 'utf8')
    .replace('%SCRIPT%', `/ui/${nameOf('ui/main.tsx')}`)
    .replace('%STYLE%', `/ui/${nameOf('ui/style.css')}`);
  writeIfChanged(join(folder, 'index.html'), html);
  writeIfChanged(join(folder, 'icon.svg'), readFileSync(join(root, 'ui/icon.svg'), 'utf8'));
  writeIfChanged(join(folder, NOTICES), noticesOf(root, metafile));
  for (const file of filesUnder(folder, '.')) if (!written.has(file)) rmSync(join(folder, file));
}
