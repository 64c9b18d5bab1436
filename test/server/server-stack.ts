import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { copySystemObjects, splitStore } from '../../cloud/store/open-store.js';
import { programArguments } from '../built.js';
import { TestStack, type StackOptions } from '../end-to-end/test-stack.js';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';
import type { LoginFiles } from '../../cloud/temporal/login-files.js';
import { Balancer } from './balancer.js';
import { CLIENT_ID, TestIssuer } from './issuer.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of a JSON answer. */
  readonly body: Record<string, unknown>;
}

export interface ServerStackOptions extends StackOptions {
  /** Keys of serve.json beside the usual ones. */
  readonly serverConfig?: (stack: ServerStack) => object;
  readonly replicas?: number;
  /** How a worker and servers reach a Temporal that asks who calls. */
  readonly logins?: { readonly worker: LoginFiles; readonly server: LoginFiles };
  /** Calls go to one address, behind which the replicas are. */
  readonly isBalanced?: true;
  /** The worker believes whoever starts a job, as one before the last step of docs/security.md. */
  readonly isTrusted?: true;
}

/** A pool file with one operator, an admin of project vision, and a service that submits for everybody at example.org. */
export const ACCESS = `
[access]
operators = ["user:olga@example.org", "group:tpu-operators"]
[access.projects.vision]
admins = ["user:vera@example.org"]
[[access.services]]
subject = "launcher@example.org"
submit_for = ["[a-z]+@example\\\\.org"]
`;

/** Project vision has alice, bob and vera; speech has mallory. */
export const QUOTA = `
[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 64
[project_resources.vision]
v5litepod = 0.5
[project_resources.speech]
v5litepod = 0.5
[project_membership]
vision = ["alice@example.org", "bob@example.org", "vera@example.org"]
speech = ["mallory@example.org", "alice@example.org"]
`;

/** The launcher is a service by the server's configuration. */
export const SERVICE = (stack: ServerStack): object => ({
  issuers: [{ issuer: stack.issuer.url, audiences: [CLIENT_ID], services: ['launcher@example.org'] }],
});

/** `TestStack` in verified mode: an OpenID provider, and one or more processes of `jobctl serve` before it. */
export class ServerStack {
  readonly stack: TestStack;
  readonly issuer: TestIssuer;
  readonly urls: readonly string[];
  /** The server's, for what a test forges. */
  readonly signingKey: KeyObject;
  readonly #folder: string;
  readonly #servers: (ChildProcess | undefined)[] = [];
  readonly #logins: ServerStackOptions['logins'];
  #balancer: Balancer | undefined;

  private constructor(
    stack: TestStack,
    issuer: TestIssuer,
    folder: string,
    urls: readonly string[],
    signingKey: KeyObject,
    logins: ServerStackOptions['logins'],
  ) {
    this.#logins = logins;
    this.signingKey = signingKey;
    this.stack = stack;
    this.issuer = issuer;
    this.#folder = folder;
    this.urls = urls;
  }

