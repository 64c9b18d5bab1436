import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES, type PackageLayout } from './packages.js';

interface Manifest {
  readonly devDependencies?: unknown;
  readonly workspaces?: unknown;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WHOLE = { name: 'release', version: '0.0.0', workspaces: PACKAGES.map(({ name }) => name) };

/**
 * Calls `work` with a folder that holds the manifests of the published packages and their lock, without development dependencies,
 * for commands of npm that read the lock. In the repository itself the root depends on itself (`"jobctl": "file:."`), and `npm
 * sbom` of npm 11.19 sees 84 of 391 dependencies there, or overflows its stack.
 */
export async function withPublishedTree<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-published-'));
  try {
    layTree(folder);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Places each package in a folder with the package's name, so that `npm sbom` uses that name and nothing depends on itself. A
 * package's own `node_modules` moves with it.
 */
function layTree(copy: string): void {
  const { packages, ...lock } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const locked: Record<string, unknown> = { '': WHOLE };
  for (const [path, entry] of Object.entries(packages)) {
    if (!path.includes('node_modules/') || entry.dev || entry.link) continue;
    const layout = PACKAGES.find(({ folder }) => path.startsWith(`${folder}/`));
    locked[layout ? path.replace(layout.folder, layout.name) : path] = entry;
  }
  for (const layout of PACKAGES) {
    const manifest = manifestOf(layout);
    locked[layout.name] = manifest;
    locked[`node_modules/${layout.name}`] = { resolved: layout.name, link: true };
    mkdirSync(join(copy, layout.name), { recursive: true });
    writeJson(join(copy, layout.name, 'package.json'), manifest);
  }
  writeJson(join(copy, 'package.json'), WHOLE);
  writeJson(join(copy, 'package-lock.json'), { ...lock, ...WHOLE, packages: locked });
}

function manifestOf({ folder }: PackageLayout): Manifest {
  const text = readFileSync(join(ROOT, folder, 'package.json'), 'utf8');
  const { devDependencies: _dev, workspaces: _workspaces, ...manifest } = JSON.parse(text) as Manifest;
  return manifest;
}

const writeJson = (file: string, value: unknown): void => writeFileSync(file, JSON.stringify(value));
