import assert from 'node:assert/strict';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { jobFileJsonSchema } from '../../domain/job-file/sections.js';
import { formatPath, type Path } from '../../domain/problem.js';
import { LEAST_SECTIONS } from './kind-jobs.js';

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** Every place of a job file that takes a text, with `x` for a name and 0 for an index. */
function textPlaces(schema: Schema, path: Path = []): readonly Path[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((each) => textPlaces(each, path));
  const keys = Object.entries(schema.properties ?? {}).flatMap(([key, each]) => textPlaces(each, [...path, key]));
  const items = schema.items === undefined ? [] : textPlaces(schema.items, [...path, 0]);
  const { additionalProperties: any } = schema;
  const named = typeof any === 'object' ? textPlaces(any, [...path, 'x']) : [];
  const own = [schema.type ?? []].flat().includes('string') && schema.enum === undefined ? [path] : [];
  return [...new Map([...choices, ...keys, ...items, ...named, ...own].map((one) => [formatPath(one), one])).values()];
}

const HEX = '0123456789abcdef0123456789abcdef01234567';
/** Two lines, which most names cannot have. */
const SCRIPT = `export WANDB_API_KEY=${HEX}\npython3 a.py; echo finished`;

/** What a text in these sections and lists needs beside it, so that nothing is missing. */
const BESIDE: Readonly<Record<string, unknown>> = {
  build: { image: 'r/i', digest: `sha256:${'a'.repeat(64)}` },
  bundle: { dir: '.' },
  conda: { name: 'c' },
  docker: { image: 'debian:12' },
  files: [{ from: 'a' }],
  gcsfuse: { bucket_name: 'b', mount_path: '~/b' },
  'gcsfuse.extra_mounts': [{ bucket_name: 'c', mount_path: '~/c' }],
  'inputs.x': { job: 'prep' },
  'kubernetes.tpu': { accelerator: 'v5litepod-16' },
  'kubernetes.tolerations': [{ key: 'k' }],
  modules: { x: { setup: [{ run: 'true' }] } },
  'modules.x.files': [{ from: 'a' }],
  notify: [{}],
  'notify.to.workflow': { id: 'w', signal: 's' },
  'notify[0].to.workflow': { id: 'w', signal: 's' },
  'ray_cluster.tolerations': [{ key: 'k' }],
  script: { run: 'true' },
  ssh: { private_key: 'k', identities: [{ private_key: 'k' }] },
  venv: { name: 'v' },
};

function withText([key, ...rest]: Path, base: unknown, above: Path = []): unknown {
  if (key === undefined) return SCRIPT;
  const path = [...above, key];
  const child = Array.isArray(base) || isMapping(base) ? Object.entries(base).find(([name]) => name === `${key}`) : [];
  const value = withText(rest, BESIDE[formatPath(path)] ?? child?.[1], path);
  return typeof key === 'number' ? [value] : { ...(isMapping(base) && base), [key]: value };
}

/** What is said of a job that has `SCRIPT` in this place. */
function saidOf(path: Path): { readonly problems: readonly string[]; readonly warnings: readonly string[] } {
  const least =
    Object.values(LEAST_SECTIONS).find((section) => (path[0] ?? '') in section) ?? LEAST_SECTIONS['cloud-tpu'];
  const command = formatPath(path) === 'command.cmd' ? {} : { run: 'true' };
  const array = path[0] === 'array' ? { array: { matrix: { x: ['one'] } } } : {};
  const job = resolveJob(withText(path, { ...least, command, ...array }), { mayBuild: true, mayBeArray: true });
  if (job.ok) return { problems: [], warnings: job.warnings };
  return { problems: job.problems.map((problem) => `${formatPath(problem.path)}: ${problem.message}`), warnings: [] };
}

/** Takers of any text that hand it to no shell, with what it is to them. */
const NO_SHELL: Readonly<Record<string, readonly string[]>> = {
  'a value that is handed on as it is': [
    ...['env.x', 'build.args.x', 'machines.labels.x', 'tpu.metadata.x', 'compute_engine.metadata.x'],
    'array.matrix.x[0]',
  ],
  'a name': [
    ...['job.name', 'job.worker_num', 'modules.x.setup[0].name', 'conda.env_name', 'tpu.version', 'build.target'],
    ...['build.cluster', 'kubernetes.context', 'ray_cluster.context'],
    ...['notify', 'notify[0]'].flatMap((rule) => [`${rule}.to.workflow.id`, `${rule}.to.workflow.signal`]),
    ...['kubernetes', 'ray_cluster'].flatMap((kind) =>
      ['tolerations[0].key', 'tolerations[0].value'].map((key) => `${kind}.${key}`),
    ),
  ],
  'a path': [
    ...['build.context', 'build.dockerfile', 'bundle', 'bundle.dir', 'bundle.exclude[0]', 'conda.config_file'],
    ...['conda.yaml_file', 'conda.requirements', 'conda.requirements[0]', 'venv.requirements_file', 'docker.workdir'],
    ...['docker.work_dir', 'gcsfuse.cache.dir', 'gcsfuse.extra_mounts[0].cache.dir', 'ssh.private_key'],
    ...['ssh.public_key', 'ssh.tpu_private_key', 'ssh.tpu_public_key', 'ssh.identities[0].private_key'],
    ...['ssh.identities[0].public_key', 'inputs.x.path'],
  ],
  'words that jobctl splits and quotes': ['docker.flags[0]'],
  'lines of the configuration of ssh': ['ssh.identities[0].config_entry'],
};
/** Shell whose exit code nobody reads. */
const WITHOUT_END = ['tpu.startup_script', 'compute_engine.startup_script'];

describe('shell in a job file', () => {
  const exempt = Object.values(NO_SHELL).flat();
  const seen = new Set<string>();
  for (const path of textPlaces(jobFileJsonSchema())) {
    const place = formatPath(path);
    const { problems, warnings } = saidOf(path);
    if (problems.length > 0) continue;
    seen.add(place);
    if (exempt.includes(place)) continue;
    it(`is judged in ${place}`, () => {
      const told = warnings.filter((text) => text.startsWith(`${place}: `)).join('\n');
      assert.match(told, /: gives WANDB_API_KEY what looks like a secret/, 'or name in NO_SHELL what it is');
      assert.equal(told.includes(': line 2: if this fails, the '), !WITHOUT_END.includes(place), told);
      assert.ok(!told.includes(HEX));
    });
  }

  it('is not looked for in places that take no such text', () => {
    assert.deepEqual(
      [...exempt, ...WITHOUT_END].filter((place) => !seen.has(place)),
      [],
    );
  });

  it('is read wherever a text may stand: no place is refused for what is missing beside it', () => {
    const unclear = textPlaces(jobFileJsonSchema()).flatMap((path) => {
      const { problems } = saidOf(path);
      const place = formatPath(path);
      return problems.length === 0 || problems.some((text) => text.startsWith(`${place}: `))
        ? []
        : [`${place}: ${problems.join()}`];
    });
    assert.deepEqual(unclear, []);
  });
});