  static async start({
    serverConfig: more = () => ({}),
    replicas = 1,
    logins,
    isBalanced,
    isTrusted,
    ...options
  }: ServerStackOptions = {}): Promise<ServerStack> {
    const issuer = await TestIssuer.start();
    const folder = mkdtempSync(join(tmpdir(), 'jobctl-server-'));
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(join(folder, 'serve-key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const stack = await TestStack.start({ quota: QUOTA, poolFile: ACCESS, ...options, isNotReady: true });
    const places = { endpoint: stack.rehearsal.endpoints.store, bucket: stack.store.bucket };
    const storePlace = { ...places, systemBucket: `${places.bucket}-system` };
    const system = { endpoint: places.endpoint, bucket: storePlace.systemBucket, projectId: 'rehearsal' };
    await ensureBucket(system);
    await copySystemObjects(stack.store, createStore(system));
    const { address, namespace } = stack.server;
    const serverKeys = { 'test-1': publicKey.export({ type: 'spki', format: 'pem' }).toString() };
    stack.workerConfig = {
      ...(logins && { temporal: { address, namespace, ...logins.worker } }),
      store: storePlace,
      ...(isTrusted ? {} : { verified: { serverKeys } }),
    };
    const ports = await Promise.all(Array.from({ length: replicas }, () => freePort()));
    const servers = new ServerStack(
      stack,
      issuer,
      folder,
      ports.map((port) => `http://127.0.0.1:${port}`),
      privateKey,
      logins,
    );
    ports.forEach((port, index) =>
      writeFileSync(
        servers.configFile(index),
        JSON.stringify({ ...servers.#config(port), store: storePlace, ...more(servers) }),
      ),
    );
    try {
      await Promise.all([stack.startWorker(), ...ports.map((_, index) => servers.startServer(index))]);
      if (isBalanced) servers.#balancer = await Balancer.start(ports, folder);
    } catch (error) {
      await servers.stop();
      throw error;
    }
    return servers;
  }

  /** Both buckets, as a configuration names them. */
  get storePlace(): { readonly endpoint: string; readonly bucket: string; readonly systemBucket: string } {
    const { rehearsal, store } = this.stack;
    return { endpoint: rehearsal.endpoints.store, bucket: store.bucket, systemBucket: `${store.bucket}-system` };
  }

  /** Both, as workers and servers see them. `stack.store` is the job bucket alone: what hosts write. */
  get store(): StorePort {
    const { endpoint, systemBucket } = this.storePlace;
    return splitStore(this.stack.store, createStore({ endpoint, bucket: systemBucket, projectId: 'rehearsal' }));
  }

  /** The configuration of a replica. */
  configFile = (index: number): string => join(this.#folder, `serve-${index}.json`);

  #config(port: number): object {
    const { stack } = this;
    return {
      temporal: { address: stack.server.address, namespace: stack.server.namespace, ...this.#logins?.server },
      taskQueue: stack.taskQueue,
      googleProject: 'rehearsal',
      ...stack.poolFiles,
      secretStore: stack.secretStore,
      signingKey: { id: 'test-1', key: pathToFileURL(join(this.#folder, 'serve-key.pem')).href },
      issuers: [{ issuer: this.issuer.url, audiences: [CLIENT_ID] }],
      listen: { port },
      logLevel: 'info',
    };
  }

  /** Keys of the configuration that a replica starts with next. */
  configure(index: number, more: object): void {
    const file = this.configFile(index);
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...more }));
  }

  async startServer(index = 0): Promise<void> {
    const log = openSync(this.logOf(index), 'a');
    const args = [...programArguments('cli/main'), 'serve', '--config', this.configFile(index)];
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, TMPDIR: tmpdir(), NO_COLOR: '1' };
    this.#servers[index] = spawn(process.execPath, args, { env, stdio: ['ignore', log, log] });
    await until(
      'the server is ready',
      async () => {
        const answer = await fetch(`${this.urls[index]}/readyz`);
        if (!answer.ok) throw new Error(`${await answer.text()}\n${this.logText(index)}`);
        return true;
      },
      60_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.logText(index)}`, { cause: error });
    });
  }

  async endServer(signal: NodeJS.Signals, index = 0): Promise<void> {
    const server = this.#servers[index];
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await ended;
  }

  logOf = (index = 0): string => join(this.#folder, `serve-${index}.log`);
  logText = (index = 0): string => readFileSync(this.logOf(index), 'utf8').slice(-4_000);

  pidOf = (index = 0): number => this.#servers[index]?.pid ?? 0;

  allOfLog = (index = 0): string => readFileSync(this.logOf(index), 'utf8');

  /** Where clients call: the balancer, or else the first replica. */
  get url(): string {
    return this.#balancer?.url ?? this.urls[0] ?? '';
  }

  /** A call as `email`, by `url` unless a replica is named. */
  async call(email: string, method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    const { groups = [], headers = {}, replica, token = await this.issuer.token({ email, groups }) } = options;
    const response = await fetch(`${replica === undefined ? this.url : this.urls[replica]}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? (JSON.parse(text) as Answer['body']) : {},
    };
  }

  async stop(): Promise<void> {
    await this.#balancer?.stop();
    for (const index of this.#servers.keys()) await this.endServer('SIGTERM', index);
    await this.stack.stop();
    await this.issuer.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface CallOptions {
  readonly groups?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly replica?: number;
  readonly token?: string;
}
