import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The built command line: what users start. */
export const JOBCTL = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Runs `work` beside a private local stack, which is removed afterwards. */
export async function withLocalStack<T>(work: (env: NodeJS.ProcessEnv) => Promise<T>): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), 'jobctl-bench-'));
  const env = { ...process.env, JOBCTL_HOME: home };
  const jobctl = (...args: string[]): Promise<unknown> =>
    promisify(execFile)(process.execPath, [JOBCTL, ...args], { env });
  try {
    await jobctl('dev', 'up');
    return await work(env);
  } finally {
    await jobctl('dev', 'down');
    rmSync(home, { recursive: true, force: true });
  }
}
