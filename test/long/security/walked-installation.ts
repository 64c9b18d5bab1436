import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { createStore, ensureBucket } from '../../../cloud/store/gcs.js';
import { ensureSearchAttributes } from '../../../client/namespace.js';
import { readLogin, type TemporalLogin } from '../../../cloud/temporal/login-files.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { CLIENT_ID, TestIssuer } from '../../server/issuer.js';
import { freePort } from '../../temporal-server.js';
import { until } from '../../until.js';
import { Gates } from './gates.js';
import { type Json, merged } from './merged-json.js';
import { BackgroundProcess } from '../postgres/process.js';
import { type PostgresTemporal, startPostgresTemporal } from '../postgres/temporal-on-postgres.js';

const ROOT = join(import.meta.dirname, '../../..');
const MAIN = join(ROOT, 'dist/cli/main.js');

/** Of the operator's quota file before the walk. */
const QUOTA = `[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 64
[project_resources.vision]
v5litepod = 1.0
[project_membership]
vision = ["alice"]
`;

/** An installation in trusted mode, with what an operator of docs/security.md types at, and names of the page as they are here. */
export class WalkedInstallation {
  readonly stack: TestStack;
  readonly temporal: PostgresTemporal;
  readonly issuer: TestIssuer;
  /** What the page calls /etc/jobctl. */
  readonly etc: string;
  readonly systemBucket: string;
  readonly publicUrl: string;
  readonly #home: string;
  readonly #ports: { readonly server: number; readonly keySet: number };
  #worker: Json;
  #server: Json | undefined;
  #serverProcess: BackgroundProcess | undefined;
  #keySetProcess: BackgroundProcess | undefined;
  /** Of commands that print numbered lines until they are told to end. */
  readonly gates = new Gates();

