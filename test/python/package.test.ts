import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('the Python package', () => {
  it('has the version of the npm packages', () => {
    const { version } = JSON.parse(text('package.json')) as { version: string };
    assert.equal(/^version = "(.*)"$/m.exec(text('python/pyproject.toml'))?.[1], version);
    assert.equal(text('python/src/jobctl/version.py'), `VERSION = "${version}"\n`);
  });

  it('carries the license of the repository', () => assert.equal(text('python/LICENSE'), text('LICENSE')));

  it('has an AsyncClient that is written from Client', () => {
    execFileSync('python3', ['-B', join(ROOT, 'python/write_async_client.py'), '--check'], { stdio: 'pipe' });
  });
});
