import { z } from 'zod';
import { MODULE_NAMES } from '../job-spec.js';
import { duration, flag, oneOf, scalarText, section, text, textMap, texts, wholeNumber } from './fields.js';
import { tpuSection } from './tpu-form.js';

/**
 * The form of a job file, JobMan v2's keys first (facts/predecessors.md 1.1). Form only: what a value means is checked
 * where it is resolved. Every key is optional here, so that one thing that is missing hides no other problem.
 */
const job = section({
  name: text().nullish().describe("The job's name; ids are made from it."),
  env_type: oneOf(['docker', 'conda', 'venv'])
    .nullish()
    .describe('The environment module, where setup.modules is not given.'),
  remote_user: text().nullish().describe('Login user on the hosts.'),
});

const setup = section({
  modules: z
    .array(oneOf(MODULE_NAMES), { error: 'a list of modules' })
    .nullish()
    .describe('What is set up on each host, in this order.'),
});

const identity = section({ private_key: text(), public_key: text().nullish(), config_entry: text().nullish() });
const ssh = section({
  private_key: text().nullish().describe('The key that connects; a file of the submitter.'),
  public_key: text().nullish(),
  tpu_private_key: text().nullish().describe('The same, in the words of the first JobMan.'),
  tpu_public_key: text().nullish(),
  identities: z.array(identity, { error: 'a list of identities' }).nullish(),
});

const megabytes = z.number({ error: 'a number' }).nullish();
const cache = section({
  dir: text().nullish(),
  metadata_ttl_secs: megabytes,
  stat_cache_max_size_mb: megabytes,
  type_cache_max_size_mb: megabytes,
  file_cache_max_size_mb: megabytes,
  cache_file_for_range_read: flag().nullish(),
  enable_parallel_downloads: flag().nullish(),
  prefix: text().nullish(),
});
const mount = { bucket_name: text().nullish(), mount_path: text().nullish(), cache: cache.nullish() };
const gcsfuse = section({
  ...mount,
  extra_mounts: z.array(section(mount), { error: 'a list of mounts' }).nullish(),
});

const docker = section({
  image: text().nullish(),
  env_vars: texts().nullish(),
  mount_dirs: texts().nullish(),
  workdir: text().nullish(),
  work_dir: text().nullish(),
  flags: texts().nullish(),
});
const conda = section({
  name: text().nullish(),
  env_name: text().nullish(),
  config_file: text().nullish(),
  yaml_file: text().nullish(),
  enabled: flag().nullish(),
  python: scalarText().nullish(),
  requirements: z.union([text(), texts()], { error: 'text or a list of texts' }).nullish(),
});
const venv = section({
  name: text().nullish().describe('The environment is ~/NAME on the host.'),
  path: text().nullish().describe('The same, as a path.'),
  requirements_file: text().nullish().describe("A file of the submitter's, for pip install -r."),
  python: scalarText().nullish().describe('python3.10 or "3.10".'),
});

const hostIndex = z.int({ error: 'the index of a host' });
const hostIndexes = z.union([hostIndex, z.array(hostIndex), z.literal('all')], {
  error: 'the index of one host, a list of indexes, or all',
});
const command = section({
  run: text().nullish().describe('Runs under bash -lc on the chosen hosts; ${section.key} is replaced.'),
  cmd: text().nullish().describe('The same as run.'),
  workers: hostIndexes.nullish().describe('2 is the one host with index 2; a list; all (default).'),
});

const retries = section({
  preemption: wholeNumber(0, 10_000).nullish(),
  infrastructure: wholeNumber(0, 10_000).nullish(),
  task: wholeNumber(0, 10_000).nullish(),
});

const notifyTarget = section({
  workflow: section({
    id: text().nullish().describe('Id of the workflow that is told, in the namespace of the job.'),
    signal: text().nullish().describe('The signal it gets, with one argument: the notice (docs/contract.md).'),
  }).nullish(),
});
const notify = z.union([notifyTarget, z.array(notifyTarget)], {
  error: 'a section {workflow: {id, signal}} or a list of such',
});

const schema = section({
  name: text().nullish().describe('The base of job ids.'),
  project: text().nullish().describe('The quota project.'),
  pool: text().nullish().describe('The quota pool; default without it.'),
  user: text().nullish(),
  priority: wholeNumber(1, 5).nullish().describe('1 is high, 5 is low.'),
  slices: wholeNumber(1, 256).nullish().describe('Slices of the gang.'),
  env: textMap().nullish().describe('Environment of the command.'),
  grace: duration().nullish().describe('From SIGTERM to SIGKILL.'),
  retries: retries.nullish().describe('New attempts that each kind of failure may make.'),
  notify: notify.nullish().describe('Who is told when the job has ended.'),
  job: job.nullish(),
  tpu: tpuSection().nullish(),
  setup: setup.nullish(),
  ssh: ssh.nullish(),
  gcsfuse: gcsfuse.nullish(),
  docker: docker.nullish(),
  conda: conda.nullish(),
  venv: venv.nullish(),
  command: command.nullish(),
});

/** Behind a function: docs/adr/0012. */
export const jobFileSchema = (): typeof schema => schema;

/** A job file whose form is right. Nothing in it has been checked for sense. */
export type JobFile = z.infer<typeof schema>;

/** The form as JSON Schema (draft 2020-12), for editors and services. */
export function jobFileJsonSchema(): Record<string, unknown> {
  const json = z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown> & {
    properties: Record<string, { anyOf?: { properties?: unknown; required?: string[] }[] }>;
  };
  const tpuForm = json.properties['tpu']?.anyOf?.find((form) => form.properties !== undefined);
  if (tpuForm !== undefined) tpuForm.required = ['accelerator'];
  return { ...json, title: 'jobctl job file', required: ['tpu'] };
}
