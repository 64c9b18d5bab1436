import { writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { recoveryPage } from './recovery-page.js';

/** Writes docs/recovery.md from the rows of domain/recovery (test/domain/recovery/page.test.ts compares). */
const FILE = 'docs/recovery.md';
writeFileSync(FILE, await format(recoveryPage(), { ...(await resolveConfig(FILE)), parser: 'markdown' }));
process.stdout.write(`${FILE}\n`);
