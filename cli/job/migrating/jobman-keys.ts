import type { KeyRule } from './draft.js';

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
