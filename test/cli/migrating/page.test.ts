import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { migratingPage } from '../../../scripts/migrating-page.js';

it('docs/migrating.md is what its script writes: `npx tsx scripts/write-migrating.ts`', async () => {
  const file = 'docs/migrating.md';
  const wanted = await format(migratingPage(), { ...(await resolveConfig(file)), parser: 'markdown' });
  assert.equal(readFileSync(file, 'utf8'), wanted);
});
