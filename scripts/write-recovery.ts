import { writeFileSync } from 'node:fs';
import { formatted } from './formatted.js';
import { recoveryPage } from './recovery-page.js';

/** Writes docs/recovery.md from the rows of domain/recovery (test/domain/recovery/page.test.ts compares). */
const FILE = 'docs/recovery.md';
writeFileSync(FILE, await formatted(FILE, recoveryPage()));
process.stdout.write(`${FILE}\n`);
