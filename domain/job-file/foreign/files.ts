import { shellQuote, shellWords } from '../../shell-quote.js';
import { jobNameFrom } from '../../identity.js';
import { isMapping, type Mapping } from '../plain-tree.js';
import { batchScript, interpreterOf, isPython, isShell, lackOf } from './batch-script.js';
import { dstackLines } from './dstack.js';
import { launchScript } from './launch-script.js';
import { hasPods, manifestLines } from './manifest.js';
import { RAY } from './ray.js';
import { skypilotLines } from './skypilot.js';
import { shownOf } from './translation.js';

/** A file of another kind that was given as a job file. */
export interface ForeignFile {
  /** Such as `a Python program`. */
  readonly what: string;
  /** Lines that its user writes instead. */
  readonly instead: readonly string[];
}

const TYPE = 'v5litepod-16';
const INIT = '`jobctl init` writes a job file for the folder that it is run in';

/** Recognizes a text that is neither YAML nor lines of key: value. @param file its name */
export function foreignText(text: string, file: string): ForeignFile | undefined {
  const submit = (...words: readonly string[]): string =>
    `without a job file: jobctl submit --tpu ${TYPE} --bundle . -- ${words.join(' ')}`;
  const batch = batchScript(text, file);
  if (batch !== undefined) return { what: batch.what, instead: [...batch.instead, INIT] };
  const program = interpreterOf(text);
  if (file.endsWith('.py') || isPython(program)) return python(submit(shellWords([...(program ?? ['python3']), file])));
  const run = [submit(shellWords([...(program ?? ['bash']), file])), ...lackOf(program ?? ['bash'])];
  if (program !== undefined && !isShell(program))
    return { what: `a program for ${program[0]}`, instead: [...run, INIT] };
  if (/\.(sh|bash|zsh|sbatch|slurm)$/.test(file) || isShell(program)) {
    const launch = launchScript(text);
    const once = 'the script itself is not for hosts: each of them would run it';
    if (launch !== undefined) return { what: `a shell script that ${launch.does}`, instead: [...launch.lines, once] };
    const unmarked = batchScript(text, file, true);
    if (unmarked !== undefined) return { what: unmarked.what, instead: [...unmarked.instead, INIT] };
    return { what: 'a shell script', instead: [...run, INIT] };
  }
  if (/^(from [\w.]+ )?import [\w.]+( as \w+)?(, [\w.]+)*\s*$/m.test(text))
    return python(submit('python3', shellQuote(file)));
  if (file.endsWith('.ipynb'))
    return { what: 'a notebook', instead: ['make a program of it: jupyter nbconvert --to script', INIT] };
  if (/(^|\/)Dockerfile$/.test(file) || /^FROM \S+( AS \w+)?\s*$/im.test(text))
    return {
      what: 'a Dockerfile',
      instead: ['a job file has it built, by a section build: {image: ghcr.io/team/train}', INIT],
    };
  if (/^[ \t]*\[\[?[\w."-]+\]\]?[ \t]*(#.*)?$/m.test(text) || file.endsWith('.toml'))
    return {
      what: 'TOML',
      instead: [
        `a pool or quota file is checked by: jobctl validate ${shellQuote(file)} --kind quota (or pool)`,
        'a job file is YAML',
      ],
    };
  return undefined;
}

const python = (submit: string): ForeignFile => ({ what: 'a Python program', instead: [submit, INIT] });

/** Recognizes the documents of a YAML file that has several. @param file its name */
export function foreignDocuments(documents: readonly unknown[], file: string): ForeignFile | undefined {
  const trees = documents.filter(isMapping);
  const manifests = trees.filter(isManifest);
  if (manifests.length > 0 && manifests.length === trees.length) {
    const [main, ...others] = manifests.filter(hasPods);
    if (main !== undefined && others.length === 0)
      return {
        what: kindOf(main),
        instead: manifestLines(
          main,
          manifests.filter((one) => one !== main),
        ),
      };
    return { what: `${manifests.length} manifests of Kubernetes`, instead: [ONE_JOB] };
  }
  const [first, ...more] = trees.flatMap((tree) => foreignTree(tree, file) ?? []);
  return first !== undefined && more.length > 0
    ? { what: `${more.length + 1} files in one, the first ${first.what}`, instead: [ONE_JOB] }
    : first;
}

const ONE_JOB =
  'each is a job: put each into a file of its own, of which `jobctl validate FILE` says what to write (one file with `---` between them is several jobs)';
const isManifest = (tree: Mapping): boolean => hasKeys(tree, 'apiVersion', 'kind');
const hasKeys = (tree: Mapping, ...keys: readonly string[]): boolean => keys.every((key) => Object.hasOwn(tree, key));
const kindOf = (manifest: Mapping): string => `a manifest of Kubernetes (${shownOf(manifest['kind'])})`;

/** Recognizes lines of key: value that belong to another tool. @param file its name */
export function foreignTree(tree: unknown, file: string): ForeignFile | undefined {
  if (!isMapping(tree) || Object.hasOwn(tree, 'tpu')) return undefined;
  if (isManifest(tree)) return { what: kindOf(tree), instead: manifestLines(tree) };
  if (hasKeys(tree, 'command', 'metadata') && typeof tree['command'] === 'string')
    return {
      what: "a job spec of AXLearn's Bastion",
      instead: [
        `jobctl import bastion-jobspec ${shellQuote(file)} -o job.yaml`,
        'docs/migrating.md says what becomes of each key',
      ],
    };
  if (isMapping(tree['services'])) return { what: 'a file of Docker Compose', instead: [ONE_COMMAND, INIT] };
  for (const [key, what] of Object.entries(WITH_IMAGE))
    if (Array.isArray(tree[key])) return { what, instead: [ONE_COMMAND, INIT] };
  const tasks = Array.isArray(tree['tasks']) && tree['tasks'].every(isTask) ? (tree['tasks'] as readonly Task[]) : [];
  if (tasks[0] !== undefined) return { what: 'a list of tasks of JobMan', instead: taskLines(tasks[0], tasks.length) };
  if (hasKeys(tree, 'cluster_name', 'provider')) return { what: "a file of Ray's cluster launcher", instead: RAY };
  if (isDstack(tree)) return { what: 'a configuration of dstack', instead: dstackLines(tree) };
  if (typeof tree['run'] === 'string' || hasKeys(tree, 'resources') || hasKeys(tree, 'num_nodes'))
    return { what: 'a task of SkyPilot', instead: skypilotLines(tree) };
  return undefined;
}

const ONE_COMMAND =
  'a job file runs one command: docker: {image: ..} or kubernetes: {image: ..}, and command: {run: ..}';
const WITH_IMAGE = { taskGroups: 'a job of Google Batch', workerPoolSpecs: 'a custom job of Vertex AI' };

const DSTACK = ['task', 'service', 'dev-environment', 'fleet', 'volume', 'gateway'];
const isDstack = (tree: Mapping): boolean => typeof tree['type'] === 'string' && DSTACK.includes(tree['type']);

interface Task {
  readonly id: string;
  readonly run: string;
}
const isTask = (task: unknown): boolean =>
  isMapping(task) && typeof task['id'] === 'string' && typeof task['run'] === 'string';

/** The third version of JobMan has workers that take tasks from a list. */
function taskLines({ id, run }: Task, all: number): readonly string[] {
  return [
    `jobctl has no list of tasks: each of the ${all} is a job, and its pool queues them`,
    `the first: jobctl submit ${shellWords(['--tpu', TYPE, '--name', jobNameFrom(id), '--bundle', '.', '--', run])}`,
  ];
}
