import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { formatted } from '../../../scripts/formatted.js';
import { recoveryPage } from '../../../scripts/recovery-page.js';

it('docs/recovery.md is what its script writes: `npx tsx scripts/write-recovery.ts`', async () => {
  const file = 'docs/recovery.md';
  const wanted = await formatted(file, recoveryPage());
  assert.equal(readFileSync(file, 'utf8'), wanted);
});
