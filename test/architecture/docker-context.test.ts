import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildInputs, PAGE_SOURCES } from '../../scripts/build-inputs.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('the context of `docker build`', () => {
  it('has every folder that the build reads', () => {
    const lines = new Set(readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n'));
    const missing = [...buildInputs(ROOT).folders, PAGE_SOURCES].filter((folder) => !lines.has(`!${folder}`));
    assert.deepEqual(missing, [], 'name them in .dockerignore');
  });
});
