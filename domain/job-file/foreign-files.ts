import { shellQuote } from '../shell-quote.js';
import { manifestLines } from './kubernetes-manifest.js';
import { isMapping, type Mapping } from './plain-tree.js';

/** A file of another kind, given as a job file. */
export interface ForeignFile {
  /** Such as `a Python program`. */
  readonly what: string;
  /** Lines for the user: the equivalent in jobctl. */
  readonly instead: readonly string[];
}

const TYPE = 'v5litepod-16';
const INIT = '`jobctl init` writes a job file for the folder that it is run in';
const inJobFile = (lines: readonly string[]): readonly string[] => [
  'in a job file it is:',
  ...lines.map((line) => `  ${line}`),
];

/** Recognizes a text that is neither YAML nor lines of key: value. @param file its name */
export function foreignText(text: string, file: string): ForeignFile | undefined {
  const submit = (...words: readonly string[]): string =>
    `jobctl submit --tpu ${TYPE} --bundle . -- ${words.join(' ')}`;
  if (/^#(SBATCH|PBS|\$) /m.test(text))
    return { what: 'a batch script of Slurm', instead: slurmLines(text, submit('bash', shellQuote(file))) };
  if (
    file.endsWith('.py') ||
    /^(from [\w.]+ )?import [\w.]+( as \w+)?(, [\w.]+)*\s*$/m.test(text) ||
    /^#!.*python/.test(text)
  )
    return { what: 'a Python program', instead: [`without a job file: ${submit('python3', shellQuote(file))}`, INIT] };
  if (file.endsWith('.sh') || /^#!.*sh\b/.test(text))
    return { what: 'a shell script', instead: [`without a job file: ${submit('bash', shellQuote(file))}`, INIT] };
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

function slurmLines(text: string, submit: string): readonly string[] {
  const directive = (long: string, short?: string): string | undefined =>
    new RegExp(String.raw`^#SBATCH\s+(?:--${long}[= ]${short === undefined ? '' : `|-${short}\\s*`})(\S+)`, 'm').exec(
      text,
    )?.[1];
  const [name, time, nodes] = [directive('job-name', 'J'), directive('time', 't'), directive('nodes', 'N')];
  return [
    `${/^[ \t]*srun /m.test(text) ? 'without srun the script runs' : 'the script runs as it is'}: ${submit}`,
    ...(name === undefined ? [] : [`--job-name=${name} is --name ${name}`]),
    ...(time === undefined ? [] : [`--time=${time} is timeouts: {run: ..}, such as 90m`]),
    ...(nodes === undefined
      ? []
      : [`--nodes=${nodes} comes with the type of slice: ${TYPE} has 4 hosts, and the command runs on each`]),
    INIT,
  ];
}

/** Recognizes lines of key: value that belong to another tool. @param file its name */
export function foreignTree(tree: unknown, file: string): ForeignFile | undefined {
  if (!isMapping(tree) || Object.hasOwn(tree, 'tpu')) return undefined;
  const has = (...keys: readonly string[]): boolean => keys.every((key) => Object.hasOwn(tree, key));
  if (has('apiVersion', 'kind'))
    return { what: `a manifest of Kubernetes (${String(tree['kind'])})`, instead: inJobFile(manifestLines(tree)) };
  if (has('command', 'metadata') && typeof tree['command'] === 'string')
    return {
      what: "a job spec of AXLearn's Bastion",
      instead: [
        `jobctl import bastion-jobspec ${shellQuote(file)} -o job.yaml`,
        'docs/migrating.md says what becomes of each key',
      ],
    };
  if (isMapping(tree['services']))
    return {
      what: 'a file of Docker Compose',
      instead: ['a job file runs one command: docker: {image: ..} and command: {run: ..}', INIT],
    };
  if (has('type') && (has('commands') || has('resources')))
    return { what: 'a configuration of dstack', instead: skyLines(tree) };
  if (typeof tree['run'] === 'string' || has('resources') || has('num_nodes'))
    return { what: 'a task of SkyPilot', instead: skyLines(tree) };
  return undefined;
}

const inLine = (value: unknown): string => JSON.stringify(value);
/** Joins a list of lines into one shell text. */
const runOf = (value: unknown): string =>
  `command: {run: ${inLine(Array.isArray(value) ? value.join('\n') : String(value).trim())}}`;

const SKY_KEYS: Readonly<Record<string, (value: unknown) => string>> = {
  name: (value) => `name: ${inLine(value)}`,
  resources: (value) => tpuLine(isMapping(value) ? value : {}),
  workdir: (value) => `bundle: {dir: ${inLine(value)}}`,
  envs: (value) => `env: ${inLine(value)}`,
  env: (value) => `env: ${inLine(value)}`,
  secrets: () => 'secrets: {NAME: SECRET}, after jobctl secret put SECRET',
  file_mounts: () => 'gcsfuse: {bucket_name: .., mount_path: ..} for a bucket, files: [{from: .., to: ..}] for files',
  setup: (value) => `venv: {name: .., requirements_file: ..}, or as it is: script: ${inLine(String(value).trim())}`,
  num_nodes: (value) => `slices: ${inLine(value)}, if it means slices; the hosts of a slice come with its type`,
  commands: runOf,
  run: runOf,
};

const skyLines = (tree: Mapping): readonly string[] =>
  inJobFile(Object.entries({ resources: {}, ...tree }).flatMap(([key, value]) => SKY_KEYS[key]?.(value) ?? []));

function tpuLine(resources: Mapping): string {
  const { accelerators, use_spot: isSpot, zone } = resources;
  const named = isMapping(accelerators)
    ? Object.keys(accelerators)[0]
    : typeof accelerators === 'string'
      ? accelerators
      : undefined;
  const type = named?.replace(/^tpu-/, '').replace(/:\d+$/, '');
  const isTpu = type !== undefined && /^v\d/.test(type);
  return `tpu: {accelerator: ${isTpu ? type : TYPE}, zone: ${typeof zone === 'string' ? zone : '..'}${isSpot === true ? ', pricing: spot' : ''}}`;
}
