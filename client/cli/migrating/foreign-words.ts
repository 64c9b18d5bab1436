import { ASTERA_FLAG_NAMES } from './flag-names.js';

/** First words of command lines that belong to another tool. They are no verbs of jobctl. */
const FIRST_WORDS: ReadonlySet<string> = new Set([
  ...['create', 'start', 'reboot', 'run', 'clean', 'gcsfuse', 'docker', 'conda', 'venv', 'tpu', 'billing', 'storage'],
  ...['availability', 'analytics', 'jobman', 'axlearn', 'gcp', 'launch', 'bastion', 'history', 'sshvm', 'bundle'],
  ...[
    'sky',
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
  ],
]);

/** Whether a command line is written as another tool wants it; cheap, since every command line is asked. */
export function isForeign([first = '', ...rest]: readonly string[]): boolean {
  if (FIRST_WORDS.has(first)) return !rest.includes('--help') && !rest.includes('-h');
  const has = (names: readonly string[]): boolean =>
    rest.some((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
  switch (first) {
    case 'submit':
      return has(ASTERA_FLAG_NAMES);
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
