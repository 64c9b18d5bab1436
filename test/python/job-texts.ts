import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { substituteEnvironment } from '../../domain/job-file/interpolation.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { YamlSource } from '../../domain/job-file/yaml-source.js';

/** Where YAML 1.1 and 1.2 differ, and where a value keeps its text. (`!!timestamp`, and a list as a key, the Python client refuses alone.) */
const TRICKY = [
  ...['on', 'NO', 'yes', 'True', 'TRUE', 'tRUE', 'y', '~', 'null', 'Null', 'NULL', '', "''", 'nul'],
  ...['1:30', '12:30:45', '010', '0o10', '0O10', '0x1F', '0b11', '-0', '+7', '1_000', '1,000', '١'],
  ...['1e3', '1e-3', '1.', '.5', '-.5e+1', '1e', '.', '3.10', '1.0', '2026-11-24', '=', '<<', '!!str 1', "!!int '1'"],
  ...['!foo a', "'a''b'", String.raw`"a\tb\u00e9"`, '|\n  a\n  b', '>-\n  a\n  b', '[a, 1, {b: on}]'],
].map((value) => `x: ${value}\n`);
const PLACES = ['env', 'venv', 'conda', 'ray', 'tpu'].flatMap((section) =>
  ['python', 'version', 'labels', 'V'].map((key) => `${section}: {${key}: 3.10}\nother: {${section}: {${key}: 007}}\n`),
);
const WHOLE = [
  'tpu: {labels: {a: 1.0, b: 007}, metadata: {c: 1e3, d: [1.0]}}\n',
  'a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {y: 4, <<: [*a, {z: 5, x: 6}]}\n',
  'a: &a [1, 2]\nb: *a\n',
  'c: {<<: {x: 1}, x: 3, <<: {x: 2, y: 4}}\n',
  'c: {<<: {x: 1}, <<: {x: 2}}\n',
  'c: {"<<": {x: 1}}\n',
  'c: {<<: }\n',
  'x: 1\nx: 2\n',
  'a: 1\n---\nb: 2\n',
  '--- \na: 1\n...\n',
  '1: a\ntrue: b\n~: c\n1.5: d\n',
  'x: *nowhere\n',
  '- a\n',
  'text\n',
  '',
  '# nothing\n',
  "x: 'a ${oc.env:A} ${oc.env:GONE, two }'\ny: '\\${oc.env:A} ${A} ${x.y}'\n",
  'x: ${oc.env:GONE}\n',
  "x: '$${oc.env:A} $$${oc.env:A} \\\\$${oc.env:A} $$$${oc.env:GONE} $${oc.env:GONE}'\n",
  'env: {V: &v 3.10}\nother: *v\n',
  'x:\n\ty: 1\n',
];

/** The tricky ones, and every job file of the examples and the tests. */
export const JOB_TEXTS = (root: string): readonly string[] => [
  ...TRICKY,
  ...PLACES,
  ...WHOLE,
  ...['examples', 'test/cli/migrating/jobman', 'test/domain/jobman'].flatMap((folder) =>
    readdirSync(join(root, folder), { encoding: 'utf8', recursive: true })
      .filter((name) => /\.ya?ml$/.test(name))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  ),
];

/** As `jobctl submit` reads it, before the job is checked. */
export function ourTree(text: string): unknown {
  const source = new YamlSource(text);
  if (source.problems.length > 0) return 'refused';
  try {
    const { tree, problems } = substituteEnvironment(source.tree(), { HOME_FOLDER: '/h', A: '1' });
    // Through JSON, as it is submitted.
    return problems.length > 0 || !isMapping(tree) ? 'refused' : (JSON.parse(JSON.stringify(tree)) as unknown);
  } catch {
    return 'refused';
  }
}
