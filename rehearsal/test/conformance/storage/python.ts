import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoragePlace } from './place.js';

const VERSION = '3.17.1';
const PROGRAM = fileURLToPath(new URL('python_client.py', import.meta.url));
/** An install of the package from PyPI, and 20 MB up and down a few times. */
const SUITE_MS = 300_000;

/** google-cloud-storage for Python, with its transfer manager. */
export function pythonStorage(place: StoragePlace): void {
  let told: ReadonlyMap<string, string | null>;

  before(async function () {
    this.timeout(SUITE_MS);
    const ended = await place.run(python(), [PROGRAM, `${place.bucket}-python`]);
    const lines = ended.stdout.split('\n').filter((line) => line !== '');
    told = new Map(lines.map((line) => entryOf(JSON.parse(line) as { claim: string; wrong: string | null })));
    assert.ok(told.size > 0, ended.stderr);
  });

  // The names are in the program; a claim that it never reached is told as such.
  const names = [...readFileSync(PROGRAM, 'utf8').matchAll(/^ {4}(\w+),$/gm)].map((match) => String(match[1]));
  for (const name of names.map((each) => each.replaceAll('_', ' '))) {
    it(name, () => assert.equal(told.get(name), null));
  }
}

function entryOf({ claim, wrong }: { readonly claim: string; readonly wrong: string | null }): [string, string | null] {
  return [claim, wrong];
}

/** Its interpreter, in an environment of its own that is made once. */
function python(): string {
  const folder = join(homedir(), '.cache/jobctl/conformance', `python-storage-${VERSION}`);
  const interpreter = join(folder, 'bin/python');
  if (!existsSync(join(folder, 'ready'))) {
    execFileSync('python3', ['-m', 'venv', '--clear', folder], { stdio: 'inherit' });
    const packages = ['--quiet', '--disable-pip-version-check', `google-cloud-storage==${VERSION}`];
    execFileSync(interpreter, ['-m', 'pip', 'install', ...packages], { stdio: 'inherit' });
    execFileSync('touch', [join(folder, 'ready')]);
  }
  return interpreter;
}
