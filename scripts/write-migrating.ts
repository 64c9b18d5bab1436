import { writeFileSync } from 'node:fs';
import { migratingPage } from './migrating-page.js';
import { formatted } from './formatted.js';

/** Writes docs/migrating.md from cli/job/migrating (test/cli/migrating/page.test.ts compares). */
const FILE = 'docs/migrating.md';
writeFileSync(FILE, await formatted(FILE, migratingPage()));
process.stdout.write(`${FILE}\n`);
