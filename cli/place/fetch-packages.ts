import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { CliError } from '../terminal/cli-error.js';
import { shortPath, tellLine } from '../terminal/print.js';
import { acquireLock } from './stack/file-lock.js';
import type { Environment } from '../terminal/home.js';
import {
  cachedTree,
  hasAllPackages,
  moduleFile,
  notInstalled,
  ownFolder,
  packagePlace,
  type PackageToFetch,
  packageToFetch,
  PURPOSE,
  type SeparatePackage,
} from './packages.js';

export interface FetchOptions {
  readonly env?: Environment;
  readonly onProgress: (line: string) => void;
}

const PROGRESS_EVERY_MS = 10_000;
/** Time for about 250 MB over a slow line. */
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
  mkdirSync(dirname(tree), { recursive: true });
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
