import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { until } from '../../until.js';
import { dockerCompose } from '../built-by-go.js';
import { BackgroundProcess } from '../postgres/process.js';
import { run } from './command.js';
import { type Engine, startEngine } from './engine.js';
import { IMAGE_VARIABLES, makeStandIns } from './images.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** An `.env` beside the file is a user's own. */
const FILES = ['--env-file', '/dev/null', '-f', 'docker-compose.yml'];
const VERIFIED_FILE = 'docker-compose.verified.yml';
const IN_WORKER = ['exec', '-T', 'worker-rehearsal'];
const GATE = '/var/lib/jobctl/open';
const UP_MS = 240_000;

/** The services that stay, in the order in which they need each other; those that run once. */
export const SERVICES = ['postgres', 'temporal', 'ui', 'rehearsal', 'worker-rehearsal'] as const;
export const ONCE = ['schema', 'roles', 'setup-rehearsal'] as const;
export type Service = (typeof SERVICES)[number];

/** docker-compose.verified.yml beside the other one. */
export const VERIFIED_SERVICES = [...SERVICES, 'keys', 'server-rehearsal'] as const;

/** What `docker inspect` says of a container, as far as it is looked at here. */
export interface Inspected {
  readonly State: {
    readonly Pid: number;
    readonly Status: string;
    readonly ExitCode: number;
    readonly StartedAt: string;
    readonly Health?: { readonly Status: string };
  };
  readonly RestartCount: number;
  readonly HostConfig: {
    readonly CapDrop: readonly string[] | null;
    readonly CapAdd: readonly string[] | null;
    readonly ReadonlyRootfs: boolean;
    readonly Privileged: boolean;
    readonly SecurityOpt: readonly string[] | null;
  };
  readonly Config: { readonly User: string; readonly Env: readonly string[] };
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>>;
    readonly Ports: Readonly<Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>>;
  };
}

/** docker-compose.yml with the profile rehearsal, on a docker daemon and images of its own, in a network of its own. */
export class ComposeStack {
  /** Beyond this machine, as its containers see it; it knows no way back to addresses of theirs. */
  static readonly OUTSIDE = { address: '203.0.113.1', port: 80 };
  readonly engine: Engine;
  readonly #compose: string;
  readonly #folder: string;
  readonly #outside: BackgroundProcess;
  /** Of docker-compose.verified.yml; absent: it is not used. */
  readonly #verified: Readonly<Record<string, string>> | undefined;
  #passwords = { POSTGRES_PASSWORD: 'of-the-owner', POSTGRES_SERVER_PASSWORD: 'of-the-server' };

  private constructor(
    engine: Engine,
    { compose, folder, verified }: { compose: string; folder: string; verified?: Readonly<Record<string, string>> },
    outside: BackgroundProcess,
  ) {
    this.engine = engine;
    this.#compose = compose;
    this.#folder = folder;
    this.#verified = verified;
    this.#outside = outside;
  }

  /**
   * Makes the images: those of others, and ours by the Dockerfile with the base as its build argument. Nothing runs yet.
   * @param verified the variables of docker-compose.verified.yml
   */
  static async make(verified?: Readonly<Record<string, string>>): Promise<ComposeStack> {
    const compose = await dockerCompose();
    const folder = process.env['JOBCTL_COMPOSE_FOLDER'] ?? mkdtempSync(join(tmpdir(), 'compose-test-'));
    const builder = await startEngine(join(folder, 'engine'), 'host');
    try {
      await makeStandIns(builder, folder);
      buildOurs(builder, compose, folder);
    } finally {
      await builder.stop();
    }
    const engine = await startEngine(join(folder, 'engine'), 'own');
    const parts = { compose, folder, ...(verified && { verified }) };
    return new ComposeStack(engine, parts, await startOutside(engine, folder));
  }

  get services(): readonly string[] {
    return this.#verified === undefined ? SERVICES : VERIFIED_SERVICES;
  }

