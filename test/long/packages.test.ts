import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { firstOutput } from '../first-output.js';
import { resolveTemporalCli } from '../../cli/local/dev/temporal-server/resolve.js';
import type { RehearsalEndpoints } from '../../rehearsal/index.js';
import { Gcloud, gcloudVersion } from '../../rehearsal/test/conformance/gcloud/gcloud.js';
import type { Target } from '../../rehearsal/test/conformance/gcloud/target.js';
import { itDrivesASlice, TpuCommands } from '../../rehearsal/test/conformance/gcloud/tpu-vm.js';
import { makeUserKey, SUBNET_OCTET } from '../../rehearsal/test/scratch.js';
import { LoopbackRegistry, type Ran } from './loopback-registry.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const INSTALL_MS = 300_000;
const MOST_MEGABYTES = 80;

/** The three packages as users get them: published, and installed where there is nothing of this checkout. */
describe('the packages from a registry', function () {
  this.timeout(INSTALL_MS);
  const scratch = mkdtempSync(join(tmpdir(), 'jobctl-packages-'));
  const registry = new LoopbackRegistry(join(scratch, 'registry'));
  const folder = (name: string): string => {
    mkdirSync(join(scratch, name), { recursive: true });
    return join(scratch, name);
  };
  const done = async (ran: Promise<Ran>): Promise<Ran> => {
    const { code, stdout, stderr } = await ran;
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    return { code, stdout, stderr };
  };
  const version = versionIn(ROOT);

  before(async () => {
    await registry.start();
    const all = ['--workspaces', '--include-workspace-root', '--ignore-scripts'];
    await done(registry.npm(ROOT, 'run', 'build'));
    await done(registry.run(ROOT, 'npx', 'tsx', 'scripts/write-integrity.ts'));
    await done(registry.npm(ROOT, 'publish', ...all));
  });
  after(() => {
    registry.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  describe('jobctl alone, installed globally', () => {
    const prefix = folder('global');
    const home = folder('home');
    /** A new user: nothing but Temporal's CLI, whose ways test/dev/resolve.test.ts tries. */
    let inEmptyHome: readonly string[];
    before(async () => {
      const { path } = await resolveTemporalCli();
      const places = [`HOME=${home}`, `XDG_CACHE_HOME=${home}/.cache`, `XDG_STATE_HOME=${home}/.state`];
      const temporal = `JOBCTL_TEMPORAL_CLI=${path}`;
      inEmptyHome = ['-u', 'JOBCTL_HOME', ...places, temporal, join(prefix, 'bin/jobctl')];
    });
    const jobctl = (...args: readonly string[]): Promise<Ran> => registry.run(home, 'env', ...inEmptyHome, ...args);
    const installed = (): readonly string[] => {
      const cache = join(home, '.cache/jobctl/packages');
      return existsSync(cache) ? readdirSync(cache).toSorted() : [];
    };
    after(() => registry.run(home, 'env', ...inEmptyHome, 'dev', 'down', '--yes'));

    it(`takes ${MOST_MEGABYTES} MB or less`, async () => {
      await done(registry.npm(scratch, 'install', '--global', '--prefix', prefix, 'jobctl'));
      rmSync(prefix, { recursive: true });
      const startedAt = performance.now();
      await done(registry.npm(scratch, 'install', '--global', '--prefix', prefix, 'jobctl'));
      const seconds = (performance.now() - startedAt) / 1_000;
      const megabytes = bytesUnder(join(prefix, 'lib')) / 1e6;
      console.log(`      jobctl: ${megabytes.toFixed(1)} MB, ${seconds.toFixed(1)} s from a warm cache`);
      assert.ok(megabytes <= MOST_MEGABYTES, `${megabytes} MB`);
    });

    it('runs, judges a job file, and is importable', async () => {
      assert.match((await done(jobctl('version'))).stdout, new RegExp(`^jobctl ${version} `));
      assert.match((await done(jobctl('--help'))).stdout, /submit/);
      const example = join(prefix, 'lib/node_modules/jobctl/examples/quick-start.yaml');
      assert.match((await done(jobctl('validate', example))).stdout, /: ok/);
      const program = `const { JobClient } = await import('jobctl'); const { WorkflowType } = await import('jobctl/contract');
        console.log(typeof JobClient, WorkflowType.Job)`;
      writeFileSync(join(prefix, 'lib/import.mjs'), program);
      const { stdout } = await done(registry.run(join(prefix, 'lib'), process.execPath, 'import.mjs'));
      assert.equal(stdout, 'function job\n');
    });

    it('knows the other packages by the version and the hash under which they are published', async () => {
      const file = join(prefix, 'lib/node_modules/jobctl/dist/packages.json');
      const known = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { name: string }>;
      assert.deepEqual(Object.keys(known).toSorted(), ['@jobctl/cloud-tpu-rehearsal', '@jobctl/worker']);
      for (const [name, each] of Object.entries(known))
        assert.deepEqual(each, { name, ...(await registry.published(name)) });
    });

    it('offline, says which package it needs, why it has none, and what to do', async () => {
      const closed = ['npm_config_registry=http://127.0.0.1:1/', 'npm_config_fetch_retries=0'];
      const { code, stderr } = await registry.run(home, 'env', ...closed, 'env', ...inEmptyHome, 'dev', 'up');
      assert.equal(code, 5, stderr);
      const what = `this needs a Temporal worker and the Kubernetes client, the package @jobctl/worker ${version}, which cannot be fetched: the npm registry does not answer \\(ECONNREFUSED\\)`;
      assert.match(stderr, new RegExp(`${what}\n {2}connect this computer`));
      const beside = /to install it beside jobctl: (.*)$/m.exec(stderr)?.[1];
      assert.equal(beside, `npm install --global --prefix ${prefix} @jobctl/worker@${version}`);
      assert.deepEqual(installed(), []);
    });

    it('takes no package with another content than the one it was packed with', async () => {
      const file = join(prefix, 'lib/node_modules/jobctl/dist/packages.json');
      const right = readFileSync(file, 'utf8');
      writeFileSync(file, right.replaceAll(/"sha512-[^"]*"/g, `"sha512-${'A'.repeat(86)}=="`));
      const { code, stderr } = await jobctl('worker');
      writeFileSync(file, right);
      assert.equal(code, 5, stderr);
      assert.match(
        stderr,
        /has another content in the npm registry, so nothing was installed\n {2}this jobctl was packed/,
      );
      assert.deepEqual(installed(), []);
    });

    it('runs one’s own program on the local stack, and brings each package once', async () => {
      const own = folder('my-training');
      writeFileSync(join(own, 'train.py'), "print('step 1 of', __name__)\n");
      const inFolder = (...args: readonly string[]): Promise<Ran> => registry.run(own, 'env', ...inEmptyHome, ...args);
      assert.match((await done(inFolder('init'))).stdout, /\n {2}jobctl submit --local --wait job\.yaml\n/);
      const { stdout, stderr } = await done(inFolder('submit', '--local', '--wait', 'job.yaml'));
      assert.match(stdout, /step 1 of __main__/);
      for (const name of ['@jobctl/worker', '@jobctl/cloud-tpu-rehearsal']) {
        const [began, ended] = [`Installing ${name} ${version} `, `${name} ${version} is installed (`];
        assert.ok(stderr.split(began).length === 2 && stderr.includes(ended), stderr);
      }
      assert.match(stderr, /succeeded/);
      assert.deepEqual(
        installed().map((each) => each.replace(/-[^-]+-[^-]+$/, '')),
        ['cloud-tpu-rehearsal', 'worker'],
      );
      const again = await done(inFolder('dev', 'up'));
      assert.doesNotMatch(again.stderr, /Installing/);
      await done(inFolder('dev', 'down'));
    });

    it('then checks a worker’s configuration, and starts one as far as Temporal', async () => {
      const wrong = await jobctl('worker', '--bucket', 'jobctl-test');
      assert.equal(wrong.code, 2);
      assert.match(wrong.stderr, /worker's configuration is wrong:\n +ssh\.privateKeyFile: is missing/);
      const { privateFile } = makeUserKey(home);
      const right = await jobctl('worker', ...workerFlags(privateFile));
      assert.notEqual(right.code, 0);
      assert.match(right.stderr, /127\.0\.0\.1:1\b/);
    });
  });

  describe('the rehearsal alone', () => {
    const own = folder('rehearsal');
    const stateDir = folder('state');
    let served: Served;
    let target: Target | undefined;

    before(async () => {
      await done(registry.npm(own, 'init', '--yes'));
      await done(registry.npm(own, 'install', '@jobctl/cloud-tpu-rehearsal'));
      served = await serve(own, stateDir);
      target = await targetIn(own, stateDir, served.endpoints);
    });
    after(() => served.end());

    it('brings nothing of jobctl', () => {
      assert.equal(existsSync(join(own, 'node_modules/jobctl')), false);
      assert.deepEqual(readdirSync(join(own, 'node_modules/@jobctl')), ['cloud-tpu-rehearsal']);
    });

    it('says how to point gcloud at it', async () => {
      const { stdout } = await done(registry.run(own, 'npx', 'cloud-tpu-rehearsal', '--help'));
      for (const word of ['--state-dir', '--rest-port', 'cloud-tpu-rehearsal env', 'gcloud compute tpus'])
        assert.ok(stdout.includes(word), word);
    });

    describe('driven by the real gcloud', () => {
      before(async () => {
        assert.ok(await gcloudVersion(), 'gcloud is not on the PATH: install the Google Cloud CLI');
      });
      itDrivesASlice(() => new TpuCommands(target as Target, 'GA'), 'one');
    });
  });
});

function versionIn(root: string): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

/** A whole configuration, whose Temporal server nobody is. */
function workerFlags(privateFile: string): readonly string[] {
  const flags = {
    'temporal-address': '127.0.0.1:1',
    bucket: 'jobctl-test',
    'store-endpoint': 'http://127.0.0.1:2',
    'google-project': 'p',
    'ssh-private-key-file': privateFile,
    'ssh-public-key-file': `${privateFile}.pub`,
  };
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
}

function bytesUnder(path: string): number {
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, entry) => bytes + statSync(join(entry.parentPath, entry.name)).size, 0);
}

interface Served {
  readonly endpoints: RehearsalEndpoints;
  end(): Promise<void>;
}

/** The installed command, ready. */
async function serve(cwd: string, stateDir: string): Promise<Served> {
  const program = join(cwd, 'node_modules/.bin/cloud-tpu-rehearsal');
  const args = ['--state-dir', stateDir, '--subnet-octet', String(SUBNET_OCTET)];
  const child: ChildProcess = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const line = await firstOutput(child);
  const end = (): Promise<void> => {
    child.kill('SIGTERM');
    return ended;
  };
  return { endpoints: JSON.parse(line) as RehearsalEndpoints, end };
}

/** gcloud in a shell that evaluated what `cloud-tpu-rehearsal env` printed, as the README tells people to do. */
async function targetIn(cwd: string, stateDir: string, { sshPort }: RehearsalEndpoints): Promise<Target> {
  const script = `eval "$(npx cloud-tpu-rehearsal env --state-dir '${stateDir}' --project p)" && env -0`;
  const shell = spawn('bash', ['-c', script], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of shell.stdout) text += String(chunk);
  const variables = text.split('\0').map((line) => /^([^=]+)=([^]*)$/.exec(line)?.slice(1) ?? []);
  const home = join(stateDir, 'home');
  mkdirSync(join(home, '.ssh'), { recursive: true });
  const env = {
    ...(Object.fromEntries(variables) as Record<string, string>),
    HOME: home,
    CLOUDSDK_CORE_DISABLE_PROMPTS: '1',
  };
  return {
    gcloud: new Gcloud(env),
    project: 'p',
    zone: 'us-central1-a',
    small: 'v5litepod-8',
    large: 'v5litepod-16',
    runtime: 'v2-alpha-tpuv5-lite',
    sshFlags: sshPort === 22 ? [] : [`--ssh-flag=-p ${sshPort}`],
    scpFlags: [],
    folder: home,
    stop: () => Promise.resolve(),
  };
}