  private constructor(
    parts: Pick<WalkedInstallation, 'stack' | 'temporal' | 'issuer'> & {
      readonly home: string;
      readonly ports: { readonly server: number; readonly keySet: number };
    },
  ) {
    const { stack, temporal, issuer, home, ports } = parts;
    this.stack = stack;
    this.temporal = temporal;
    this.issuer = issuer;
    this.#home = home;
    this.#ports = ports;
    this.etc = join(home, 'etc');
    this.systemBucket = `${stack.store.bucket}-system`;
    this.publicUrl = `http://127.0.0.1:${ports.server}`;
    const { address, namespace } = temporal;
    this.#worker = {
      temporal: { address, namespace },
      store: { endpoint: stack.rehearsal.endpoints.store, bucket: stack.store.bucket },
    };
  }

  static async start(): Promise<WalkedInstallation> {
    const home = mkdtempSync(join(tmpdir(), 'jobctl-walk-'));
    for (const folder of ['bin', 'etc', 'alice', 'olga', 'operator']) mkdirSync(join(home, folder));
    symlinkSync(MAIN, join(home, 'bin/jobctl'));
    const temporal = await startPostgresTemporal({ directory: mkdtempSync(join(tmpdir(), 'jobctl-walk-temporal-')) });
    const { address, namespace } = temporal;
    const connection = await Connection.connect({ address, tls: false });
    await ensureSearchAttributes(connection, namespace);
    const server = { address, namespace, connection, uiUrl: '', pid: undefined, stop: () => connection.close() };
    const stack = await TestStack.start({ server, quota: QUOTA, poolFile: '' });
    const issuer = await TestIssuer.start();
    const ports = { server: await freePort(), keySet: await freePort() };
    return new WalkedInstallation({ stack, temporal, issuer, home, ports });
  }

  /** What stands on a page, with the names of this installation. */
  here(text: string): string {
    const names: Readonly<Record<string, string>> = {
      '/etc/jobctl/': `${this.etc}/`,
      'https://jobctl.example.org': this.publicUrl,
      'my-jobs-system': this.systemBucket,
      'my-jobs': this.stack.store.bucket,
      'my-project': 'rehearsal',
      '--namespace tpu': `--namespace ${this.temporal.namespace}`,
      'deploy/serve-key-set.mjs': join(ROOT, 'deploy/serve-key-set.mjs'),
      '7481': String(this.#ports.keySet),
      'jobctl login': 'jobctl login --id-token-from env:ID_TOKEN',
    };
    return Object.entries(names).reduce((now, [name, here]) => now.replaceAll(name, here), text);
  }

  /** Types a command of the page. @returns what it prints */
  async type(
    command: string,
    as: 'operator' | 'alice' | 'olga' = 'operator',
    codes: readonly number[] = [0],
  ): Promise<string> {
    const { PATH = '' } = process.env;
    const env = {
      PATH: `${join(this.#home, 'bin')}:${PATH}`,
      HOME: join(this.#home, as),
      LANG: 'C.UTF-8',
      ...(as === 'operator' ? this.#operator : { ID_TOKEN: await this.issuer.token({ email: `${as}@example.org` }) }),
    };
    const shell = { env, cwd: this.etc, maxBuffer: 1 << 24 };
    const { code, output } = await promisify(execFile)('bash', ['-c', this.here(command)], shell).then(
      ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
      (error: { readonly code?: number; readonly stdout: string; readonly stderr: string }) => ({
        code: error.code ?? -1,
        output: error.stdout + error.stderr,
      }),
    );
    assert.ok(codes.includes(code), `${command}: exit code ${code}\n${output}`);
    return output;
  }

  get #operator(): Record<string, string> {
    return {
      TEMPORAL_ADDRESS: this.temporal.address,
      TEMPORAL_NAMESPACE: this.temporal.namespace,
      JOBCTL_STORE_ENDPOINT: this.stack.rehearsal.endpoints.store,
      JOBCTL_TASK_QUEUE: this.stack.taskQueue,
    };
  }

  /** Adds a block of the page to every worker's configuration. Absent: it is as it was. */
  configureWorker(block: string): void {
    this.#worker = merged(this.#worker, JSON.parse(this.here(block)) as Json);
    this.stack.workerConfig = this.#worker;
  }

  removeFromWorker(key: string): void {
    const { [key]: _, ...others } = this.#worker;
    this.#worker = others;
    this.stack.workerConfig = others;
  }

  async restartWorker(): Promise<void> {
    await this.stack.stopWorker();
    await this.stack.startWorker();
  }

  /** serve.json of docs/serve.md, with what is another one here: Temporal, files, issuer, port. */
  writeServerConfig(block: string): void {
    const { temporal, stack } = this;
    const shown = JSON.parse(this.here(block)) as Json;
    const { store: _, ...known } = shown;
    this.#server = {
      ...known,
      temporal: { address: temporal.address, namespace: temporal.namespace },
      taskQueue: stack.taskQueue,
      store: {
        ...{ endpoint: stack.rehearsal.endpoints.store, bucket: stack.store.bucket },
        systemBucket: this.systemBucket,
      },
      ...stack.poolFiles,
      issuers: [{ issuer: this.issuer.url, audiences: [CLIENT_ID] }],
      listen: { port: this.#ports.server },
    };
    this.#writeServer();
  }

  configureServer(block: string): void {
    this.#server = merged(this.#server ?? {}, JSON.parse(this.here(block)) as Json);
    this.#writeServer();
  }

  #writeServer(): void {
    writeFileSync(join(this.etc, 'serve.json'), JSON.stringify(this.#server));
  }

  /** By the page's own command. */
  async startServer(command: string): Promise<void> {
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH: `${join(this.#home, 'bin')}:${PATH}`, HOME };
    const logFile = join(this.#home, 'serve.log');
    this.#serverProcess = BackgroundProcess.start('bash', ['-c', `exec ${this.here(command)}`], { env, logFile });
    await until(
      'the server is ready',
      async () => {
        if (this.#serverProcess?.isRunning !== true) throw new Error(this.#serverProcess?.tail());
        return (await fetch(`${this.publicUrl}/readyz`)).ok;
      },
      60_000,
    );
  }

  stopServer = async (): Promise<void> => this.#serverProcess?.stop('SIGTERM', 10_000);

  /** By the page's own command. */
  async serveKeySet(command: string): Promise<void> {
    const logFile = join(this.#home, 'key-set.log');
    const env = { ...process.env, HOST: '127.0.0.1' };
    this.#keySetProcess = BackgroundProcess.start('bash', ['-c', `exec ${this.here(command)}`], { env, logFile });
    await until('the key set is served', async () => (await fetch(this.#keySetUri)).ok);
  }

  get #keySetUri(): string {
    return `http://127.0.0.1:${this.#ports.keySet}/key-set.json`;
  }

  apiKey = (holder: string): TemporalLogin =>
    readLogin({ apiKeyFile: join(this.etc, 'api-keys', holder, 'api-key'), tls: false });

  /** Temporal is started again, and asks who calls or does not. */
  async restartTemporal(isGuarded: boolean): Promise<void> {
    const admin = this.apiKey('admin');
    // The tests' own eyes; an API key is ignored by a server that does not ask.
    this.stack.server.connection.setApiKey(admin.apiKey ?? '');
    this.temporal.useGuard(isGuarded ? { keySetUri: this.#keySetUri, admin } : undefined);
    await this.temporal.kill('server');
    await this.temporal.restart('server');
    await until('the server reaches it again', async () => (await fetch(`${this.publicUrl}/readyz`)).ok, 60_000);
    await until('so does the worker', async () => (await this.stack.readiness()).ready, 60_000);
  }

  async makeSystemBucket(): Promise<void> {
    await ensureBucket({ ...this.#place, bucket: this.systemBucket });
  }

  /** What `gcloud storage rm` does with the names that `setup server` printed. */
  async removeMoved(printed: string): Promise<number> {
    const globs = [...printed.matchAll(/'gs:\/\/([^/]+)\/([^']+)'/gu)];
    const store = createStore({ ...this.#place, bucket: this.stack.store.bucket });
    let removed = 0;
    for (const [, bucket, glob = ''] of globs) {
      assert.equal(bucket, this.stack.store.bucket);
      for (const name of (await store.find(glob, 10_000)).names) {
        await store.remove(name);
        removed++;
      }
    }
    return removed;
  }

  get #place(): { readonly endpoint: string; readonly projectId: string } {
    return { endpoint: this.stack.rehearsal.endpoints.store, projectId: 'rehearsal' };
  }

  workerLog = (): string => readFileSync(this.stack.workerLog, 'utf8');

  async stop(): Promise<void> {
    this.gates.close();
    await this.stopServer();
    await this.stack.stop();
    await this.stack.server.stop();
    await this.issuer.stop();
    await this.#keySetProcess?.stop('SIGTERM', 5_000);
    await this.temporal.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }
}
