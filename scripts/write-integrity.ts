import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from './packages.js';

/**
 * `prepack` of jobctl: writes dist/packages.json for cli/place/packages.ts. It names the other packages by exact version and by
 * the hash of their tarballs. npm packs equal files to equal bytes, so a tarball that is published from the same checkout has
 * that hash (test/long/packages.test.ts compares the two).
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

function packed(folder: string): Packed {
  // Options of the npm that runs this script, such as --workspaces, do not apply to this one.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_config_(workspace|include_workspace|pack_dest|dry_run|json)/i.test(name),
    ),
  );
  const args = ['pack', '--json', '--dry-run', '--ignore-scripts'];
  const text = execFileSync('npm', args, { cwd: join(ROOT, folder), env, stdio: ['ignore', 'pipe', 'ignore'] });
  // A list, or since npm 12 an object keyed by name.
  const [answer] = Object.values(JSON.parse(text.toString()) as Record<string, Packed>);
  const { name, version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Packed;
  if (answer?.name !== name || answer.version !== version) throw new Error(`npm pack in ${folder}/: not ${name}`);
  return { name, version, integrity: answer.integrity };
}

const others = PACKAGES.filter(({ folder }) => folder !== '.').map(({ folder }) => packed(folder));
const byName = Object.fromEntries(others.map((each) => [each.name, each]));
writeFileSync(join(ROOT, 'dist/packages.json'), `${JSON.stringify(byName, null, 2)}\n`);
