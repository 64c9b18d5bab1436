import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/**
 * F16: there was no SECURITY.md, no threat model, no audit, bill of materials or provenance. The last three are
 * test/architecture/audit.test.ts, sbom.test.ts and github-workflows.test.ts.
 */
describe('F16: what a finder of a vulnerability reads', () => {
  it('is published with the package: how to report, and what each mode promises', () => {
    const { files } = JSON.parse(text('package.json')) as { files: readonly string[] };
    assert.ok(files.includes('SECURITY.md'));
    assert.match(text('SECURITY.md'), /^## Report a vulnerability$/m);
    for (const mode of ['Trusted', 'Verified'])
      assert.match(text('SECURITY.md'), new RegExp(`^\\*\\*${mode} mode\\*\\*.*these are vulnerabilities`, 'ms'));
  });

  it('leads to the threat model, which names who attacks, where, and what does not hold', () => {
    assert.match(text('SECURITY.md'), /\(docs\/threat-model\.md\)/);
    const headings = [...text('docs/threat-model.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    for (const heading of ['Who might attack', 'Entry points, and what holds', 'Known gaps'])
      assert.ok(headings.includes(heading), heading);
  });
});
