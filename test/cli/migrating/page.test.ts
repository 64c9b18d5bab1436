import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { formatted } from '../../../scripts/formatted.js';
import { migratingPage } from '../../../scripts/migrating-page.js';

it('docs/migrating.md is what its script writes: `npx tsx scripts/write-migrating.ts`', async () => {
  const file = 'docs/migrating.md';
  const wanted = await formatted(file, migratingPage());
  assert.equal(readFileSync(file, 'utf8'), wanted);
});
