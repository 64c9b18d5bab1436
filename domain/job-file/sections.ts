import { z } from 'zod';
import { arrayForm } from '../array/array.js';
import { buildForm } from '../build/spec.js';
import { hooksForm } from '../hooks.js';
import { commandForm } from '../modules/command.js';
import { ENVIRONMENT_NAMES, MODULE_NAMES, moduleForms } from '../modules/registry.js';
import { afterForm } from '../after.js';
import { inputsForm } from '../inputs.js';
import { outputsForm } from '../outputs.js';
import { MOST_SLICES, reachFacts } from '../slice.js';
import { TOPIC_WORDS } from '../job-events/topics.js';
import { duration, flag, oneOf, scalarText, section, text, textMap, wholeNumber, texts, given } from './fields.js';
import type { RequestContext, RequestSection, ResolvedRequest } from '../machine-kinds/kind.js';
import { KINDS, type MachineRequest } from '../machine-kinds/registry.js';
import type { Report } from './report.js';
import { workspaceForm } from '../workspace.js';

// Machines -----------------------------------------------------------------------------------------------------------

type AnySection = RequestSection<MachineRequest>;

/** The sections by which a job asks for machines, one of each kind. */
export const REQUEST_SECTIONS = Object.values(KINDS).map((kind): AnySection => kind.section);

/** Sections whose machines are pods, which take an image. */
export const POD_SECTIONS = Object.values(KINDS).flatMap(({ reach, section }) =>
  reachFacts(reach).areContainers ? [section.name] : [],
);

type SectionName<Request> = Request extends unknown ? keyof Request : never;
type RequestForms = { [Name in SectionName<MachineRequest>]: z.ZodOptional<z.ZodNullable<z.ZodType>> };

const requestForms = (): RequestForms =>
  Object.fromEntries(REQUEST_SECTIONS.map(({ name, form }) => [name, form().nullish()])) as unknown as RequestForms;

/**
 * Resolves the request for machines: a job file has the section of one kind.
 * @returns undefined if it has no such section, or if its section names no machines; both are reported
 */
export function resolveRequest(
  file: Readonly<Record<string, unknown>>,
  context: RequestContext,
  report: Report,
  sections: readonly AnySection[] = REQUEST_SECTIONS,
): ResolvedRequest<MachineRequest> | undefined {
  const [asked, other] = sections.filter(({ name }) => given(file[name]) !== undefined);
  if (asked === undefined) {
    reportMissing(sections, report);
    return undefined;
  }
  if (other !== undefined) {
    const message = `${asked.name} and ${other.name} are both given`;
    report.problem([other.name], file[other.name], message, 'the slices of a job are of one kind: keep one section');
  }
  if (context.atomic && !asked.takesAtomic) {
    const message = `is not for machines of the section ${asked.name}: each of their slices is asked for alone`;
    report.problem(['atomic'], true, message, 'leave atomic out: the job starts when all of its slices are there');
  }
  return asked.resolve(file[asked.name], context, report);
}

function reportMissing(sections: readonly AnySection[], report: Report): void {
  // A wrong section is already reported.
  const [first] = sections;
  if (first === undefined || sections.some(({ name }) => report.wasDropped([name]))) return;
  const choice = sections.map(({ name, least }) => `${name}, with ${least}`).join(', or ');
  report.missing([first.name], `a job needs the section ${choice}`);
}

// The file -----------------------------------------------------------------------------------------------------------

/** The form of a target in a job file. All keys are optional, so that one wrong key hides no other problem. */
const notifyForm = () => {
  const rule = section({
    // The list is for editors and exports: a wrong word has an error of its own, which knows the nearest.
    on: z
      .array(text().meta({ enum: [...TOPIC_WORDS] }), { error: 'a list of texts' })
      .nullish()
      .describe('Topics or kinds of events (docs/notify.md); [ended] without it.'),
    to: section({
      workflow: section({
        id: text().nullish().describe('Id of the workflow that is told, in the namespace of the job.'),
        signal: text().nullish().describe('The signal it gets, with one argument: the notice (docs/contract.md).'),
      }).nullish(),
      webhook: text().nullish().describe('An https URL to which events are posted, signed.'),
      secret: text().nullish().describe('With webhook: the name of its signing key in the secret store.'),
      slack: section({
        secret: text().nullish().describe("The name of the secret that holds the incoming webhook's URL."),
      }).nullish(),
      mail: texts().nullish().describe('Addresses that get a mail.'),
      channel: text().nullish().describe('A channel that the operator of the worker has defined.'),
    }).nullish(),
  });
  return z.union([rule, z.array(rule)], { error: 'a section {on, to} or a list of such' });
};

/**
 * The form of a job file, with JobMan v2's keys first (docs/facts.md, "Predecessors"). It checks types only; the code that
 * resolves a value checks its meaning. Every key is optional, so that one missing key hides no other problem.
 */
const job = section({
  name: text().nullish().describe("The job's name; ids are made from it."),
  env_type: oneOf(ENVIRONMENT_NAMES).nullish().describe('The environment module, where setup.modules is not given.'),
  remote_user: text().nullish().describe('Login user on the hosts.'),
  loop: flag().nullish().describe('The same as loop.'),
  worker_num: scalarText().nullish().describe("JobMan's own, for the names of its VMs; not used."),
});

