import { existsSync, readFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { shellQuote } from '../../domain/shell-quote.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { ownVersion } from '../terminal/version.js';
import { cacheFolder, type Environment } from '../terminal/home.js';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { makeFolderSync } from '../../cloud/folders.js';
import { shortPath, tellLine } from '../terminal/print.js';
import { acquireLock } from './stack/process-identity.js';

/**
 * Packages that are separate from `jobctl`, because most users' computers need neither (docs/adr/0031): the dependencies of a
 * Temporal worker with the Kubernetes client, and the rehearsed cloud. Both have exactly the version of this jobctl. A checkout
 * contains both. An installed jobctl finds them next to itself or in its cache, where it installs them when first needed
 * (docs/adr/0061).
 */
type SeparatePackage = '@jobctl/worker' | '@jobctl/cloud-tpu-rehearsal';

const PURPOSE: Readonly<Record<SeparatePackage, string>> = {
  '@jobctl/worker': 'a Temporal worker and the Kubernetes client',
  '@jobctl/cloud-tpu-rehearsal': 'the rehearsed cloud',
};

const IS_SOURCE = import.meta.url.endsWith('.ts');
const require = createRequire(import.meta.url);

/** Identity of the package in a registry. */
interface PackageToFetch {
  readonly name: SeparatePackage;
  /** The exact version. */
  readonly version: string;
  /** `sha512-..` of its tarball, as npm writes it. Undefined in a checkout, which has no tarball. */
  readonly integrity?: string;
}

/** The file of the tarballs' hashes. `npm pack` of jobctl writes it into its own tarball (scripts/write-integrity.ts). */
const INTEGRITY_FILE = new URL('../../packages.json', import.meta.url);

function packageToFetch(name: SeparatePackage): PackageToFetch {
  const version = ownVersion();
  if (IS_SOURCE || !existsSync(INTEGRITY_FILE)) return { name, version };
  const packed = JSON.parse(readFileSync(INTEGRITY_FILE, 'utf8')) as Partial<Record<SeparatePackage, PackageToFetch>>;
  return packed[name] ?? { name, version };
}

/** The folder of the package's separate npm tree in the cache. It is complete if it exists, because one rename creates it. */
function cachedTree({ name, version, integrity = '' }: PackageToFetch, env: Environment = process.env): string {
  // Base64 has `/`; 12 characters of a hash tell two builds of one version apart.
  const build = integrity.replace(/^sha512-/, '').replaceAll(/[^a-zA-Z0-9]/g, '');
  return join(cacheFolder(env), 'packages', `${basename(name)}-${version}-${build.slice(0, 12)}`);
}

/** Place of an installed package. */
interface PackagePlace {
  /** The folder with its package.json. */
  readonly folder: string;
  /** The jobctl of this exact version that the package imports: this one, unless the package is in the cache. */
  readonly jobctl: string;
}

/** Place of the package: next to this jobctl in its version, or in the cache. Undefined: it is in neither. */
function packagePlace(name: SeparatePackage, env: Environment = process.env): PackagePlace | undefined {
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

/** @param why the reason why the package is absent and could not be installed */
function notInstalled(wanted: PackageToFetch, why = 'is not installed', ...remedies: readonly string[]): CliError {
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

interface FetchOptions {
  readonly env?: Environment;
  readonly onProgress: (line: string) => void;
}

const PROGRESS_EVERY_MS = 10_000;
/** Longest wait for another process that downloads about 250 MB over a slow line. */
const OTHER_FETCH_TIMEOUT_MS = 30 * 60_000;
const MOST_OUTPUT = 16 << 20;

/**
 * Installs the missing packages into jobctl's cache, once for all state folders: exactly this jobctl's version, and only a
 * tarball with the hash that this jobctl carries. Packages next to jobctl, or in the cache, are not touched. A second process
 * waits for the first.
 * @throws CliError (Unavailable) with the package, the reason and the remedy; nothing is left half installed
 */
export async function bringPackages(names: readonly SeparatePackage[], options: FetchOptions): Promise<void> {
  if (hasAllPackages) return;
  const { env = process.env } = options;
  for (const name of names) if (packagePlace(name, env) === undefined) await bring(packageToFetch(name), env, options);
}

/**
 * Loads a module of a package, which is installed first if it is missing.
 * @param module see `moduleFile`
 * @throws CliError as `bringPackages`
 */
export async function loadFrom<Module>(name: SeparatePackage, module: string): Promise<Module> {
  await bringPackages([name], { onProgress: tellLine });
  return (await import(pathToFileURL(moduleFile(name, module)).href)) as Module;
}

async function bring(wanted: PackageToFetch, env: Environment, { onProgress }: FetchOptions): Promise<void> {
  // A checkout without its packages: nothing may be fetched without a hash.
  if (wanted.integrity === undefined) throw notInstalled(wanted);
  const tree = cachedTree(wanted, env);
  const lock = await acquireLock(`${tree}.lock`, {
    timeoutMs: OTHER_FETCH_TIMEOUT_MS,
    onWait: ({ pid }) => onProgress(`Waiting for process ${pid}, which installs ${wanted.name} at this moment`),
  });
  try {
    if (!existsSync(tree)) await install(wanted, tree, env, onProgress);
  } finally {
    lock.release();
  }
}

async function install(
  wanted: PackageToFetch,
  tree: string,
  env: Environment,
  onProgress: (line: string) => void,
): Promise<void> {
  const { name, version } = wanted;
  const startedAt = Date.now();
  const seconds = (): string => `${Math.round((Date.now() - startedAt) / 1_000)} s`;
  onProgress(`Installing ${name} ${version} (${PURPOSE[name]}) into ${shortPath(tree)}, once`);
  const ticker = setInterval(() => onProgress(`Installing ${name}: ${seconds()}`), PROGRESS_EVERY_MS);
  makeFolderSync(dirname(tree));
  // Next to its destination, because a rename across file systems is not atomic.
  const scratch = mkdtempSync(`${tree}-scratch-`);
  try {
    const tarball = await checkedTarball(wanted, scratch, env);
    // Without a manifest npm would look for one in the folders above.
    writeFileSync(join(scratch, 'package.json'), '{ "private": true }\n');
    // The worker imports this jobctl itself, not another build of the same version from a registry.
    const ours = name === '@jobctl/worker' ? [ownFolder()] : [];
    // Install scripts of dependencies are not needed: each has prebuilt binaries or works without.
    const flags = ['--install-links', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev'];
    await npm(wanted, env, scratch, ['install', ...flags, ...ours, tarball]);
    rmSync(tarball);
    renameSync(scratch, tree);
  } finally {
    clearInterval(ticker);
    rmSync(scratch, { recursive: true, force: true });
  }
  onProgress(`${name} ${version} is installed (${seconds()})`);
}

/** Downloads the package's tarball. @returns its path @throws CliError if its hash is not the one that this jobctl carries */
async function checkedTarball(wanted: PackageToFetch, scratch: string, env: Environment): Promise<string> {
  const { name, version, integrity } = wanted;
  const said = await npm(wanted, env, scratch, ['pack', '--json', '--ignore-scripts', `${name}@${version}`]);
  // An array, or since npm 12 an object by name.
  const [packed] = Object.values(JSON.parse(said) as Record<string, { readonly filename: string }>);
  if (packed === undefined) throw notInstalled(wanted, `npm pack did not deliver: ${said.slice(0, 200)}`);
  const file = join(scratch, packed.filename.replace(/^@/, '').replace('/', '-'));
  const got = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (got === integrity) return file;
  throw notInstalled(
    wanted,
    'has another content in the npm registry, so nothing was installed',
    `this jobctl was packed with ${integrity}`,
    `the registry has ${got}`,
    'look which registry npm asks (`npm config get registry`), and install jobctl again from there',
  );
}

async function npm(wanted: PackageToFetch, env: Environment, cwd: string, args: readonly string[]): Promise<string> {
  try {
    const options = { cwd, env: npmEnvironment(env), maxBuffer: MOST_OUTPUT };
    return (await promisify(execFile)('npm', args, options)).stdout;
  } catch (error) {
    throw explained(wanted, error as NodeJS.ErrnoException & { readonly stdout?: string; readonly stderr?: string });
  }
}

/** Variables that npm or npx set for this process itself; the rest of npm's settings (registry, proxy, logins, cache) apply. */
const OWN_OF_NPM =
  /^npm_(?!config_)|^npm_config_(global|global_prefix|local_prefix|prefix|location|package|workspaces?|include_workspace_root|json|dry_run|pack_destination|omit|include|save.*|yes|call|loglevel|silent|ignore_scripts|install_links)$/i;

function npmEnvironment(env: Environment): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !OWN_OF_NPM.test(name));
  return { ...Object.fromEntries(kept), npm_config_update_notifier: 'false' };
}

const NO_NETWORK = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED)\b/;

function explained(
  wanted: PackageToFetch,
  {
    code,
    message,
    stdout = '',
    stderr = '',
  }: NodeJS.ErrnoException & { readonly stdout?: string; readonly stderr?: string },
): CliError {
  if (code === 'ENOENT')
    return notInstalled(
      wanted,
      'cannot be installed: there is no `npm` on the PATH',
      'npm comes with Node.js: nodejs.org',
    );
  const said = `${stderr}\n${stdout}`;
  const network = NO_NETWORK.exec(said)?.[1];
  if (network !== undefined)
    return notInstalled(
      wanted,
      `cannot be fetched: the npm registry does not answer (${network})`,
      'connect this computer to the network, or name a registry that it reaches (npm config set registry URL), and repeat',
      'it is fetched once; after that no network is needed',
    );
  if (/\bE404\b/.test(said))
    return notInstalled(
      wanted,
      'is not in the npm registry',
      'look which registry npm asks: npm config get registry; @jobctl:registry names another one for these packages',
    );
  const line = stderr
    .split('\n')
    .map((each) => each.replace(/^npm (error|ERR!) ?/, '').trim())
    .find((each) => each !== '' && !each.startsWith('code ') && !each.startsWith('npm warn'));
  return notInstalled(wanted, `npm could not install: ${line ?? message}`);
}
