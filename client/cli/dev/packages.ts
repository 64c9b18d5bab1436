import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellQuote } from '../../../domain/shell-quote.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { ownVersion } from '../verbs/version.js';

/**
 * The packages that the `jobctl` package leaves out, because most users' computers need neither (docs/adr/0031): what a
 * Temporal worker needs, and the rehearsed cloud. Both have exactly the version of this jobctl. A checkout has both.
 */
export type SeparatePackage = '@jobctl/worker' | '@jobctl/cloud-tpu-rehearsal';

const PURPOSE: Readonly<Record<SeparatePackage, string>> = {
  '@jobctl/worker': 'a Temporal worker',
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

/** @throws CliError naming each package that is not installed, or is of another version, and the command that installs it */
export function requirePackages(...names: readonly SeparatePackage[]): void {
  if (IS_SOURCE) return;
  for (const name of names) checkInstalled(name);
}

/** Runs `load`, which imports a module of the package. @throws CliError as `requirePackages` does */
export async function loadFrom<Module>(name: SeparatePackage, load: () => Promise<Module>): Promise<Module> {
  requirePackages(name);
  return load();
}

/** The file of a program that the package offers. @throws CliError as `requirePackages` does */
export function programIn(name: SeparatePackage, module: string): string {
  requirePackages(name);
  return require.resolve(`${name}/internal/${module}`);
}

function checkInstalled(name: SeparatePackage): void {
  const { version } = packageToFetch(name);
  const installed = installedVersion(name);
  if (installed === version) return;
  const what = `this needs ${PURPOSE[name]}, the package ${name} ${version}`;
  throw new CliError(
    ExitCode.Unavailable,
    installed === undefined ? `${what}, which is not installed` : `${what}; installed is ${installed}`,
    `install it beside jobctl: ${installCommand(name, version)}`,
  );
}

function installedVersion(name: SeparatePackage): string | undefined {
  try {
    return (require(`${name}/package.json`) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** It installs the package where Node looks for it from here: into the folder that holds this jobctl. */
function installCommand(name: SeparatePackage, version: string): string {
  const own = dirname(fileURLToPath(new URL('../../../../package.json', import.meta.url)));
  const folder = dirname(own);
  const isGlobal = basename(folder) === 'node_modules' && basename(dirname(folder)) === 'lib';
  const prefix = isGlobal ? dirname(dirname(folder)) : basename(folder) === 'node_modules' ? dirname(folder) : own;
  return `npm install ${isGlobal ? '--global ' : ''}--prefix ${shellQuote(prefix)} ${name}@${version}`;
}
