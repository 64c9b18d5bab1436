import { execFile } from 'node:child_process';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Google's own command, unmodified, in an environment of its own. */
export class Gcloud {
  readonly #env: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;

  /** @param timeoutMs of each command. */
  constructor(env: Readonly<Record<string, string>>, timeoutMs = 120_000) {
    this.#env = env;
    this.#timeoutMs = timeoutMs;
  }

  /** Resolves however it ends. */
  run(...args: readonly string[]): Promise<Ran> {
    const options = { env: this.#env, timeout: this.#timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 << 20 } as const;
    return new Promise((resolve) => {
      const child = execFile('gcloud', args, options, (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  /** @throws Error with what it said, if it fails */
  async done(...args: readonly string[]): Promise<Ran> {
    const ran = await this.run(...args);
    if (ran.code === 0) return ran;
    throw new Error(`gcloud ${args.join(' ')}: exit ${ran.code}\n${ran.stderr}\n${ran.stdout}`);
  }

  async json<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse((await this.done(...args, '--format=json')).stdout) as T;
  }
}

/** Its version, such as `528.0.0`; undefined where there is no gcloud. */
export async function gcloudVersion(): Promise<string | undefined> {
  const { code, stdout } = await new Gcloud({
    ...environment(),
    CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK: 'true',
  }).run('version', '--format=value("Google Cloud SDK")');
  return code === 0 ? stdout.trim() : undefined;
}

/** This process's own environment. */
export function environment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
