import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';

const PROGRAM = '/usr/bin/docker-registry';

/** A registry of Debian's without a container engine beside it, at an address that others reach too. */
export class PlainRegistry {
  readonly address: string;
  readonly #folder: string;
  readonly #servers: ChildProcess[] = [];

  private constructor(address: string, folder: string) {
    [this.address, this.#folder] = [address, folder];
  }

  /** @param host an address of this computer */
  static async start(host = '127.0.0.1'): Promise<PlainRegistry> {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM}: install Debian's docker-registry`);
    const folder = mkdtempSync(join(tmpdir(), 'plain-registry-'));
    const registry = new PlainRegistry(`${host}:${await freePort()}`, folder);
    registry.#serve(registry.address, []);
    await until('the registry answers', async () => (await fetch(`http://${registry.address}/v2/`)).ok);
    return registry;
  }

  /**
   * The same images at another loopback, which a container runtime asks without TLS.
   * @param through a command that runs what is behind it in another network, such as `nsenter --net=..`
   * @returns the address there
   */
  async alsoIn(through: readonly string[]): Promise<string> {
    const address = `127.0.0.1:${await freePort()}`;
    this.#serve(address, through);
    return address;
  }

  #serve(address: string, through: readonly string[]): void {
    const file = join(this.#folder, `${address}.yml`);
    const storage = { filesystem: { rootdirectory: join(this.#folder, 'data') } };
    writeFileSync(file, JSON.stringify({ version: 0.1, storage, http: { addr: address } }));
    const [program, ...args] = [...through, PROGRAM, 'serve', file];
    this.#servers.push(spawn(program ?? PROGRAM, args, { stdio: 'ignore' }));
  }

  async tags(name: string): Promise<readonly string[]> {
    const answer = await fetch(`http://${this.address}/v2/${name}/tags/list`);
    return answer.ok ? (((await answer.json()) as { tags: string[] | null }).tags ?? []) : [];
  }

  /** The configuration of the one image that a tag or digest names; undefined: there is none, or it is an index. */
  async config(name: string, reference: string): Promise<ImageConfig | undefined> {
    const manifest = await this.#json(`${name}/manifests/${reference}`);
    const digest = (manifest as { config?: { digest?: string } } | undefined)?.config?.digest;
    return digest === undefined ? undefined : ((await this.#json(`${name}/blobs/${digest}`)) as ImageConfig);
  }

  async stop(): Promise<void> {
    const ended = this.#servers.map((server) => once(server, 'exit'));
    for (const server of this.#servers) server.kill('SIGKILL');
    await Promise.all(ended);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #json(path: string): Promise<unknown> {
    const types = [
      'application/vnd.oci.image.manifest.v1+json',
      'application/vnd.docker.distribution.manifest.v2+json',
    ];
    const answer = await fetch(`http://${this.address}/v2/${path}`, { headers: { accept: types.join() } });
    return answer.ok ? answer.json() : undefined;
  }
}

export interface ImageConfig {
  readonly architecture: string;
  readonly config: { readonly Env?: readonly string[]; readonly Labels?: Readonly<Record<string, string>> };
}
