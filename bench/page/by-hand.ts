import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stackHome } from '../../cli/terminal/home.js';
import type { RehearsalEndpoints } from '../../rehearsal/index.js';
import { makeKeyPair } from '../../test/hosts/ssh-host.js';

const ZONE = 'projects/by-hand/locations/us-central1-a';
const POLL_MS = 50;
const READY_MS = 60_000;
const SSH = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=yes'];

/**
 * The simulated cloud of a stack without jobctl: a slice by Google's REST API, asked every 50 ms until it is there, and its first
 * host by `ssh`. No log is stored, and nothing would survive a crash.
 */
export class ByHand {
  readonly #endpoints: RehearsalEndpoints;
  readonly #header: readonly [string, string];
  readonly #publicKey: string;
  readonly #keyFile: string;
  #slices = 0;

  constructor(env: NodeJS.ProcessEnv) {
    const home = stackHome(env);
    this.#endpoints = JSON.parse(readFileSync(join(home.rehearsalDir, 'endpoints.json'), 'utf8')) as RehearsalEndpoints;
    const [name = '', value = ''] = readFileSync(home.rehearsalHeaderFile, 'utf8').trim().split(': ');
    this.#header = [name, value];
    const key = makeKeyPair();
    this.#publicKey = key.public;
    this.#keyFile = join(mkdtempSync(join(tmpdir(), 'jobctl-bench-key-')), 'id_ed25519');
    writeFileSync(this.#keyFile, key.private, { mode: 0o600 });
  }

  /** From the create call until the first host has printed a line, in ms. The slice is deleted afterwards. */
  async firstLine(): Promise<number> {
    const name = `by-hand-${(this.#slices += 1)}`;
    const queued = `${ZONE}/queuedResources/${name}`;
    const began = performance.now();
    await this.#ask('POST', `${ZONE}/queuedResources?queuedResourceId=${name}`, this.#sliceOf(name));
    await this.#until(queued, (resource) => (resource.state as { state?: string } | undefined)?.state === 'ACTIVE');
    const { networkEndpoints } = await this.#ask('GET', `${ZONE}/nodes/${name}`);
    const [first] = networkEndpoints as readonly { readonly ipAddress: string }[];
    const login = ['-p', String(this.#endpoints.sshPort), '-i', this.#keyFile, `me@${first?.ipAddress}`];
    await promisify(execFile)('ssh', [...SSH, ...login, 'echo from host 0']);
    const ms = performance.now() - began;
    await this.#ask('DELETE', `${queued}?force=true`);
    return ms;
  }

  #sliceOf(nodeId: string): object {
    const metadata = { 'ssh-keys': `me:${this.#publicKey}` };
    const node = { acceleratorType: 'v5litepod-16', runtimeVersion: 'v2-alpha-tpuv5-lite', metadata };
    return { tpu: { nodeSpec: [{ parent: ZONE, nodeId, node }] }, spot: {} };
  }

  async #until(path: string, isSo: (resource: Readonly<Record<string, unknown>>) => boolean): Promise<void> {
    for (const end = Date.now() + READY_MS; Date.now() < end; await pause(POLL_MS)) {
      const resource = await this.#ask('GET', path);
      if (isSo(resource)) return;
    }
    throw new Error(`${path}: not ACTIVE within ${READY_MS / 1_000} s`);
  }

  async #ask(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const [name, value] = this.#header;
    const response = await fetch(`${this.#endpoints.rest}/v2/${path}`, {
      method,
      headers: { [name]: value, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }
}
