import { execFileSync } from 'node:child_process';

interface RunOptions {
  readonly cwd?: string;
  /** Beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** @returns what it prints. @throws Error with the end of all that it wrote */
export function run(command: string, words: readonly string[], { cwd, env }: RunOptions = {}): string {
  try {
    return execFileSync(command, words, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1 << 26,
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${words.join(' ')}: ${`${stdout}${stderr}`.slice(-4000)}`, { cause: error });
  }
}
