import { isMap, isScalar, parseDocument, type Document, visit } from 'yaml';
import { jobNameFrom } from '../../../domain/identity.js';
import { backslashStays, replaceBackslashed, replaceDotted } from '../../../domain/job-file/interpolation.js';
import { parseJobFile } from '../../../domain/job-file/parse.js';
import { valueAt } from '../../../domain/job-file/plain-tree.js';
import { formatPath, formatProblems, type Path, type Problem, showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { Told, KeyRule } from './draft.js';

interface ImportedFile {
  readonly text: string;
  readonly told: readonly Told[];
}

/**
 * Converts a JobMan file to jobctl's names. Comments and the order of keys stay.
 * @throws CliError for problems of the file itself
 */
export function importJobman(text: string, file: string): ImportedFile {
  const document = parseDocument(text, { merge: true, logLevel: 'error' });
  const told: Told[] = [];
  const resolvedAsItIs = parseJobFile(text, { file, env: process.env });
  const problems = resolvedAsItIs.ok ? [] : resolvedAsItIs.problems;
  // A key that jobctl does not know is reported as lost. Any other problem is shown at its place in the user's file.
  const isLeftOut = ({ at, path }: Problem): boolean =>
    (at === 'key' && document.hasIn(path)) || JOBMAN_UNUSED.some(({ key }) => key === formatPath(path));
  const wrong = problems.filter((problem) => !isLeftOut(problem));
  if (wrong.length > 0) throw new CliError(ExitCode.Usage, formatProblems(wrong));
  if (document.errors.length === 0 && isMap(document.contents)) {
    const before: unknown = document.toJS();
    for (const { key, to = '', note } of JOBMAN_RENAMED) {
      if (!move(document, key.split('.'), to.split('.'))) continue;
      told.push({ key, fate: 'changed', text: note === undefined ? to : `${to}: ${note}` });
    }
    fitName(document);
    if (document.hasIn(['command', 'run']) && !document.hasIn(['command', 'shell'])) {
      document.setIn(['command', 'shell'], 'plain');
      told.push({ key: 'command', fate: 'changed', text: KEEPS_SHELL });
    }
    told.push(...withoutUnused(document), ...withoutUnknown(document, file), ...fitReferences(document, before));
  }
  const written = document.errors.length === 0 ? document.toString({ lineWidth: 0 }) : text;
  const resolved = parseJobFile(written, { file, env: process.env });
  if (!resolved.ok) throw new CliError(ExitCode.Usage, formatProblems(resolved.problems));
  const warnings = resolved.warnings.map((warning): Told => ({ key: '(as it runs)', fate: 'changed', text: warning }));
  return { text: written, told: [...told, ...warnings] };
}

/** Moves a value to its new name. Within one section, it keeps its place. @returns false if there is nothing to move */
function move(document: Document, from: Path, to: Path): boolean {
  if (!document.hasIn(from) || document.hasIn(to)) return false;
  const value = document.getIn(from, true);
  const section = document.getIn(from.slice(0, -1), true);
  const isSameSection = formatPath(from.slice(0, -1)) === formatPath(to.slice(0, -1));
  if (isSameSection && isMap(section)) {
    const pair = section.items.find(({ key }) => isScalar(key) && key.value === from.at(-1));
    if (pair !== undefined && isScalar(pair.key)) pair.key.value = to.at(-1);
    return true;
  }
  document.deleteIn(from);
  document.setIn(to, value);
  if (isMap(section) && section.items.length === 0) document.deleteIn(from.slice(0, -1));
  return true;
}

const KEEPS_SHELL =
  'command.shell: plain keeps the shell of JobMan, in which a pipe has the exit code of its last program alone';

function fitName(document: Document): void {
  const name: unknown = document.get('name');
  if (typeof name === 'string' && !name.includes('${')) document.set('name', jobNameFrom(name));
}

/** Removes keys that jobctl accepts in a JobMan file and does not use. @returns a report on each */
function withoutUnused(document: Document): readonly Told[] {
  return JOBMAN_UNUSED.flatMap(({ key, note = '' }) => {
    const path = key.split('.');
    if (!document.hasIn(path)) return [];
    const told: Told = { key: `${key}: ${showValue(document.getIn(path))}`, fate: 'lost', text: note };
    document.deleteIn(path);
    return [told];
  });
}

/** Removes keys that jobctl does not know. @returns a report on each */
function withoutUnknown(document: Document, file: string): readonly Told[] {
  const resolved = parseJobFile(document.toString({ lineWidth: 0 }), { file, env: process.env });
  const unknown = resolved.ok ? [] : resolved.problems.filter(({ at, path }) => at === 'key' && document.hasIn(path));
  return unknown.map((problem) => {
    document.deleteIn(problem.path);
    return { key: `${formatPath(problem.path)}: ${showValue(problem.value)}`, fate: 'lost', text: reason(problem) };
  });
}

/** Corrects references to keys that were renamed or removed. @param before the tree of the user's file */
function fitReferences(document: Document, before: unknown): readonly Told[] {
  const told = new Map<string, Told>();
  const fit = (text: string, depth = 0): string =>
    replaceDotted(text, (path, reference) => {
      const value = valueAt(before, path);
      if (document.hasIn(path) || value === undefined || typeof value === 'object' || depth > MOST_LEVELS)
        return reference;
      const to = JOBMAN_RENAMED.find(({ key }) => key === path.join('.'))?.to;
      // A reference cannot name a key without a section, such as `name`.
      const isNamed = to?.includes('.') === true && document.getIn(to.split('.')) === value;
      const instead = isNamed ? `\${${to}}` : fit(String(value), depth + 1);
      told.set(reference, {
        key: reference,
        fate: 'changed',
        text: `${instead}, for the key is not in the file any more`,
      });
      return instead;
    });
  // With one of these sections, the new file itself causes the warning.
  const isToBeTold = !document.hasIn(['job']) && !document.hasIn(['ssh']);
  const tellBackslash = (written: string, literal: string): string => {
    if (isToBeTold) told.set(written, { key: written, fate: 'changed', text: backslashStays(written, literal) });
    return written;
  };
  visit(document, {
    Scalar: (key, scalar) => {
      if (key !== 'key' && typeof scalar.value === 'string')
        scalar.value = replaceBackslashed(fit(scalar.value), tellBackslash);
    },
  });
  return [...told.values()];
}

const MOST_LEVELS = 10;

const reason = ({ path, message }: Problem): string =>
  JOBMAN_LOST.find(({ key }) => key === formatPath(path))?.note ?? `jobctl: ${message}`;

/**
 * Keys of a JobMan file that have another name in jobctl. Files run with either name; `jobctl import jobman` writes jobctl's. All
 * other keys that jobctl knows keep their names.
 */
export const JOBMAN_RENAMED: readonly KeyRule[] = [
  { key: 'job.name', to: 'name', note: 'ids of jobs are made from it, in small letters, digits and dashes' },
  { key: 'job.loop', to: 'loop', note: 'jobctl waits before it runs the command again' },
  { key: 'command.cmd', to: 'command.run' },
  { key: 'conda.env_name', to: 'conda.name' },
  { key: 'conda.yaml_file', to: 'conda.config_file' },
  { key: 'docker.work_dir', to: 'docker.workdir' },
];

const QUEUE =
  'jobctl has no list of tasks: each task is a job, and its pool queues them by quota (priority, retries.task)';
const MAIL = '`notify: {to: {mail: [ADDRESS]}}` sends a mail at the end, if the installation has a mail server';

/** Keys of JobMan's last version that jobctl does not have. */
export const JOBMAN_LOST: readonly KeyRule[] = [
  { key: 'queue', note: QUEUE },
  { key: 'worker_num', note: QUEUE },
  { key: 'job.environment', note: 'variables of a command go into `env`' },
  { key: 'job.brevo_email', note: MAIL },
  { key: 'brevo_email', note: MAIL },
];

/** Keys that JobMan writes or reads for itself. jobctl accepts them without effect. */
export const JOBMAN_UNUSED: readonly KeyRule[] = [
  { key: 'job.worker_num', note: "JobMan's own, for the names of its VMs: slices are named by their job" },
  { key: 'tpu.num_workers', note: "JobMan's own: a slice has the hosts of its type" },
];

/** Keys that jobctl accepts with another effect. */
export const JOBMAN_DIFFERENT: readonly KeyRule[] = [
  {
    key: 'tpu.name',
    to: 'tpu.name',
    note: 'it is a prefix: each slice has the job and a generation behind it, so two jobs never collide; a VM of this name that runs already is left alone, where JobMan took it',
  },
  {
    key: 'command.cmd',
    to: 'command.shell',
    note: 'plain, as in JobMan: a pipe has the exit code of its last program; `shell: bash` counts all of them',
  },
  {
    key: 'tpu.flags',
    to: 'tpu.*',
    note: 'flags of gcloud that have a key are read; any other, and one that contradicts a key, is refused by name',
  },
  {
    key: 'job.env_type',
    to: 'job.env_type',
    note: 'without a section of that name there is no environment, as in JobMan, with a warning',
  },
  {
    key: 'ssh.private_key',
    to: 'ssh.private_key',
    note: "a team's worker reads no files of yours: `jobctl secret put NAME --from-file KEY`, then secret:NAME",
  },
  { key: 'conda.config_file', to: 'conda.config_file', note: 'looked up beside the file, then in the current folder' },
  {
    key: 'venv.requirements_file',
    to: 'venv.requirements_file',
    note: 'looked up beside the file, then in the current folder',
  },
  {
    key: '(the end of the command)',
    to: 'keep',
    note: 'the slice is deleted; JobMan kept it until delete. `keep: {when: always, for: 8h}` keeps it',
  },
];

/** Variables that JobMan set for a task. */
export const JOBMAN_VARIABLES: readonly KeyRule[] = [
  { key: 'JOBMAN_TPU_NAME', to: '$JOBCTL_NODE_NAME', note: '${tpu.name} in command.run is the same for the whole job' },
  { key: 'JOBMAN_ZONE', to: '${tpu.zone}', note: 'in command.run; with several zones read $JOBCTL_NODE_NAME' },
  { key: 'JOBMAN_NUM_WORKERS', to: '$JOBCTL_NUM_HOSTS' },
];
