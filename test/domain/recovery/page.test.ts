import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { recoveryPage } from '../../../scripts/recovery-page.js';

it('docs/recovery.md is what its script writes: `npx tsx scripts/write-recovery.ts`', async () => {
  const file = 'docs/recovery.md';
  const wanted = await format(recoveryPage(), { ...(await resolveConfig(file)), parser: 'markdown' });
  assert.equal(readFileSync(file, 'utf8'), wanted);
});
