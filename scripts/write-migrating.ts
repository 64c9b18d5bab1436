import { writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { migratingPage } from './migrating-page.js';

/** Writes docs/migrating.md from client/cli/migrating (test/cli/migrating/page.test.ts compares). */
const FILE = 'docs/migrating.md';
writeFileSync(FILE, await format(migratingPage(), { ...(await resolveConfig(FILE)), parser: 'markdown' }));
process.stdout.write(`${FILE}\n`);
