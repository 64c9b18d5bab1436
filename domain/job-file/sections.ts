import { z } from 'zod';
import { MODULE_NAMES } from '../setup-spec.js';
import { duration, flag, oneOf, section, text, textMap, wholeNumber } from './fields.js';
import { moduleSections } from './module-forms.js';
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
  loop: flag().nullish().describe('The same as loop.'),
});

const setup = section({
  modules: z
    .array(text(), { error: 'a list of modules' })
    .nullish()
    .describe(
      `What is set up on each host, in this order: ${MODULE_NAMES.join(', ')}, or a name of the section modules.`,
    ),
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

/** What `keep` may say, alone or as `when`. */
export const KEEP_WORDS = ['never', 'on-failure', 'always'] as const;
const keepWhen = oneOf(KEEP_WORDS);
const keep = z.union(
  [
    keepWhen,
    section({ when: keepWhen.nullish(), for: duration().nullish().describe('For how long at most; 8h without it.') }),
  ],
  { error: `${KEEP_WORDS.join(', ')}, or a section {when, for}` },
);
const timeouts = section({
  stop: duration().nullish().describe('How long a stopped job keeps its slices; 8h without it.'),
  queue: duration().nullish().describe('How long it may wait for quota, each time.'),
  provision: duration().nullish().describe('How long its slices may take to be ready, in one zone.'),
  setup: duration().nullish().describe('How long its hosts may be set up in one attempt.'),
  run: duration().nullish().describe('How long the command may run in one attempt.'),
  no_output: z
    .union([duration(), z.literal(false)], { error: 'a duration of 5s or more, such as 30m' })
    .nullish()
    .describe('How long it may print nothing on any of its hosts, in one attempt; 5s or more.'),
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
  keep: keep.nullish().describe('Whether the slices stay when the command has ended.'),
  loop: flag().nullish().describe('Run the command again whenever it has ended.'),
  timeouts: timeouts.nullish().describe('How long the job may be in a phase.'),
  notify: notify.nullish().describe('Who is told when the job has ended.'),
  job: job.nullish(),
  tpu: tpuSection().nullish(),
  setup: setup.nullish(),
  ...moduleSections(),
  command: command.nullish(),
  secrets: textMap().nullish().describe('Variables of the command from the secret store: VARIABLE: NAME.'),
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
