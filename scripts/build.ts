import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as WorkflowCode from '../worker/workflow-code.js';
import { buildInputs, filesUnder, stampOf } from './build-inputs.js';
import { PACKAGES } from './packages.js';
import { splitPackages } from './split-packages.js';

/**
 * `npm run build`: compiles the sources, divides them among the packages' dist folders, bundles the workflows for the worker
 * and links this checkout's commands. Does nothing if no source changed; `--force` starts from empty folders.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** tsc writes here; the packages' folders are divided out of it. */
const COMPILED = join(ROOT, 'dist/.compiled');
const WORKER_DIST = join(ROOT, 'worker/dist');
const REHEARSAL_DIST = join(ROOT, 'rehearsal/dist');
const STAMP = stampOf(ROOT);
/** By what a worker does with failures: as they are, or encrypted by its payload codec (docs/adr/0009). */
const payloadConverterPath = join(COMPILED, 'workflows/payload-converter.js');
const BUNDLES = [
  { file: join(WORKER_DIST, 'workflow-bundle.js'), options: { payloadConverterPath } },
  {
    file: join(WORKER_DIST, 'workflow-bundle-encrypting.js'),
    options: { payloadConverterPath, failureConverterPath: join(COMPILED, 'workflows/failure-converter.js') },
  },
];
/** Under the name that each has in node_modules/.bin. */
const COMMANDS = { jobctl: 'dist/cli/main.js', 'cloud-tpu-rehearsal': 'rehearsal/dist/main.js' };

async function build(): Promise<void> {
  if (process.argv.includes('--force')) removeBuilt();
  const { folders, sources, fingerprint } = buildInputs(ROOT);
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === fingerprint && BUNDLES.every(({ file }) => existsSync(file)))
    return link();
  rmSync(STAMP, { force: true });
  await compile();
  removeOrphans(folders, new Set(sources));
  splitPackages(ROOT, COMPILED);
  copyOthers(sources);
  await bundleWorkflows();
  link();
  writeFileSync(STAMP, fingerprint);
}

function removeBuilt(): void {
  for (const { folder } of PACKAGES) rmSync(join(ROOT, folder, 'dist'), { recursive: true, force: true });
}

async function compile(): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const incremental = ['--incremental', '--tsBuildInfoFile', join(ROOT, 'dist/.tsbuildinfo')];
  await run(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json'), ...incremental]);
}

/** Scripts that TPU VMs and pods run, with their modes. */
function copyOthers(sources: readonly string[]): void {
  const others = sources.filter((source) => /^rehearsal\/(vm|kubernetes)\//.test(source) && !source.endsWith('.ts'));
  const wanted = new Set(others.map((file) => file.slice('rehearsal/'.length)));
  for (const file of wanted) {
    mkdirSync(dirname(join(REHEARSAL_DIST, file)), { recursive: true });
    copyFileSync(join(ROOT, 'rehearsal', file), join(REHEARSAL_DIST, file));
  }
  const isScript = (file: string): boolean => !/\.(js|d\.ts|map)$/.test(file);
  for (const file of filesUnder(REHEARSAL_DIST, '.').filter(isScript)) {
    if (!wanted.has(file)) rmSync(join(REHEARSAL_DIST, file));
  }
}

/** What an earlier build compiled from a source that is gone would still be found by an import. */
function removeOrphans(folders: readonly string[], sources: ReadonlySet<string>): void {
  for (const file of folders.flatMap((folder) => filesUnder(COMPILED, folder))) {
    if (!sources.has(file.replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts'))) rmSync(join(COMPILED, file));
  }
}

/** One file each with all workflow code, so that a worker neither needs webpack at its start nor depends on the checkout. */
async function bundleWorkflows(): Promise<void> {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const quiet = { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error };
  const workflowsPath = join(COMPILED, 'workflows/index.js');
  // Of what was compiled just now: its paths are those that the workflows import.
  const { INTERCEPTORS, SHARED_MODULES } = (await import(
    join(COMPILED, 'worker/workflow-code.js')
  )) as typeof WorkflowCode;
  for (const { file, options } of BUNDLES) {
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      logger: quiet,
      preloadModules: [...SHARED_MODULES],
      workflowInterceptorModules: [...INTERCEPTORS],
      ...options,
    });
    writeFileSync(`${file}.new`, code);
    renameSync(`${file}.new`, file);
  }
}

/** `npx jobctl` and `npx cloud-tpu-rehearsal` in the checkout. npm links them only if they are there when it installs. */
function link(): void {
  const folder = join(ROOT, 'node_modules/.bin');
  for (const [name, file] of Object.entries(COMMANDS)) {
    chmodSync(join(ROOT, file), 0o755);
    if (!existsSync(folder)) continue;
    rmSync(join(folder, name), { force: true });
    symlinkSync(join('../..', file), join(folder, name));
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { spawn } = await import('node:child_process');
  const child = spawn(program, [...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve));
  if (code !== 0) process.exit(code ?? 1);
}

mkdirSync(COMPILED, { recursive: true });
await build();
