import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isNamedOutput } from '../../domain/outputs.js';

const PATHS = [
  'a',
  'ab',
  'a.ckpt',
  'x.ckpt',
  '.h',
  '.ssh/k',
  'out/a',
  'out/.h',
  'out/d/e/f',
  'out2/a',
  'd/.h/a',
  'd/a.ckpt',
  'd/e/a.ckpt',
  'd/.g/a.ckpt',
];
const PATTERNS = [
  'a',
  'out',
  'out/',
  '*',
  '*.ckpt',
  '?',
  'a?',
  'a*b',
  '**',
  '**/**',
  'd/**/**',
  '**/a.ckpt',
  '**/*.ckpt',
  'out/*',
  'out/**',
  '.*',
  '.ssh',
  'd/*/a.ckpt',
  'd/**/a',
  'none*',
  '*/*',

  'o\\ut*',
  'd/.h',
  '**/.h',
];

describe("outputs' patterns", () => {
  it('name what bash names by them, and what is below it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'patterns-'));
    try {
      for (const path of PATHS) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), '');
      }
      let named = 0;
      for (const pattern of PATTERNS) {
        const script =
          'shopt -s nullglob globstar; IFS=; for match in $1; do [ ! -e "$match" ] || printf "%s\\n" "${match%/}"; done';
        const env = { ...process.env, LC_ALL: 'C' };
        const found = execFileSync('bash', ['-c', script, 'bash', pattern], { cwd: folder, env })
          .toString()
          .split('\n');
        for (const path of PATHS) {
          const isFound = found.some((match) => match !== '' && (path === match || path.startsWith(`${match}/`)));
          assert.equal(isNamedOutput(path, [pattern]), isFound, `${path} by ${pattern}`);
          named += Number(isFound);
        }
      }
      assert.ok(named > 60, `${named} are named`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('take a bracket expression for any one character, and compare bytes', () => {
    assert.ok(isNamedOutput('s3.pt', ['s[0-9].pt']));
    assert.ok(!isNamedOutput('s30.pt', ['s[0-9].pt']));
    assert.ok(!isNamedOutput('s/.pt', ['s[!a].pt']));
    assert.ok(isNamedOutput('\u00c3\u00a9/x', ['é']));
    assert.ok(!isNamedOutput('.x', ['[.]x']));
  });

  it('cost no more than their length times that of the path', () => {
    // By trying every split this would not end.
    assert.ok(!isNamedOutput('a'.repeat(255), [`${'*a'.repeat(100)}b`]));
    assert.ok(!isNamedOutput(Array.from({ length: 500 }, () => 'a').join('/'), [`${'**/'.repeat(100)}b`]));
  });
});
