import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../until.js';

const run = promisify(execFile);
/**
 * Installed by the test, so that the lock of this repository does not carry a registry's 300 packages. 6.2 is the newest that
 * runs on Node 20. Its dependency `node-fetch@cjs` is a tag, which mirrors may lack: 2.6.7 is the version behind it.
 */
const VERDACCIO = { private: true, dependencies: { verdaccio: '6.2.4' }, overrides: { 'node-fetch': '2.6.7' } };
const MOST_OUTPUT = 64 << 20;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A package registry on loopback: it holds what is published to it and passes every other package through. */
export class LoopbackRegistry {
  /** `http://127.0.0.1:PORT/`, once it has started. */
  url = '';
  readonly #folder: string;
  #child: ChildProcess | undefined;

  /** @param folder for its files; the caller removes it */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async start(): Promise<void> {
    const upstream = (await run('npm', ['config', 'get', 'registry'])).stdout.trim();
    const port = await freePort();
    this.url = `http://127.0.0.1:${port}/`;
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(join(this.#folder, 'config.yaml'), configuration(upstream));
    // npm publishes only if it has a token; this registry takes any.
    writeFileSync(join(this.#folder, 'npmrc'), `registry=${this.url}\n//127.0.0.1:${port}/:_authToken=anybody\n`);
    writeFileSync(join(this.#folder, 'package.json'), JSON.stringify(VERDACCIO));
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: this.#folder });
    const program = join(this.#folder, 'node_modules/verdaccio/bin/verdaccio');
    const args = [program, '--config', join(this.#folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`];
    this.#child = spawn(process.execPath, args, { cwd: this.#folder, stdio: 'ignore' });
    await until('the registry answers', async () => (await fetch(`${this.url}-/ping`)).ok, 60_000);
  }

  stop(): void {
    this.#child?.kill('SIGTERM');
  }

  /** npm, with this registry. Resolves however it ends. */
  npm(cwd: string, ...args: readonly string[]): Promise<Ran> {
    return this.run(cwd, 'npm', ...args);
  }

  /** A command whose npm, if it starts one, has this registry and a cache of its own. */
  run(cwd: string, program: string, ...args: readonly string[]): Promise<Ran> {
    const own = {
      npm_config_userconfig: join(this.#folder, 'npmrc'),
      npm_config_cache: join(this.#folder, 'cache'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    };
    const inherited = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'));
    const env = { ...Object.fromEntries(inherited), ...own };
    return new Promise((resolve) => {
      const child = execFile(program, args, { cwd, env, maxBuffer: MOST_OUTPUT }, (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  /** What the registry knows of a package's only version. */
  async published(name: string): Promise<{ readonly version: string; readonly integrity: string }> {
    const answer = await fetch(this.url + name.replace('/', '%2f'));
    const { versions } = (await answer.json()) as { versions: Record<string, { dist: { integrity: string } }> };
    const [[version, { dist }] = ['none', { dist: { integrity: '' } }]] = Object.entries(versions);
    return { version, integrity: dist.integrity };
  }
}

const configuration = (upstream: string): string => `
storage: ./storage
auth: { htpasswd: { file: ./htpasswd } }
max_body_size: 100mb
uplinks: { upstream: { url: '${upstream}', timeout: 60s, max_fails: 20 } }
packages:
  'jobctl': { access: $all, publish: $all }
  '@jobctl/*': { access: $all, publish: $all }
  '**': { access: $all, proxy: upstream }
log: { type: file, path: ./log.txt, level: warn }
`;

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', reject)
      .listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        server.close(() => resolve(port));
      });
  });
}
