import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { formatProblems } from '../../domain/problem.js';

/** JobMan's keys, one line each: copied byte for byte from docs/facts.md, "Predecessors". */
const TABLE = readFileSync(new URL('./jobman/keys.txt', import.meta.url), 'utf8');

/** What the table says in words, as YAML: older names in brackets, names that stand for one another, a later name behind `#`. */
function asYaml(table: string): string {
  return table
    .replaceAll(/ \((?:first: |or )(\w+)(?:, and only with (\w+: \w+))?\)/g, (_, other: string, flag = '') =>
      [`, ${other}`, flag].filter(Boolean).join(', '),
    )
    .replaceAll(/(\w+) = [^|,]*\| (\w+) = [^,]*/g, '$1, $2')
    .replaceAll(/^( *)run: \|\s+# later: (\w+)$/gm, '$1$2: ..\n$1run: |');
}

type Path = readonly string[];
interface Key {
  readonly path: Path;
  /** What the table shows of its values; none for a key that only has a name there. */
  readonly values: readonly unknown[];
}

/** Sections whose keys are the user's own. */
const FREE = new Set(['metadata']);

function keysOf(tree: unknown, path: Path = []): Key[] {
  if (Array.isArray(tree) && tree.some((item) => typeof item === 'object')) return keysOf(tree[0], path);
  if (tree === null || typeof tree !== 'object' || Array.isArray(tree) || FREE.has(path.at(-1) ?? ''))
    return [{ path, values: tree === null ? [] : alternatives(tree) }];
  return Object.entries(tree).flatMap(([key, value]) => keysOf(value, [...path, key]));
}

/** `a | b` in the table is either. */
const alternatives = (value: unknown): unknown[] =>
  typeof value === 'string' && value.includes('|')
    ? value.split('|').map((text) => parse(text.trim()) as unknown)
    : [value];

/** Of keys that only have a name in the table, or `..` for a value. */
const VALUES: Readonly<Record<string, unknown>> = {
  'job.name': 'n',
  'job.loop': true,
  'job.remote_user': 'me',
  'tpu.name': 'me-${tpu.accelerator}',
  'tpu.tags': ['a'],
  'ssh.identities.private_key': '~/k',
  'ssh.identities.public_key': '~/k.pub',
  'ssh.identities.config_entry': 'Host x',
  'gcsfuse.cache.dir': '/d',
  'gcsfuse.cache.metadata_ttl_secs': 1,
  'gcsfuse.cache.stat_cache_max_size_mb': 1,
  'gcsfuse.cache.type_cache_max_size_mb': 1,
  'gcsfuse.cache.file_cache_max_size_mb': 1,
  'gcsfuse.cache.cache_file_for_range_read': true,
  'gcsfuse.cache.enable_parallel_downloads': true,
  'gcsfuse.cache.prefix': 'true',
  'gcsfuse.extra_mounts.bucket_name': 'c',
  'gcsfuse.extra_mounts.mount_path': '/c',
  'gcsfuse.extra_mounts.cache': { dir: '/d' },
  'docker.image': 'python',
  'docker.workdir': '/w',
  'docker.work_dir': '/w',
  'docker.env_vars': ['NAME=value'],
  'conda.name': 'n',
  'conda.env_name': 'n',
  'conda.config_file': 'e.yml',
  'conda.yaml_file': 'e.yml',
  'conda.python': '3.10',
  'conda.requirements': 'r.txt',
  'venv.name': 'n',
  'venv.path': '/v',
  'venv.requirements_file': 'r.txt',
  'command.cmd': 'true',
  'command.run': 'true',
};

/** What a section needs beside a key, and what a key needs. */
const BESIDE: Readonly<Record<string, object>> = {
  gcsfuse: { bucket_name: 'b', mount_path: '/b' },
  'gcsfuse.extra_mounts': { bucket_name: 'c', mount_path: '/c' },
  'ssh.identities': { private_key: '~/k' },
  docker: { image: 'python' },
  conda: { name: 'n' },
  venv: { name: 'n' },
  tpu: { accelerator: 'v6e-8', zone: 'us-east1-d' },
};
const NEEDED: Readonly<Record<string, object>> = {
  'ssh.tpu_public_key': { tpu_private_key: '~/k' },
  'command.workers': { run: 'true' },
};
/** Other names of what BESIDE has. */
const INSTEAD = new Set(['conda.env_name', 'venv.path']);
/** These name sections of the file. */
const NAMING = new Set(['job.env_type', 'setup.modules']);
const NAMED = { ssh: { private_key: '~/k' }, command: { run: 'true' } };
const LISTS = new Set(['ssh.identities', 'gcsfuse.extra_mounts']);

/** The smallest file that has this key with this value. */
function fileWith(path: Path, value: unknown): string {
  let tree = value;
  for (let depth = path.length; depth > 0; depth--) {
    const at = path.slice(0, depth).join('.');
    const section = path.slice(0, depth - 1).join('.');
    const beside = INSTEAD.has(at) ? {} : { ...BESIDE[section], ...NEEDED[at] };
    const object = { ...beside, [path[depth - 1] as string]: tree };
    tree = LISTS.has(section) ? [object] : object;
  }
  const { gcsfuse, docker, conda, venv, tpu } = BESIDE;
  const named = NAMING.has(path.join('.')) ? { ...NAMED, gcsfuse, docker, conda, venv } : {};
  return stringify({ tpu, ...named, ...(tree as object) });
}

describe("JobMan's keys, as the facts have them", () => {
  const keys = keysOf(parse(asYaml(TABLE)));

  it('are read from the whole table', () => {
    assert.equal(keys.length, 54, keys.map(({ path }) => path.join('.')).join(' '));
    const sections = [...new Set(keys.map(({ path }) => path[0]))];
    assert.deepEqual(sections, ['job', 'tpu', 'setup', 'ssh', 'gcsfuse', 'docker', 'conda', 'venv', 'command']);
  });

  for (const { path, values } of keys) {
    const name = path.join('.');
    it(`${name} validates`, () => {
      const shown = values.filter((value) => value !== '..' && value !== '');
      const tried = Object.hasOwn(VALUES, name) ? [VALUES[name]] : shown;
      assert.ok(tried.length > 0, 'the table shows no value, and neither does this test');
      for (const value of tried) {
        const text = fileWith(path, value);
        const resolved = parseJobFile(text, { file: 'job.yaml', env: { HOME: '/h' } });
        assert.ok(resolved.ok, resolved.ok ? '' : `${text}\n${formatProblems(resolved.problems)}`);
      }
    });
  }
});
