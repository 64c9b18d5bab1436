import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programArguments } from '../built.js';

const ROOT = join(import.meta.dirname, '../..');

/** The commands of docs/deployment.md before the first start, but `docker compose` and what is written into .env. */
function documentedCommands(): string {
  const page = readFileSync(join(ROOT, 'docs/deployment.md'), 'utf8');
  const [, chapter = ''] = /^## Verified mode\n([\s\S]*?)^## /mu.exec(page) ?? [];
  const blocks = [...chapter.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].map(([, block = '']) => block);
  const lines = blocks.join('').split('\n');
  return lines.filter((line) => !/^(docker compose|echo) /u.test(line)).join('\n');
}

/**
 * Types them in `folder` as root, with the strictest umask.
 * @param of whose worker is configured: the folder below deploy/ that the page says to copy
 */
export function makeComposeFolders(folder: string, of: 'worker' | 'rehearsal'): void {
  chmodSync(folder, 0o755);
  cpSync(join(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  const program = [process.execPath, ...programArguments('cli/main')].map((word) => `'${word}'`).join(' ');
  writeFileSync(join(folder, 'bin/jobctl'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  writeFileSync(join(folder, 'bin/sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`, HOME: folder };
  const commands = `umask 077\n${documentedCommands().replace('deploy/worker', `deploy/${of}`)}`;
  const typed = spawnSync('bash', ['-euc', commands], { cwd: folder, env, encoding: 'utf8' });
  assert.equal(typed.status, 0, typed.stderr);
}
