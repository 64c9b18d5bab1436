import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const BUILD_TIMEOUT_MS = 15 * 60_000;

/** For the `before` of a test whose executables may have to be built first. */
export const GO_BUILD_MS = BUILD_TIMEOUT_MS + 60_000;

/** The server that docker-compose.yml names, and its own version of the schema tool. */
export const TEMPORAL_SERVER_VERSION = '1.29.1';
/** The Web UI that docker-compose.yml names. */
export const TEMPORAL_UI_VERSION = '2.42.1';
/** The last that a plain build makes (tried, 2026-11). */
const COMPOSE_VERSION = 'v2.40.3';
/** The last that a plain build makes (tried, 2026-11). */
const BUILDX_VERSION = 'v0.20.1';
/** Of the image that a worker builds with unless it is told otherwise (cloud/builds/port.ts). */
const BUILDKIT_VERSION = 'v0.20.2';
/** 3.5, July 2025. */
const PROMETHEUS_VERSION = 'v0.305.0';
const GCSFUSE_VERSION = 'v3.8.4';

/** A folder with `temporal-server` and `temporal-sql-tool`. About two minutes when nothing of it is cached. */
export function temporalServerFolder(): Promise<string> {
  return cached('temporal-server', TEMPORAL_SERVER_VERSION, async (folder) => {
    const packages = ['cmd/server', 'cmd/tools/sql'].map(
      (path) => `go.temporal.io/server/${path}@v${TEMPORAL_SERVER_VERSION}`,
    );
    await go(['install', ...packages], { GOBIN: folder });
    renameSync(join(folder, 'server'), join(folder, 'temporal-server'));
    renameSync(join(folder, 'sql'), join(folder, 'temporal-sql-tool'));
  });
}

/** A folder with Temporal's Web UI as its image has it: `ui-server`, `start-ui-server.sh`, `config/docker.yaml`. A minute or two. */
export function temporalUiFolder(): Promise<string> {
  const module = `github.com/temporalio/ui-server/v2@v${TEMPORAL_UI_VERSION}`;
  return cached('temporal-ui', TEMPORAL_UI_VERSION, async (folder) => {
    await go(['install', module.replace('@', '/cmd/server@')], { GOBIN: folder });
    renameSync(join(folder, 'server'), join(folder, 'ui-server'));
    const { Dir: sources } = JSON.parse((await go(['mod', 'download', '-json', module])).stdout) as { Dir: string };
    copyFileSync(join(sources, 'docker/start-ui-server.sh'), join(folder, 'start-ui-server.sh'));
    mkdirSync(join(folder, 'config'));
    copyFileSync(join(sources, 'config/docker.yaml'), join(folder, 'config/docker.yaml'));
  });
}

/** Docker's own compose: it checks a file without a daemon. About three minutes when nothing of it is cached. */
export async function dockerCompose(): Promise<string> {
  const module = `github.com/docker/compose/v2@${COMPOSE_VERSION}`;
  const folder = await cached('docker-compose', COMPOSE_VERSION, (built) =>
    buildInCopy(module, './cmd', join(built, 'docker-compose')),
  );
  return join(folder, 'docker-compose');
}

/** A folder with Docker's plugin buildx alone. About two minutes when nothing of it is cached. */
export function buildxPlugins(): Promise<string> {
  const module = `github.com/docker/buildx@${BUILDX_VERSION}`;
  return cached('docker-buildx', BUILDX_VERSION, async (built) => {
    // Its vendor folder is not the one of its go.mod.
    await buildInCopy(module, './cmd/buildx', join(built, 'docker-buildx'), ['-mod=mod']);
  });
}

/** A folder with BuildKit as its image has it: `buildkitd`, `buildctl` and `buildctl-daemonless.sh`, static. About a minute. */
export function buildkitFolder(): Promise<string> {
  const module = `github.com/moby/buildkit@${BUILDKIT_VERSION}`;
  return cached('buildkit', BUILDKIT_VERSION, async (folder) => {
    await inCopy(module, join(folder, 'source'), async (source) => {
      for (const name of ['buildkitd', 'buildctl']) await goBuild(source, `./cmd/${name}`, join(folder, name));
      cpSync(
        join(source, 'examples/buildctl-daemonless/buildctl-daemonless.sh'),
        join(folder, 'buildctl-daemonless.sh'),
      );
      // A module's files have no mode.
      chmodSync(join(folder, 'buildctl-daemonless.sh'), 0o755);
    });
  });
}

const goBuild = (source: string, path: string, program: string): Promise<unknown> =>
  go(['build', '-mod=mod', '-o', program, path], { CGO_ENABLED: '0' }, source);

/** Prometheus's own tool: it runs the tests of alert rules. Some minutes when nothing of it is cached. */
export async function promtool(): Promise<string> {
  const module = `github.com/prometheus/prometheus@${PROMETHEUS_VERSION}`;
  const folder = await cached('promtool', PROMETHEUS_VERSION, (built) =>
    buildInCopy(module, './cmd/promtool', join(built, 'promtool')),
  );
  return join(folder, 'promtool');
}

/** Google's own, of the version whose options the module gcsfuse names; where Go puts it. Minutes when it is not there. */
export async function gcsfuseProgram(): Promise<string> {
  const program = join(homedir(), 'go/bin/gcsfuse');
  if (!existsSync(program)) await go(['install', `github.com/googlecloudplatform/gcsfuse/v3@${GCSFUSE_VERSION}`]);
  return program;
}

/** `go install` refuses a module with exclude or replace directives, and the module cache is read-only. */
async function buildInCopy(
  module: string,
  path: string,
  program: string,
  flags: readonly string[] = [],
): Promise<void> {
  await inCopy(module, `${program}-source`, (source) => go(['build', ...flags, '-o', program, path], {}, source));
}

async function inCopy(module: string, source: string, build: (source: string) => Promise<unknown>): Promise<void> {
  const { stdout } = await go(['mod', 'download', '-json', module]);
  cpSync((JSON.parse(stdout) as { Dir: string }).Dir, source, { recursive: true });
  await run('chmod', ['-R', 'u+w', source]);
  await build(source);
  rmSync(source, { recursive: true, force: true });
}

/** `~/.cache/jobctl/NAME/VERSION`; made beside its goal and renamed, so that a build that broke off leaves nothing half done. */
export async function cached(name: string, version: string, build: (folder: string) => Promise<void>): Promise<string> {
  const root = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(root, 'jobctl', name, version);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const scratch = mkdtempSync(join(dirname(folder), 'scratch-'));
  try {
    await build(scratch);
    renameSync(scratch, folder);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return folder;
}

/** @throws Error with what go wrote */
async function go(args: readonly string[], more: NodeJS.ProcessEnv = {}, cwd?: string): Promise<{ stdout: string }> {
  const { GOOS: _os, GOARCH: _arch, ...inherited } = process.env;
  const env = { ...inherited, GOWORK: 'off', ...more };
  return run('go', args, { env, ...(cwd === undefined ? {} : { cwd }), timeout: BUILD_TIMEOUT_MS, maxBuffer: 1 << 26 });
}