const setup = section({
  modules: z
    .array(text(), { error: 'a list of modules' })
    .nullish()
    .describe(
      `What is set up on each host, in this order: ${MODULE_NAMES.join(', ')}, or a name of the section modules.`,
    ),
});

const retries = section({
  preemption: wholeNumber(0, 10_000).nullish(),
  infrastructure: wholeNumber(0, 10_000).nullish(),
  task: wholeNumber(0, 10_000).nullish(),
  requested: wholeNumber(0, 10_000).nullish().describe('Starts that command.restart_on may ask for.'),
});

/** The values of `keep`, or of its key `when`. */
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
  queue: duration()
    .nullish()
    .describe('How long it may wait for its pool and for chips, in all, until it has its slices.'),
  provision: duration()
    .nullish()
    .describe('How long one of several zones is asked before the next is asked too; 10m without it.'),
  setup: duration().nullish().describe('How long its hosts may be set up in one attempt.'),
  device: duration()
    .nullish()
    .describe('How long the command waits for accelerators that another process uses; 1m without it, 0 = no look.'),
  run: duration().nullish().describe('How long the command may run in one attempt.'),
  no_output: z
    .union([duration(), z.literal(false)], { error: 'a duration of 5s or more, such as 30m' })
    .nullish()
    .describe(
      'How long all of its hosts may print nothing, in one attempt; 5s or more. A host that is silent alone for that long is named in status.',
    ),
  unreachable: duration()
    .nullish()
    .describe(
      'How long a host may not answer before its slice is replaced, if nothing else proves it dead; 6h without it.',
    ),
});

const MOST_COST = 1_000_000_000;
const MAX_COST_ERROR = `a number of US dollars, more than 0 and at most ${MOST_COST}`;

const schema = section({
  name: text().nullish().describe('The base of job ids.'),
  project: text().nullish().describe('The quota project.'),
  pool: text().nullish().describe('The quota pool; default without it.'),
  user: text().nullish(),
  priority: wholeNumber(1, 5).nullish().describe('1 is high, 5 is low.'),
  slices: wholeNumber(1, MOST_SLICES).nullish().describe('Slices of the gang.'),
  atomic: flag()
    .nullish()
    .describe('Ask for all slices in one request, which is granted whole or not at all; for slices of 2 or more.'),
  env: textMap().nullish().describe('Environment of the command.'),
  grace: duration().nullish().describe('From SIGTERM to SIGKILL.'),
  retries: retries.nullish().describe('New attempts that each kind of failure may make.'),
  keep: keep.nullish().describe('Whether the slices stay when the command has ended.'),
  loop: flag().nullish().describe('Run the command again whenever it has ended.'),
  timeouts: timeouts.nullish().describe('How long the job may be in a phase.'),
  hooks: hooksForm().nullish().describe('Scripts that run on the hosts at moments of the job.'),
  outputs: outputsForm().nullish().describe("What is stored of the command's files, beside $JOBCTL_OUTPUT_DIR."),
  max_unattended: z
    .union([duration(), z.literal('never')], { error: 'a duration such as 72h, or never' })
    .nullish()
    .describe('How long the command may run with no worker speaking to its host; 72h without it.'),
  max_cost: z
    .number({ error: MAX_COST_ERROR })
    .positive({ error: MAX_COST_ERROR })
    .max(MOST_COST, { error: MAX_COST_ERROR })
    .nullish()
    .describe('US dollars that it may cost before it says that it is over its budget. It goes on.'),
  after: afterForm().nullish().describe('Jobs and groups that must have ended before this one asks for its chips.'),
  inputs: inputsForm()
    .nullish()
    .describe('Stored outputs of other jobs and groups, which every host gets before the command starts.'),
  notify: notifyForm().nullish().describe('Who is told of which events; without it nobody.'),
  job: job.nullish(),
  ...requestForms(),
  build: buildForm().nullish().describe('The image of the job, built at submit from a commit.'),
  setup: setup.nullish(),
  ...moduleForms(),
  command: commandForm().nullish(),
  workspace: workspaceForm()
    .nullish()
    .describe('In place of a command: the slices are for people, and given back when nobody uses them.'),
  array: arrayForm().nullish().describe('Many jobs of one file, one for each combination of parameters.'),
  secrets: textMap().nullish().describe('Variables of the command from the secret store: VARIABLE: NAME.'),
});

/** A function: docs/adr/0012. */
export const jobFileSchema = (): typeof schema => schema;

/** A job file whose form is right. The meaning of its values is not checked yet. */
export type JobFile = z.infer<typeof schema>;

/** The form as JSON Schema (draft 2020-12), for editors and services. */
export function jobFileJsonSchema(): Record<string, unknown> {
  const json = z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown> & {
    properties: Record<string, { anyOf?: { properties?: unknown; required?: string[] }[] }>;
  };
  for (const { name, required } of REQUEST_SECTIONS) {
    const form = json.properties[name]?.anyOf?.find(({ properties }) => properties !== undefined);
    if (form !== undefined) form.required = [...required];
  }
  const [only, ...others] = REQUEST_SECTIONS.map(({ name }) => ({ required: [name] }));
  return {
    ...json,
    patternProperties: { '^x-': {} },
    title: 'jobctl job file',
    ...(others.length === 0 ? only : { oneOf: [only, ...others] }),
  };
}
