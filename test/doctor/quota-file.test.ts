import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobctl } from '../cli/command-line.js';
import { quotaFileText } from '../quota/quota-file-text.js';

describe('jobctl doctor --quota', function () {
  this.timeout(60_000);
  const folder = mkdtempSync(join(tmpdir(), 'doctor-quota-'));
  after(() => rmSync(folder, { recursive: true }));

  const findingsOf = async (...members: readonly string[]): Promise<readonly string[]> => {
    const file = join(folder, 'quota.toml');
    writeFileSync(file, quotaFileText({ v4: 8 }, { vision: { members, share: 1 } }));
    const { stdout, exitCode } = await jobctl(['doctor', '--quota', file, '--output', 'json']);
    assert.equal(exitCode, 0, stdout);
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly { state: string; what: string }[] };
    return findings.map(({ state, what }) => `${state} ${what.split(', here ')[1] ?? ''}`.trim());
  };

  it('names who else is let in by a dot, and says ok of a file of names', async () => {
    assert.deepEqual(await findingsOf('j.doe@example.org', 'j-doe@example.org', 'ann'), ['warning j-doe@example.org']);
    assert.deepEqual(await findingsOf(String.raw`j\.doe@example\.org`, 'ann'), ['ok']);
  });
});
