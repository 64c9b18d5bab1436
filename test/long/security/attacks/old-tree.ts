import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The commit on which the attacks succeeded. */
export const OLD_COMMIT = '19b9c1e';
export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** The tree of the old commit with its packages and its build. JOBCTL_OLD_TREE names one that is there already. */
export function oldTree(folder: string): string {
  const given = process.env['JOBCTL_OLD_TREE'];
  if (given !== undefined) {
    if (!existsSync(join(given, 'dist/cli/main.js'))) throw new Error(`JOBCTL_OLD_TREE=${given}: has no build`);
    return given;
  }
  mkdirSync(folder);
  const archive = execFileSync('git', ['archive', OLD_COMMIT], { cwd: ROOT, maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  // Its build is a part of it, by `prepare`.
  execFileSync('npm', ['ci', '--silent', '--prefer-offline', '--no-audit'], { cwd: folder, stdio: 'pipe' });
  return folder;
}
