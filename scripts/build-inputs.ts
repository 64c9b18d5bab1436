import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** All files of a folder, as paths from `root`, in a fixed order. Empty if there is no such folder. */
export function filesUnder(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length))
    .sort();
}

/** Folders below `folder` that contain no file at any depth. */
export function emptyFoldersUnder(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => filesUnder(path, '.').length === 0);
}

/** A hash of the names and contents of these files. Their times do not matter: a clone or a checkout changes them. */
function fingerprintOf(root: string, files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

export const FOLDERS_OF_SOURCES = [
  'domain',
  'quota',
  'contract',
  'workflows',
  'activities',
  'cloud',
  'worker',
  'server',
  'client',
  'cli',
  'rehearsal',
  'types',
];
/** The page, which is bundled for browsers (scripts/bundle-ui.ts). */
export const PAGE_SOURCES = 'ui';
const CONFIGURATION = [
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'package-lock.json',
  'scripts/build.ts',
  'scripts/build-inputs.ts',
  'scripts/bundle-cli.ts',
  'scripts/bundle-ui.ts',
  'scripts/packages.ts',
  'scripts/split-packages.ts',
  'scripts/without-types.ts',
];
/** Paths in a folder of sources that the build does not use. */
const NOT_SOURCES = /^[^/]+\/(dist|node_modules|test|examples|package\.json$|README\.md$)/;

/** The files that dist/ is made from. */
export interface BuildInputs {
  readonly folders: readonly string[];
  readonly sources: readonly string[];
  /** Fingerprint of the sources and of the build's configuration. */
  readonly fingerprint: string;
}

export function buildInputs(root: string): BuildInputs {
  const files = FOLDERS_OF_SOURCES.flatMap((folder) => filesUnder(root, folder));
  const sources = files.filter((file) => !NOT_SOURCES.test(file));
  const page = filesUnder(root, PAGE_SOURCES);
  const fingerprint = fingerprintOf(root, [...CONFIGURATION, ...sources, ...page]);
  return { folders: FOLDERS_OF_SOURCES, sources, fingerprint };
}

/** The file in which a finished build leaves the fingerprint of its inputs. */
export const stampOf = (root: string): string => join(root, 'dist/.stamp');

/** Whether dist/ was made from the present sources. */
export const isBuildCurrent = (root: string): boolean =>
  existsSync(stampOf(root)) && readFileSync(stampOf(root), 'utf8') === buildInputs(root).fingerprint;

export function writeIfChanged(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
