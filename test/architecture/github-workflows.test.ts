import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, '.github/workflows');

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string): Workflow => parse(readFileSync(join(FOLDER, file), 'utf8')) as Workflow;

describe('the workflows of GitHub', () => {
  for (const file of readdirSync(FOLDER)) {
    it(`${file}: every action is pinned by a commit, with its tag beside it`, () => {
      const uses = readFileSync(join(FOLDER, file), 'utf8')
        .split('\n')
        .filter((line) => /\buses:/u.test(line));
      assert.ok(uses.length > 0);
      for (const line of uses) assert.match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/u);
    });

    it(`${file}: may only read unless a job says more, and every job has an end`, () => {
      const { permissions, jobs } = read(file);
      assert.deepEqual(permissions, { contents: 'read' });
      for (const [name, job] of Object.entries(jobs)) assert.ok(job['timeout-minutes'] !== undefined, name);
    });

    it(`${file}: no checkout leaves a credential in the clone, and every script is there`, () => {
      for (const { uses, run = '', with: inputs } of Object.values(read(file).jobs).flatMap(({ steps }) => steps)) {
        if (uses?.startsWith('actions/checkout@')) assert.equal(inputs?.['persist-credentials'], false);
        for (const [, script] of run.matchAll(/npx tsx (\S+)/gu))
          assert.ok(existsSync(join(ROOT, script ?? '')), script);
      }
    });
  }

  it('F16: publish with provenance, and run no code of a dependency where a package can be published', () => {
    const publishing = readdirSync(FOLDER).flatMap((file) =>
      Object.values(read(file).jobs).filter(({ permissions }) => permissions?.['id-token'] === 'write'),
    );
    const texts = Object.fromEntries(
      publishing.map(
        ({ steps, environment = 'none' }) => [environment, steps.map(({ run = '' }) => run).join('\n')] as const,
      ),
    );
    assert.deepEqual(Object.keys(texts).toSorted(), ['npm', 'pypi']);
    assert.match(texts['npm'] ?? '', /npm publish .*--provenance/u);
    for (const text of Object.values(texts)) assert.doesNotMatch(text, /npm (ci|install|run|exec|test)|npx/u);
    // PyPI takes files by a program of its own registry: one, of an exact version.
    const installed = [...(texts['pypi'] ?? '').matchAll(/pip install (.*)/gu)].map(([, what]) => what);
    assert.equal(installed.length, 1);
    assert.match(installed[0] ?? '', /^uv==[\d.]+$/u);
    for (const { steps } of publishing) assert.ok(!steps.some(({ uses }) => uses?.startsWith('actions/checkout@')));
  });
});
