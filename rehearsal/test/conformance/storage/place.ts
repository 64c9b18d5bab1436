import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreUnderTest } from '../../store-under-test.js';

/** What a tool did. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Where the suites work: the rehearsal's Cloud Storage or, with STORAGE_CONFORMANCE_PROJECT set, Google's, as whoever is
 * logged in (the buckets cost next to nothing, and are deleted).
 */
export class StoragePlace {
  readonly project = process.env['STORAGE_CONFORMANCE_PROJECT'];
  /** Nobody else's, at Google too. */
  readonly bucket = `jc-conformance-${randomBytes(6).toString('hex')}`;
  readonly folder = mkdtempSync(join(tmpdir(), 'storage-conformance-'));
  readonly #store = this.project === undefined ? new StoreUnderTest() : undefined;

  async start(): Promise<void> {
    await this.#store?.start();
  }

  async stop(): Promise<void> {
    await this.#store?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The rehearsal's address; undefined: Google's. */
  get url(): string | undefined {
    return this.#store?.url;
  }

  /** What makes the tools work here: gcloud, and the client libraries. */
  get environment(): Readonly<Record<string, string>> {
    if (this.url === undefined)
      return { CLOUDSDK_CORE_PROJECT: this.project ?? '', GOOGLE_CLOUD_PROJECT: this.project ?? '' };
    return {
      CLOUDSDK_CONFIG: join(this.folder, 'gcloud'),
      CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${this.url}/storage/v1/`,
      CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
      CLOUDSDK_CORE_PROJECT: 'p',
      CLOUDSDK_CORE_DISABLE_USAGE_REPORTING: 'true',
      CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK: 'true',
      STORAGE_EMULATOR_HOST: this.url,
      GOOGLE_CLOUD_PROJECT: 'p',
    };
  }

  run(program: string, args: readonly string[], input = ''): Promise<Ended> {
    const env = { ...process.env, CLOUDSDK_CORE_DISABLE_PROMPTS: '1', ...this.environment };
    const child = spawn(program, args, { env, cwd: this.folder });
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.stdin.end(input);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) =>
        resolve({
          code: code ?? -1,
          stdout: Buffer.concat(stdout).toString(),
          stderr: Buffer.concat(stderr).toString(),
        }),
      );
    });
  }

  /** `gcloud storage ..`, which has to succeed. @returns what it printed. */
  async gcloud(...args: readonly string[]): Promise<string> {
    const ended = await this.run('gcloud', ['storage', ...args]);
    if (ended.code !== 0) throw new Error(`gcloud storage ${args.join(' ')}: exit ${ended.code}\n${ended.stderr}`);
    return ended.stdout;
  }
}
