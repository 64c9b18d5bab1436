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
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as WorkflowCode from '../worker/workflow-code.js';
import { type BuildInputs, buildInputs, filesUnder, isBuildCurrent, stampOf, writeIfChanged } from './build-inputs.js';
import { PACKAGES } from './packages.js';
import { withoutTypes } from './without-types.js';

/**
 * `npm run build`: removes the types from the sources, divides the modules among the packages' dist folders, bundles the
 * page and, for the worker, the workflows, and links this checkout's commands. Does nothing if no source changed; `--force` starts from empty
 * folders. `--declarations`, which `npm pack` gives, also writes the published declarations. No checkout needs them, and tsc
 * takes half a minute of a processor (docs/adr/0156).
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Folder of all compiled modules and declarations, from which the packages' folders are filled. */
const COMPILED = join(ROOT, 'dist/.compiled');
const WORKER_DIST = join(ROOT, 'worker/dist');
const REHEARSAL_DIST = join(ROOT, 'rehearsal/dist');
const STAMP = stampOf(ROOT);
/** Fingerprint of the sources that the declarations were made from. */
const DECLARED = `${STAMP}-declarations`;
/** The two bundles differ in failures: passed on as they are, or encrypted by the worker's payload codec (docs/adr/0009). */
const payloadConverterPath = join(COMPILED, 'workflows/payload-converter.js');
const BUNDLES = [
  { file: join(WORKER_DIST, 'workflow-bundle.js'), options: { payloadConverterPath } },
  {
    file: join(WORKER_DIST, 'workflow-bundle-encrypting.js'),
    options: { payloadConverterPath, failureConverterPath: join(COMPILED, 'workflows/failure-converter.js') },
  },
];
/** Keyed by the name that each command has in node_modules/.bin. */
const COMMANDS = { jobctl: 'dist/cli/main.js', 'cloud-tpu-rehearsal': 'rehearsal/dist/main.js' };

async function build(): Promise<void> {
  if (process.argv.includes('--force')) removeBuilt();
  const inputs = buildInputs(ROOT);
  if (!isBuildCurrent(ROOT) || !BUNDLES.every(({ file }) => existsSync(file))) await compileAll(inputs);
  link();
  if (isForOthers() && !isDeclared(inputs)) await declare(inputs);
}

async function compileAll({ folders, sources, fingerprint }: BuildInputs): Promise<void> {
  rmSync(STAMP, { force: true });
  sources.filter((source) => source.endsWith('.ts') && !source.endsWith('.d.ts')).forEach(compile);
  removeOrphans(folders, new Set(sources));
  const { splitModules } = await import('./split-packages.js');
  splitModules(ROOT, COMPILED);
  const { bundleCli } = await import('./bundle-cli.js');
  await bundleCli(ROOT, COMPILED);
  const { bundleUi } = await import('./bundle-ui.js');
  await bundleUi(ROOT);
  copyOthers(sources);
  await bundleWorkflows();
  writeFileSync(STAMP, fingerprint);
}

/** Whether the caller is `npm pack`, or npm in another folder (INIT_CWD), which installs this one by path or git address. */
function isForOthers(): boolean {
  const { INIT_CWD: caller = ROOT } = process.env;
  return process.argv.includes('--declarations') || relative(ROOT, caller).startsWith('..');
}

const isDeclared = ({ fingerprint }: BuildInputs): boolean =>
  existsSync(DECLARED) && readFileSync(DECLARED, 'utf8') === fingerprint;

async function declare({ fingerprint }: BuildInputs): Promise<void> {
  rmSync(DECLARED, { force: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json')]);
  const { splitDeclarations } = await import('./split-packages.js');
  splitDeclarations(ROOT, COMPILED);
  writeFileSync(DECLARED, fingerprint);
}

function removeBuilt(): void {
  for (const { folder } of PACKAGES) rmSync(join(ROOT, folder, 'dist'), { recursive: true, force: true });
}

/** Writes the file only if it differs, so that a worker that is started meanwhile finds whole files. */
function compile(source: string): void {
  writeIfChanged(join(COMPILED, source.replace(/\.ts$/, '.js')), withoutTypes(join(ROOT, source)));
}

/** Copies the scripts that TPU VMs and pods run, with their modes. */
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

/** Removes modules whose source is gone: an import would still find them. */
function removeOrphans(folders: readonly string[], sources: ReadonlySet<string>): void {
  const isOf = (file: string): boolean => sources.has(file.replace(/(\.d\.ts|\.js)$/, '.ts'));
  for (const file of folders.flatMap((folder) => filesUnder(COMPILED, folder))) {
    if (!isOf(file)) rmSync(join(COMPILED, file));
  }
}

/** Bundles all workflow code into one file each, so that a worker needs neither webpack at its start nor the checkout. */
async function bundleWorkflows(): Promise<void> {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const quiet = { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error };
  const workflowsPath = join(COMPILED, 'workflows/index.js');
  // From the modules just compiled: these paths are the ones that the workflows import.
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

/** Links `npx jobctl` and `npx cloud-tpu-rehearsal` in the checkout. npm links only commands that exist when it installs. */
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
