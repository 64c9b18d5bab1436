import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { jobFileJsonSchema } from '../../domain/job-file/sections.js';
import { formatProblems } from '../../domain/problem.js';

/** More in .ci/long. */
const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 900);
const BASE = {
  tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a', zones: null, flags: [], labels: {}, metadata: {} },
  job: { name: 'a', env_type: 'venv' },
  setup: { modules: ['venv', 'command'] },
  venv: { name: 'a', python: 3.9 },
  command: { run: 'echo ${tpu.name} ${env.A}', workers: [0] },
  ssh: { private_key: 'k', identities: [] },
  env: { A: '1' },
};

type Section = { readonly properties?: Readonly<Record<string, unknown>>; readonly anyOf?: readonly Section[] };
const SECTIONS = (jobFileJsonSchema() as Section).properties as Readonly<Record<string, Section>>;
const keysIn = (name: string): string[] =>
  (SECTIONS[name]?.anyOf ?? []).flatMap((form) => Object.keys(form.properties ?? {}));
/** Every key of the file, as a path. */
const PATHS = Object.keys(SECTIONS).flatMap((name) => [[name], ...keysIn(name).map((key) => [name, key])]);

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    '${tpu.name}',
    '${tpu}',
    '${env.A}',
    '${oc.env:HOME}',
    '${a.b}',
    'all',
    'spot',
    'v6e-1',
    [],
    {},
    -1,
    1e300,
    '',
  ),
);
const edit = fc.tuple(fc.constantFrom(...PATHS), value);

function edited(edits: readonly (readonly [readonly string[], unknown])[]): Record<string, unknown> {
  const tree = structuredClone(BASE) as Record<string, unknown>;
  for (const [[section = '', key], drawn] of edits) {
    const given = structuredClone(drawn);
    const inside = tree[section];
    if (key === undefined) tree[section] = given;
    else if (typeof inside === 'object' && inside !== null && !Array.isArray(inside)) {
      (inside as Record<string, unknown>)[key] = given;
    } else tree[section] = { [key]: given };
  }
  return tree;
}

describe('job file: whatever stands in it', () => {
  it('is a job, or problems that can be shown; never an exception', () => {
    const counts = { jobs: 0, refused: 0 };
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 3 }), (edits) => {
        const resolved = resolveJob(edited(edits), { env: {} });
        counts[resolved.ok ? 'jobs' : 'refused'] += 1;
        if (!resolved.ok) assert.ok(resolved.problems.length > 0 && formatProblems(resolved.problems).length > 0);
        else assert.deepEqual(resolveJob(JSON.parse(JSON.stringify(resolved.raw))), resolved);
      }),
      { numRuns: RUNS },
    );
    assert.ok(counts.jobs > RUNS / 20 && counts.refused > RUNS / 4, JSON.stringify(counts));
  });

  it('says the same in YAML as in JSON, with a place for every problem', () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
        const tree = JSON.parse(JSON.stringify(edited(edits))) as unknown;
        // YAML's merge key means something else there.
        fc.pre(!JSON.stringify(tree).includes('<<'));
        const plain = resolveJob(tree, { env: {}, mayBuild: true });
        const parsed = parseJobFile(JSON.stringify(tree, null, 1), { file: 'f', env: {} });
        if (plain.ok || parsed.ok) return;
        compared += 1;
        assert.ok(parsed.problems.every(({ file, line, column }) => file === 'f' && line && column));
        // In YAML python: -1 is kept as it is written, '-1'.
        const messages = (of: typeof plain): string[] =>
          of.problems.map(({ message }) => message.replaceAll("'", '')).sort();
        assert.deepEqual(messages(parsed), messages(plain));
      }),
      { numRuns: Math.ceil(RUNS / 3) },
    );
    assert.ok(compared > RUNS / 12, `${compared} refusals compared`);
  });
});
