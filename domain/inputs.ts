import { z } from 'zod';
import type { AfterSpec } from './after.js';
import { idsAfter, MOST_AFTER } from './after.js';
import { isValidJobId, JOB_ID_RULE } from './identity.js';
import { flag, given, oneOf, section, text } from './job-file/fields.js';
import { isMapping, type Mapping } from './job-file/plain-tree.js';
import type { Report } from './job-file/report.js';
import { nameProblem } from './outside-text.js';
import type { OutputEntry } from './stored-outputs.js';

/** Stored outputs of a job or a group that a job gets on its hosts before its command starts (docs/adr/0173). */
export interface InputSpec {
  /** Id of a job or group. */
  readonly job: string;
  /** A file or folder of its outputs, relative and without `..`. Absent: all. */
  readonly path?: string;
  /** The files of each host, in `host-N/`. Absent: those of the first host that stored any, as `download` has them. */
  readonly isOfAllHosts?: true;
  /** The job does not wait for it: it must have ended, and Temporal need not know it any more. */
  readonly isThere?: true;
}

/** The inputs of a job, by name. */
export type InputsSpec = Readonly<Record<string, InputSpec>>;

/** Most inputs of one job. */
const MOST_INPUTS = 20;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/;

/** The variable of the command that has the folder of an input: `JOBCTL_INPUT_DATA`. */
export const inputVariable = (name: string): string => `JOBCTL_INPUT_${name.toUpperCase().replaceAll('-', '_')}`;

/** The folder on a host that has all inputs of a job. */
export const inputsFolder = (job: string): string => `~/.jobctl/inputs/${job}`;

const inputForm = () =>
  z.union(
    [
      text(),
      section({
        job: text().nullish().describe('Id of a job or group, whose stored outputs these are.'),
        path: text().nullish().describe('A file or folder of its outputs; all without it.'),
        hosts: oneOf(['first', 'all'])
          .nullish()
          .describe('Files of the first host that stored any, or of each host in host-N/; first without it.'),
        wait: flag().nullish().describe('false: it has ended already, and is not waited for.'),
      }),
    ],
    { error: 'the id of a job or group, or a section {job, path, hosts, wait}' },
  );

export const inputsForm = () => z.record(z.string(), inputForm(), { error: 'a section of NAME: job or group' });

type InputsSection = z.infer<ReturnType<typeof inputsForm>>;

/** @returns undefined for a job without inputs */
export function resolveInputs(value: InputsSection | null | undefined, report: Report): InputsSpec | undefined {
  const entries = Object.entries(given(value) ?? {});
  if (entries.length === 0) return undefined;
  if (entries.length > MOST_INPUTS)
    report.problem(
      ['inputs'],
      undefined,
      `has ${entries.length} inputs`,
      `${MOST_INPUTS} are the most; a group is one input`,
    );
  const variables = new Map<string, string>();
  return Object.fromEntries(
    entries.map(([name, written]) => {
      const variable = inputVariable(name);
      const other = variables.get(variable);
      if (!NAME.test(name))
        report.wrong(['inputs', name], name, 'no name of an input', "a letter, then letters, digits, '_' and '-'");
      else if (other !== undefined)
        report.problem(
          ['inputs', name],
          name,
          `has the variable ${variable}, as ${other} does`,
          'give one of them another name',
        );
      variables.set(variable, name);
      return [name, resolveInput(name, written, report)] as const;
    }),
  );
}

function resolveInput(name: string, written: InputsSection[string], report: Report): InputSpec {
  const { path, hosts, wait, ...rest } = typeof written === 'string' ? { job: written } : written;
  const at = typeof written === 'string' ? ['inputs', name] : ['inputs', name, 'job'];
  const job = rest.job ?? '';
  if (job === '') report.missing(at, 'name the job or group whose outputs these are');
  else if (!isValidJobId(job))
    report.wrong(at, job, 'the id of no job or group', `${JOB_ID_RULE}; all members of an array have the same inputs`);
  const clean = withoutEnds(given(path));

  if (clean !== undefined && nameProblem(clean) !== undefined)
    report.wrong(
      ['inputs', name, 'path'],
      path,
      'a path inside of the outputs',
      "relative, without '..', such as tokens/train; `jobctl outputs JOB` lists the paths",
    );
  return {
    job,
    ...(clean !== undefined && { path: clean }),
    ...(hosts === 'all' && { isOfAllHosts: true as const }),
    ...(wait === false && { isThere: true as const }),
  };
}

