import { showValue } from '../../problem.js';

type Hint = (value: unknown) => string;
const shown = (value: unknown): string => showValue(value).replace(/^'(.*)'$/, '$1');
const write =
  (text: (value: string) => string): Hint =>
  (value) =>
    `write ${text(shown(value))}`;

const retries: Hint = (value) => {
  const tries = Number(value);
  return `write retries: {task: ${Number.isInteger(tries) && tries > 0 ? tries - 1 : 'N'}}, which are the tries behind the first; preemptions have a budget of their own`;
};
const environment: Hint = (value) =>
  `write env: ${typeof value === 'object' ? JSON.stringify(value) : '{NAME: value}'}`;

/** Keys of other tools, dotted, and their equivalents. The nearest known words would mislead here. */
const KEYS: Readonly<Record<string, Hint>> = {
  max_tries: retries,
  max_retries: (value) => `write retries: {task: ${shown(value)}}; preemptions have a budget of their own`,
  env_vars: environment,
  envs: environment,
  environment,
  cleanup_command: write((value) => `hooks: {finally: ${JSON.stringify(value)}}`),
  instance_type: write((value) => `tpu: {accelerator: ${value.replace(/^tpu-/, '')}}`),
  accelerator: write((value) => `it below tpu: tpu: {accelerator: ${value}}`),
  num_slices: write((value) => `slices: ${value}`),
  num_replicas: write((value) => `slices: ${value}`),
  num_nodes: () => 'the hosts come with the type of the slice; slices: N is for several slices',
  user_id: write((value) => `user: ${value}`),
  project_id: write((value) => `project: ${value}`),
  bundler_type: () => 'write bundle: {dir: .}, or build: {image: ..}, whose image is built at submit',
  bundler_exclude: write((value) => `bundle: {dir: ., exclude: ${value.startsWith('[') ? value : `[${value}]`}}`),
  workdir: write((value) => `bundle: {dir: ${value}}`),
  run: write((value) => `command: {run: ${JSON.stringify(value)}}`),
  cmd: write((value) => `command: {run: ${JSON.stringify(value)}}`),
  image: write((value) => `docker: {image: ${value}}`),
  spot: () => 'write tpu: {pricing: spot}',
  use_spot: () => 'write tpu: {pricing: spot}',
  queue: () => 'jobctl has no list of tasks: each task is a job, and its pool queues them by quota',
  'job.environment': environment,
  depends_on: write((value) => `after: ${value}`),
  dependsOn: write((value) => `after: ${value}`),
  dependencies: write((value) => `after: ${value}`),
  dependency: write((value) => `after: ${value}`),
  needs: write((value) => `after: ${value}`),
  resumable: () =>
    'a fork of JobMan has it: its env is env, its prepare.command script: {run: ..}, and outputs: {paths: [..], restore: true} brings checkpoints back',
  worker_num: () => 'jobctl has no list of tasks: each task is a job, and its pool queues them by quota',
  brevo_email: () => 'write notify: {to: {mail: [ADDRESS]}}, which sends a mail at the end (docs/notify.md)',
};

/** Hint for a key of another tool, or undefined for any other key. @param path the key's path from the top */
export function foreignKeyHint(path: readonly (string | number)[], value: unknown): string | undefined {
  const key = path.join('.');
  return Object.hasOwn(KEYS, key) ? KEYS[key]?.(value) : undefined;
}
