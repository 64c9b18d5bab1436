import { mkdirSync, writeFileSync } from 'node:fs';
import { poolFileJsonSchema } from '../quota/files/pool-file-form.js';
import { quotaFileJsonSchema } from '../quota/files/quota-file-schema.js';
import { formatted } from './formatted.js';

/** Writes docs/schemas: JSON Schemas for editors, from the code (test/quota/file-schemas.test.ts compares). */
const FOLDER = 'docs/schemas';

mkdirSync(FOLDER, { recursive: true });
const schemas = { 'quota-file': quotaFileJsonSchema(), 'pool-file': poolFileJsonSchema() };
for (const [name, schema] of Object.entries(schemas)) {
  const file = `${FOLDER}/${name}.schema.json`;
  writeFileSync(file, await formatted(file, JSON.stringify(schema)));
  process.stdout.write(`${file}\n`);
}
