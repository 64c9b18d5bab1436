/** Flags of `jobctl launch`, and of Astera's `launch submit`, that `jobctl submit` does not have. */
const ASTERA_FLAG_NAMES: readonly string[] = ['--execution', '--workers', '--gpus', '--name-prefix'];

/** First words of other tools' command lines. None of them is a verb of jobctl. */
const FIRST_WORDS: ReadonlySet<string> = new Set([
  ...['create', 'start', 'reboot', 'run', 'clean', 'gcsfuse', 'docker', 'conda', 'venv', 'tpu', 'billing', 'storage'],
  ...['availability', 'analytics', 'jobman', 'axlearn', 'gcp', 'bastion', 'history', 'sshvm', 'bundle'],
  ...[
    'sky',
    'sacct',
    'up',
    'cost',
    'info',
    'sbatch',
    'srun',
    'squeue',
    'scancel',
    'sinfo',
    'apply',
    'down',
    'rm',
    'kill',
    'attach',
    'shell',
    'events',
    'rerun',
    'resubmit',
  ],
]);

/** Returns whether a command line is in another tool's form. It must be cheap, because every command line is checked. */
export function isForeign([first = '', ...rest]: readonly string[]): boolean {
  if (FIRST_WORDS.has(first)) return !rest.includes('--help') && !rest.includes('-h');
  const has = (names: readonly string[]): boolean =>
    rest.some((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
  switch (first) {
    case 'submit':
      // With a job file the line is jobctl's, and the flag is a mistake.
      return has(ASTERA_FLAG_NAMES) && !rest.some((word) => /\.ya?ml$/.test(word));
    case 'launch':
      return !rest.includes('--help') && !rest.includes('-h') && isLaunchOfOthers(rest);
    case 'ssh':
      return has(['--i']);
    case 'logs':
      return has(['--replica', '--worker']);
    case 'queue':
      return rest.some((word) => !word.startsWith('-'));
    default:
      return false;
  }
}

/** Returns whether a line is Bastion's: its flags are written with `_`, those of `jobctl launch` with `-`. */
export const isOfBastion = (words: readonly string[]): boolean =>
  BASTION_ACTIONS.has(words[0] ?? '') ||
  words.some((word) => /^--?[a-z]+_[a-z_]+(=|$)/.test(word) || /^--bastion(=|$)/.test(word));

const BASTION_ACTIONS: ReadonlySet<string> = new Set(['start', 'run', 'update', 'stop', 'list']);

/** Returns whether the words after `launch` are another tool's: `launch list`, `launch job.yaml`, or a line of Bastion. */
const isLaunchOfOthers = (rest: readonly string[]): boolean =>
  isOfBastion(rest) || rest[0] === 'logs' || rest.some((word) => /\.ya?ml$/.test(word) && !word.startsWith('-'));
