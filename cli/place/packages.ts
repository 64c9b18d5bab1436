import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellQuote } from '../../domain/shell-quote.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { ownVersion } from '../terminal/version.js';
import { cacheFolder, type Environment } from '../terminal/home.js';

/**
 * Packages that are separate from `jobctl`, because most users' computers need neither (docs/adr/0031): the dependencies of a
 * Temporal worker with the Kubernetes client, and the rehearsed cloud. Both have exactly the version of this jobctl. A checkout
 * contains both. An installed jobctl finds them next to itself or in its cache, where it installs them when first needed
 * (fetch-packages.ts, docs/adr/0061).
 */
export type SeparatePackage = '@jobctl/worker' | '@jobctl/cloud-tpu-rehearsal';

export const PURPOSE: Readonly<Record<SeparatePackage, string>> = {
  '@jobctl/worker': 'a Temporal worker and the Kubernetes client',
  '@jobctl/cloud-tpu-rehearsal': 'the rehearsed cloud',
};

const IS_SOURCE = import.meta.url.endsWith('.ts');
const require = createRequire(import.meta.url);

/** Identity of the package in a registry. */
export interface PackageToFetch {
  readonly name: SeparatePackage;
  /** The exact version. */
  readonly version: string;
  /** `sha512-..` of its tarball, as npm writes it. Undefined in a checkout, which has no tarball. */
  readonly integrity?: string;
}

/** `npm pack` of jobctl writes the tarballs' hashes into its own tarball (scripts/write-integrity.ts). */
const INTEGRITY_FILE = new URL('../../packages.json', import.meta.url);

export function packageToFetch(name: SeparatePackage): PackageToFetch {
  const version = ownVersion();
  if (IS_SOURCE || !existsSync(INTEGRITY_FILE)) return { name, version };
  const packed = JSON.parse(readFileSync(INTEGRITY_FILE, 'utf8')) as Partial<Record<SeparatePackage, PackageToFetch>>;
  return packed[name] ?? { name, version };
}

/** The folder of the package's separate npm tree in the cache. It is complete if it exists, because one rename creates it. */
export function cachedTree({ name, version, integrity = '' }: PackageToFetch, env: Environment = process.env): string {
  // Base64 has `/`; 12 characters of a hash tell two builds of one version apart.
  const build = integrity.replace(/^sha512-/, '').replaceAll(/[^a-zA-Z0-9]/g, '');
  return join(cacheFolder(env), 'packages', `${basename(name)}-${version}-${build.slice(0, 12)}`);
}

/** Place of an installed package. */
export interface PackagePlace {
  /** The folder with its package.json. */
  readonly folder: string;
  /** The jobctl of this exact version that the package imports: this one, unless the package is in the cache. */
  readonly jobctl: string;
}

/** Place of the package; undefined if it is neither next to this jobctl, in its version, nor in the cache. */
export function packagePlace(name: SeparatePackage, env: Environment = process.env): PackagePlace | undefined {
  const wanted = packageToFetch(name);
  const beside = folderBeside(wanted);
  if (beside !== undefined) return { folder: beside, jobctl: ownFolder() };
  const modules = join(cachedTree(wanted, env), 'node_modules');
  return existsSync(modules) ? { folder: join(modules, name), jobctl: join(modules, 'jobctl') } : undefined;
}

/** @throws CliError if the package is not installed */
export function placeOf(name: SeparatePackage, env?: Environment): PackagePlace {
  const place = packagePlace(name, env);
  if (place === undefined) throw notInstalled(packageToFetch(name));
  return place;
}

/**
 * The file of a package's module in the form in which this jobctl runs: source or built.
 * @param module path without extension in the package's source folder; an entry of scripts/packages.ts
 * @throws CliError if the package is not installed
 */
export function moduleFile(name: SeparatePackage, module: string, env?: Environment): string {
  const isWorker = name === '@jobctl/worker';
  if (IS_SOURCE) return join(ownFolder(), isWorker ? 'worker' : 'rehearsal', `${module}.ts`);
  // The worker's modules keep their folder in dist/, which carries other folders too.
  return join(placeOf(name, env).folder, 'dist', isWorker ? 'worker' : '', `${module}.js`);
}

/** Like `moduleFile`, for the HTTP server, which is in the worker's package. */
export const serverModuleFile = (module: string): string =>
  IS_SOURCE
    ? join(ownFolder(), 'server', `${module}.ts`)
    : join(placeOf('@jobctl/worker').folder, 'dist/server', `${module}.js`);

/** True in a checkout, which has both packages as folders. */
export const hasAllPackages = IS_SOURCE;

/** The folder of this jobctl with its package.json: two folders above this file in source, three if built. */
export const ownFolder = (): string =>
  fileURLToPath(new URL(IS_SOURCE ? '../../' : '../../../', import.meta.url)).replace(/\/$/, '');

function folderBeside({ name, version }: PackageToFetch): string | undefined {
  try {
    const file = require.resolve(`${name}/package.json`);
    return (require(file) as { version: string }).version === version ? dirname(file) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** @param why reason why the package is absent and could not be installed */
export function notInstalled(
  wanted: PackageToFetch,
  why = 'is not installed',
  ...remedies: readonly string[]
): CliError {
  const { name, version } = wanted;
  return new CliError(
    ExitCode.Unavailable,
    `this needs ${PURPOSE[name]}, the package ${name} ${version}, which ${why}`,
    ...remedies,
    `to install it beside jobctl: ${installCommand(wanted)}`,
  );
}

/** The command that installs the package where Node finds it from here: into the folder that contains this jobctl. */
function installCommand({ name, version }: PackageToFetch): string {
  const own = ownFolder();
  const folder = dirname(own);
  const isGlobal = basename(folder) === 'node_modules' && basename(dirname(folder)) === 'lib';
  const prefix = isGlobal ? dirname(dirname(folder)) : basename(folder) === 'node_modules' ? dirname(folder) : own;
  return `npm install ${isGlobal ? '--global ' : ''}--prefix ${shellQuote(prefix)} ${name}@${version}`;
}