  /** As an operator types it. @returns what it prints */
  async compose(...words: readonly string[]): Promise<string> {
    const more = this.#verified === undefined ? [] : ['-f', VERIFIED_FILE];
    const args = [...FILES, ...more, '--profile', 'rehearsal', ...words];
    const env = { ...process.env, ...this.engine.env, ...IMAGE_VARIABLES, ...this.#passwords, ...this.#verified };
    const { stdout } = await promisify(execFile)(this.#compose, args, { cwd: ROOT, env, maxBuffer: 1 << 26 });
    return stdout;
  }

  /** `jobctl WORDS` where the documentation calls it. */
  jobctl(...words: readonly string[]): Promise<string> {
    return this.compose(...IN_WORKER, 'jobctl', ...words);
  }

  /** A job of four hosts, each of which prints numbered lines until the gate is open, and then `the end after N`. */
  async submitGated(id: string): Promise<void> {
    const loop = `until [ -e ${GATE} ]; do n=$((n+1)); echo "line $n"; sleep 0.2; done`;
    const command = { run: `n=0; ${loop}; echo "the end after $n"` };
    const file = JSON.stringify({ tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' }, command });
    await this.compose(...IN_WORKER, 'sh', '-c', `printf '%s' "$0" | jobctl submit --name ${id} /dev/stdin`, file);
  }

  /** The rehearsed VMs are processes of that container. */
  openGate(): void {
    this.engine.docker('exec', nameOf('rehearsal'), 'touch', GATE);
  }

  /** Of its first host, as far as the store has it. */
  async logOf(id: string): Promise<readonly string[]> {
    return (await this.jobctl('logs', id, '--host', '0')).trimEnd().split('\n');
  }

  async up(): Promise<void> {
    try {
      await this.compose('up', '-d', '--no-build');
    } catch (error) {
      throw new Error(`${String(error)}\n${await this.compose('logs', '--tail', '15')}`, { cause: error });
    }
    await this.untilHealthy();
  }

  async untilHealthy(): Promise<void> {
    for (const service of this.services) {
      const isHealthy = (): boolean => this.inspect(service).State.Health?.Status === 'healthy';
      await until(`${service} is healthy`, isHealthy, UP_MS).catch((error: unknown) => {
        const { State } = this.inspect(service);
        const log = run('docker', ['logs', '--tail', '30', nameOf(service)], { env: this.engine.env });
        throw new Error(`${String(error)}: ${JSON.stringify(State)}\n${log}`, { cause: error });
      });
    }
  }

  /** The database keeps the owner's password; the server's is what the environment says. */
  changeServerPassword(password: string): void {
    this.#passwords = { ...this.#passwords, POSTGRES_SERVER_PASSWORD: password };
  }

  get serverPassword(): string {
    return this.#passwords.POSTGRES_SERVER_PASSWORD;
  }

  inspect(service: string): Inspected {
    return (JSON.parse(this.engine.docker('inspect', nameOf(service))) as [Inspected])[0];
  }

  /** Every process of a container, health checks included, by its number where the daemon is. */
  pids(service: string): readonly number[] {
    const [, ...lines] = this.engine.docker('top', nameOf(service), '-eo', 'pid').trim().split('\n');
    return lines.map(Number);
  }

  /** Removes everything that it made. */
  async remove(): Promise<void> {
    await this.compose('down', '--volumes');
    await this.engine.stop();
    await this.#outside.kill();
    if (process.env['JOBCTL_COMPOSE_FOLDER'] === undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}

export const nameOf = (service: string): string => `jobctl-${service}-1`;

/** By `docker compose build`, with the computer's network in place of a bridge. */
function buildOurs(engine: Engine, compose: string, folder: string): void {
  const services = ['rehearsal', 'setup-rehearsal', 'worker-rehearsal'];
  const network = { services: Object.fromEntries(services.map((name) => [name, { build: { network: 'host' } }])) };
  const override = join(folder, 'build-network.json');
  writeFileSync(override, JSON.stringify(network));
  const env = { ...engine.env, ...IMAGE_VARIABLES, POSTGRES_PASSWORD: 'x', POSTGRES_SERVER_PASSWORD: 'x' };
  run(compose, [...FILES, '-f', override, '--profile', 'rehearsal', 'build'], { cwd: ROOT, env });
}

/** A network of one web server, reached through the daemon's network alone. */
async function startOutside(engine: Engine, folder: string): Promise<BackgroundProcess> {
  const { address, port } = ComposeStack.OUTSIDE;
  const serve = `require('node:http').createServer((_, answer) => answer.end('outside')).listen(${port}, () => console.log('up'))`;
  const logFile = join(folder, 'outside.log');
  // Of the run before, in a folder that is kept.
  rmSync(logFile, { force: true });
  const outside = BackgroundProcess.start('unshare', ['--net', process.execPath, '-e', serve], { logFile });
  await until('a web server outside', () => outside.tail() === 'up');
  const ip = (network: string, ...words: readonly string[]): unknown =>
    run('nsenter', [`--net=${network}`, 'ip', ...words]);
  const [here, there] = [engine.networkFile, `/proc/${outside.pid}/ns/net`];
  ip(here, 'link', 'add', 'outside', 'type', 'veth', 'peer', 'name', 'inside', 'netns', String(outside.pid));
  ip(here, 'address', 'add', '203.0.113.2/24', 'dev', 'outside');
  ip(here, 'link', 'set', 'outside', 'up');
  ip(there, 'address', 'add', `${address}/24`, 'dev', 'inside');
  ip(there, 'link', 'set', 'inside', 'up');
  ip(here, 'route', 'add', 'default', 'via', address);
  return outside;
}
