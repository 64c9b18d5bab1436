import { execFile, execFileSync } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The Python package as its users have it: in an environment of its own, and no source beside it. */
export class InstalledWheel {
  readonly #scratch: string;

  private constructor(scratch: string) {
    this.#scratch = scratch;
  }

  /** @param more packages of PyPI beside it */
  static async install(scratch: string, more: readonly string[] = []): Promise<InstalledWheel> {
    const source = join(scratch, 'package');
    cpSync(join(ROOT, 'python'), source, { recursive: true, filter: (name) => !isMade(name) });
    execFileSync('python3', ['-m', 'venv', join(scratch, 'venv')]);
    const wheel = new InstalledWheel(scratch);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    await wheel.run([...pip, 'build==1.*']);
    // First the source distribution, then the wheel from it: neither lacks a file.
    await wheel.run(['-m', 'build', '--outdir', 'dist', 'package']);
    const file = readdirSync(join(scratch, 'dist')).find((name) => name.endsWith('.whl')) ?? 'no wheel';
    await wheel.run([...pip, join('dist', file), ...more]);
    return wheel;
  }

  /** @throws with what it printed, unless it ends with 0 */
  async run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = {
      cwd: this.#scratch,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    } as const;
    try {
      return (await promisify(execFile)(join(this.#scratch, 'venv/bin/python'), args, options)).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string };
      throw new Error(`python ${args.join(' ')}\n${stdout ?? ''}\n${stderr ?? ''}`, { cause: error });
    }
  }
}

const isMade = (name: string): boolean => /\/(dist|__pycache__|\.\w+_cache|[^/]*\.egg-info)$/.test(name);
