import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AREAS } from '../../scripts/mutants/areas.js';
import { filesOf } from '../../scripts/mutants/instrument.js';
import { HEAD, judgedBy, olderSteps, OLDER, withOlder, withRow } from '../../scripts/runs-page.js';

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
    const words = ['--import', 'tsx', 'scripts/test-files.ts', 'live', 'live-more'];
    const live = execFileSync(process.execPath, words, { cwd: ROOT, encoding: 'utf8' }).trim().split(' ');
    assert.equal(new Set(live).size, live.length, 'a file of both');
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

  it('name files that are there for the mutants: what they change, and the tests that judge', () => {
    for (const { mutate, tests } of AREAS)
      for (const globs of [mutate, tests]) assert.ok(filesOf(globs).length >= globs.length, globs.join(', '));
  });

  it('write one row a step, and name those whose code has changed since', () => {
    const empty = `${HEAD}\n| --- | --- | --- | --- | --- |\n\n${OLDER}none.\n`;
    const once = withRow(empty, HEAD, 'alerts: x', ['2026-11-26', 'aaa', '1 passed', '3 s']);
    const both = withRow(once, HEAD, 'own machines: y', ['2026-11-26', 'bbb', '2 passed', '4 s']);
    const again = withRow(both, HEAD, 'alerts: x', ['2026-11-27', 'ccc', '3 passed', '5 s']);
    const older = olderSteps(again, (commit, paths) => commit === 'bbb' && paths.includes('cloud/machines/own'));
    assert.deepEqual(older, ['own machines: y']);
    const whole = [
      '| alerts: x | 2026-11-27 | ccc | 3 passed | 5 s |',
      '| own machines: y | 2026-11-26 | bbb | 2 passed | 4 s |',
    ];
    assert.equal(
      withOlder(again, older),
      `${HEAD}\n| --- | --- | --- | --- | --- |\n${whole.join('\n')}\n\n${OLDER}"own machines: y".\n`,
    );
    assert.ok(judgedBy('anything else').includes('workflows'));
  });

  it('have no row of a step that is gone', () => {
    const lines = readFileSync(join(ROOT, 'docs/runs.md'), 'utf8').split('\n');
    const rows = lines.slice(lines.indexOf(HEAD) + 2);
    const long = readFileSync(join(ROOT, '.ci/long'), 'utf8');
    const gone = rows
      .slice(0, rows.indexOf(''))
      .map((row) => row.slice(2).split(' | ')[0] ?? '')
      .filter((step) => !long.includes(`step '${step}'`) && !/, \d+ (runs|cases)$/.test(step));
    assert.deepEqual(gone, []);
  });
});