/** A path as people write it, without `./` before it and a slash behind it. */
function withoutEnds(path: string | undefined): string | undefined {
  const relative = path?.startsWith('./') === true ? path.slice(2) : path;
  return relative?.endsWith('/') === true ? relative.slice(0, -1) : relative;
}

/** The conditions of a job, with those that follow from its inputs: each job that it does not name yet has to succeed. */
export function withInputs(
  after: AfterSpec | undefined,
  inputs: InputsSpec | undefined,
  report: Report,
): AfterSpec | undefined {
  const named = new Set(idsAfter(after ?? {}));
  const implied = Object.values(inputs ?? {}).flatMap(({ job, isThere }) =>
    isThere === true || named.has(job) ? [] : [job],
  );
  if (implied.length === 0) return after;
  const ok = [...new Set([...(after?.ok ?? []), ...implied])];
  if (named.size + implied.length > MOST_AFTER)
    report.problem(['inputs'], undefined, `with \`after\` names more than ${MOST_AFTER} jobs`, 'an array is one group');
  return { ...after, ok };
}

/** Ids of all inputs, as a job file has them. */
export const idsOfInputs = (inputs: InputsSpec | undefined): readonly string[] => [
  ...new Set(Object.values(inputs ?? {}).map(({ job }) => job)),
];

/** The section `inputs` of a job file with each job changed. Other values stay as they are. */
export function mapInputs(raw: unknown, change: (input: Mapping) => Mapping): unknown {
  if (!isMapping(raw)) return raw;
  return Object.fromEntries(
    Object.entries(raw).map(([name, input]) => {
      if (typeof input === 'string') return [name, change({ job: input })];
      return [name, isMapping(input) ? change(input) : input];
    }),
  );
}

/** Source of files of an input: the outputs of one host of an attempt of a job. */
export interface InputSource {
  readonly job: string;
  readonly attempt: number;
  readonly host: number;
  /** Folder in that of the input: `''`, or `3/`, `host-1/`, `3/host-1/`. */
  readonly folder: string;
}

/** One input as it was found, before the job asked for chips. */
export interface FoundInput extends InputSpec {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  readonly sources: readonly InputSource[];
}

/**
 * The entries of a manifest that an input takes, as they lie in its folder: a folder's files below it, a file by its name. A
 * link that would lead out of the input is left out.
 * @param entries with one character for each byte of a name
 */
export function entriesAt(entries: readonly OutputEntry[], written: string | undefined): readonly OutputEntry[] {
  const path = written === undefined ? undefined : inBytes(written);
  const folder = path === undefined ? '' : `${path}/`;
  return entries.flatMap((entry): readonly OutputEntry[] => {
    const { isInOutputDir: _, ...bare } = entry;
    if (entry.path === path)
      return entry.kind === 'file' ? [{ ...(bare as typeof entry), path: path.slice(path.lastIndexOf('/') + 1) }] : [];
    if (!entry.path.startsWith(folder)) return [];
    const own = { ...bare, path: entry.path.slice(folder.length) } as OutputEntry;
    return own.kind === 'link' && leadsOut(own.path, own.target) ? [] : [own];
  });
}

/** One character for each byte, as names of manifests for hosts have. */
function inBytes(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/** A manifest's links go up first, and then to names (`readManifest`). */
function leadsOut(path: string, target: string): boolean {
  const ups = target.split('/').filter((part) => part === '..').length;
  return ups > path.split('/').length - 1;
}
