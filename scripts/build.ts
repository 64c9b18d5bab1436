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
import { buildInputs, emptyFoldersUnder, filesUnder, stampOf } from './build-inputs.js';

/**
 * `npm run build`: dist/ from the sources, the workflow bundle that the worker loads, and the `jobctl` command of this
 * checkout. Does nothing where nothing changed; `--force` starts from an empty dist/.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
const STAMP = stampOf(ROOT);
/** By what a worker does with failures: as they are, or encrypted by its payload codec (docs/adr/0009). */
const BUNDLES = [
  { file: join(DIST, 'workflow-bundle.js'), options: {} },
  {
    file: join(DIST, 'workflow-bundle-encrypting.js'),
    options: { failureConverterPath: join(DIST, 'workflows/failure-converter.js') },
  },
];
const COMMAND = join(DIST, 'client/cli/main.js');

async function build(): Promise<void> {
  if (process.argv.includes('--force')) rmSync(DIST, { recursive: true, force: true });
  const { folders, sources, fingerprint } = buildInputs(ROOT);
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === fingerprint && BUNDLES.every(({ file }) => existsSync(file)))
    return linkCommand();
  rmSync(STAMP, { force: true });
  await compile();
  copyOthers(sources);
  removeOrphans(folders, new Set(sources));
  await bundleWorkflows();
  linkCommand();
  writeFileSync(STAMP, fingerprint);
}

async function compile(): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const incremental = ['--incremental', '--tsBuildInfoFile', join(DIST, '.tsbuildinfo')];
  await run(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json'), ...incremental]);
}

/** Scripts that TPU VMs run, with their modes. */
function copyOthers(sources: readonly string[]): void {
  for (const file of sources.filter((source) => source.startsWith('rehearsal/') && !source.endsWith('.ts'))) {
    mkdirSync(dirname(join(DIST, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(DIST, file));
  }
}

/** What an earlier build made from a source that is gone would still be found by an import, and be packed. */
function removeOrphans(folders: readonly string[], sources: ReadonlySet<string>): void {
  for (const folder of folders) {
    for (const file of filesUnder(DIST, folder)) {
      const source = file.replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts');
      if (!sources.has(source)) rmSync(join(DIST, file));
    }
    for (const empty of emptyFoldersUnder(DIST, folder)) rmSync(empty, { recursive: true });
  }
}

/** One file each with all workflow code, so that a worker neither needs webpack at its start nor depends on the checkout. */
async function bundleWorkflows(): Promise<void> {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const quiet = { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error };
  const workflowsPath = join(DIST, 'workflows/index.js');
  // Of what was compiled just now: its paths are those in dist/.
  const { SHARED_MODULES } = (await import(join(DIST, 'worker/workflow-code.js'))) as typeof WorkflowCode;
  for (const { file, options } of BUNDLES) {
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      logger: quiet,
      preloadModules: [...SHARED_MODULES],
      ...options,
    });
    writeFileSync(`${file}.new`, code);
    renameSync(`${file}.new`, file);
  }
}

/** `npx jobctl` in the checkout. */
function linkCommand(): void {
  chmodSync(COMMAND, 0o755);
  const link = join(ROOT, 'node_modules/.bin/jobctl');
  if (!existsSync(dirname(link))) return;
  rmSync(link, { force: true });
  symlinkSync('../../dist/client/cli/main.js', link);
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { spawn } = await import('node:child_process');
  const child = spawn(program, [...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve));
  if (code !== 0) process.exit(code ?? 1);
}

mkdirSync(DIST, { recursive: true });
await build();
