import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PATTERN = /(?:rehearsal\/)?test\/long\/[\w\-.*/]+\.test\.ts/g;

/** A test that no script runs is not red when it breaks: five of them were found so by an outsider (2026-11-24). */
describe('the scripts of CI', () => {
  const patterns = ['.ci/run', '.ci/long'].flatMap(
    (file) => readFileSync(join(ROOT, file), 'utf8').match(PATTERN) ?? [],
  );
  const files = ['test/long', 'rehearsal/test/long'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { encoding: 'utf8', recursive: true })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => join(folder, name)),
  );

  it('run every long test', () => {
    const words = ['--import', 'tsx', 'scripts/test-files.ts', 'live'];
    const live = execFileSync(process.execPath, words, { cwd: ROOT, encoding: 'utf8' }).trim().split(' ');
    const named = (file: string): boolean => live.includes(file) || patterns.some((each) => matchesGlob(file, each));
    assert.ok(files.length > 80, String(files.length));
    assert.deepEqual(
      files.filter((file) => !named(file)),
      [],
    );
  });

  it('name no test that is not there', () => {
    assert.ok(patterns.length > 50, String(patterns.length));
    assert.deepEqual(
      patterns.filter((each) => !files.some((file) => matchesGlob(file, each))),
      [],
    );
  });
});
