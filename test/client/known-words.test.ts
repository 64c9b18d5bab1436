import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KNOWN_WORDS } from '../../client/export/known-words.js';

/** A key that is not known would be masked, and a replay of the export would not find it. */
it('an export knows every key of the contract', () => {
  const keys = ['contract', 'domain/recovery', 'domain/job-events'].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => [...readFileSync(join(folder, name), 'utf8').matchAll(/readonly (\w+)\??:/g)])
      .map(([, key = '']) => key),
  );
  const unknown = keys.filter((key) => key.length > 1 && !KNOWN_WORDS.has(key.toLowerCase()));
  assert.ok(keys.length > 150, `${keys.length} keys`);
  assert.deepEqual(unknown, [], 'run npx tsx scripts/write-words.ts');
});
