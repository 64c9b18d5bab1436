import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellQuote } from '../../../domain/shell-quote.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { ownVersion } from '../verbs/version.js';
import { cacheFolder, type Environment } from './home.js';

/**
 * The packages that the `jobctl` package leaves out, because most users' computers need neither (docs/adr/0031): what a
 * Temporal worker needs, the Kubernetes client with it, and the rehearsed cloud. Both have exactly the version of this
 * jobctl. A checkout has both. An installed jobctl finds them beside itself, else in its cache, where it puts them when they
 * are first needed (fetch-packages.ts, docs/adr/0061).
 */
export type SeparatePackage = '@jobctl/worker' | '@jobctl/cloud-tpu-rehearsal';

export const PURPOSE: Readonly<Record<SeparatePackage, string>> = {
  '@jobctl/worker': 'a Temporal worker and the Kubernetes client',
  '@jobctl/cloud-tpu-rehearsal': 'the rehearsed cloud',
};

const IS_SOURCE = import.meta.url.endsWith('.ts');
const require = createRequire(import.meta.url);

/** What identifies the package in a registry. */
export interface PackageToFetch {
  readonly name: SeparatePackage;
  /** Exact. */
  readonly version: string;
  /** `sha512-..` of its tarball, as npm writes it. Undefined in a checkout, which packed none. */
  readonly integrity?: string;
}

/** `npm pack` of jobctl writes the tarballs' hashes into its own tarball (scripts/write-integrity.ts). */
const INTEGRITY_FILE = new URL('../../../packages.json', import.meta.url);

export function packageToFetch(name: SeparatePackage): PackageToFetch {
  const version = ownVersion();
  if (IS_SOURCE || !existsSync(INTEGRITY_FILE)) return { name, version };
  const packed = JSON.parse(readFileSync(INTEGRITY_FILE, 'utf8')) as Partial<Record<SeparatePackage, PackageToFetch>>;
  return packed[name] ?? { name, version };
}

/** The folder of the package's own npm tree in the cache. It is complete if it exists: one rename puts it there. */
export function cachedTree({ name, version, integrity = '' }: PackageToFetch, env: Environment = process.env): string {
  // Base64 has `/`; 12 characters of a hash tell two builds of one version apart.
  const build = integrity.replace(/^sha512-/, '').replaceAll(/[^a-zA-Z0-9]/g, '');
  return join(cacheFolder(env), 'packages', `${basename(name)}-${version}-${build.slice(0, 12)}`);
}

/** Where an installed package is. */
export interface PackagePlace {
  /** The folder with its package.json. */
  readonly folder: string;
  /** The jobctl of exactly this version that the package imports: this one, unless the package is in the cache. */
  readonly jobctl: string;
}

/** Undefined if the package is neither beside this jobctl, in its version, nor in the cache. */
export function packagePlace(name: SeparatePackage, env: Environment = process.env): PackagePlace | undefined {
  const wanted = packageToFetch(name);
  const beside = folderBeside(wanted);
  if (beside !== undefined) return { folder: beside, jobctl: ownFolder() };
  const modules = join(cachedTree(wanted, env), 'node_modules');
  return existsSync(modules) ? { folder: join(modules, name), jobctl: join(modules, 'jobctl') } : undefined;
}

/** @throws CliError if the package was not brought */
export function placeOf(name: SeparatePackage, env?: Environment): PackagePlace {
  const place = packagePlace(name, env);
  if (place === undefined) throw notInstalled(packageToFetch(name));
  return place;
}

/**
 * The file of a module of the package, in whatever form this jobctl runs: source or built.
 * @param module without its ending, from the package's folder of sources; an entry of scripts/packages.ts
 * @throws CliError if the package was not brought
 */
export function moduleFile(name: SeparatePackage, module: string, env?: Environment): string {
  const isWorker = name === '@jobctl/worker';
  if (IS_SOURCE) return join(ownFolder(), isWorker ? 'worker' : 'rehearsal', `${module}.ts`);
  // The worker's modules keep their folder in dist/, which carries other folders too.
  return join(placeOf(name, env).folder, 'dist', isWorker ? 'worker' : '', `${module}.js`);
}

/** The same of the HTTP server, which the worker's package carries. */
export const serverModuleFile = (module: string): string =>
  IS_SOURCE
    ? join(ownFolder(), 'server', `${module}.ts`)
    : join(placeOf('@jobctl/worker').folder, 'dist/server', `${module}.js`);

/** A checkout has both packages: they are its folders. */
export const hasAllPackages = IS_SOURCE;

/** Of this jobctl, with its package.json. From source this file lies three folders below it, built one more. */
export const ownFolder = (): string =>
  fileURLToPath(new URL(IS_SOURCE ? '../../../' : '../../../../', import.meta.url)).replace(/\/$/, '');

function folderBeside({ name, version }: PackageToFetch): string | undefined {
  try {
    const file = require.resolve(`${name}/package.json`);
    return (require(file) as { version: string }).version === version ? dirname(file) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** @param why the package is not there, and could not be brought */
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

/** It installs the package where Node looks for it from here: into the folder that holds this jobctl. */
function installCommand({ name, version }: PackageToFetch): string {
  const own = ownFolder();
  const folder = dirname(own);
  const isGlobal = basename(folder) === 'node_modules' && basename(dirname(folder)) === 'lib';
  const prefix = isGlobal ? dirname(dirname(folder)) : basename(folder) === 'node_modules' ? dirname(folder) : own;
  return `npm install ${isGlobal ? '--global ' : ''}--prefix ${shellQuote(prefix)} ${name}@${version}`;
}
