import { MOST_HOSTS } from '../../domain/slice.js';
import { parseForwardedPorts, parseHostChoice, JOB } from '../jobs/job-filter.js';
import { type Flag, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';

const ONE_HOST: Flag = ['--host <number>', 'the host, counted from 0', wholeNumber(0, MOST_HOSTS), 0];
const HOSTS: Flag = ['--host <hosts>', 'these hosts: 2, 0,2-3 or all', parseHostChoice, 'all'];

/** For verbs that name hosts for OpenSSH. */
export const SSH_CONFIG: Flag = ['--ssh-config', 'add the line to ~/.ssh/config by which OpenSSH finds the names'];

/** The flags of `RouteFlags`. */
export const ROUTE_FLAGS: readonly Flag[] = [
  'How hosts are reached:',
  [
    '--identity <file>',
    "the private key (default: the one that the job's file names, else the job's own, made from the installation's secret or given by the server)",
  ],
  ['--login <user>', "the user of that key on the hosts, if they let in a key of yours beside the job's"],
  ['--ssh-port <port>', 'JOBCTL_SSH_PORT: the SSH port (default: 22)', wholeNumber(1, 65_535)],
  ['--internal-ip', 'JOBCTL_SSH_ADDRESS=internal: use the address inside the network'],
  ['--proxy-command <line>', 'JOBCTL_SSH_PROXY_COMMAND: a command that connects; %h, %p and %r are replaced'],
  ['--secret-store <place>', "JOBCTL_SECRET_STORE: where the job's key is, if it is a secret"],
];

/** Verbs that log in to a job's hosts. */
export const HOST_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'ssh',
    summary: 'log in to a host of a job',
    description: 'Logs in to one host of an open job.',
    usage: 'JOB [options] [-- SSH OPTIONS]',
    place: 'either',
    takesWords: true,
    arguments: [JOB],
    flags: [
      ONE_HOST,
      ['--stdio', "join stdin and stdout with the host's SSH port, for a ProxyCommand"],
      ...ROUTE_FLAGS,
    ],
    notes: `
It runs the OpenSSH client of this computer with the key that the hosts accept, and trusts only the host key that a worker recorded. Words
after \`--\` go to that client: options, or a command. Its exit code is passed on; 255 means that the connection failed.
A host that is a pod is reached by exec, as your kubeconfig allows: a shell, or the command after \`--\`.
`,
    examples: [
      'jobctl ssh train-7f3k',
      'jobctl ssh train-7f3k --host 2 -- -L 6006:localhost:6006',
      'jobctl ssh train-7f3k -- df -h',
    ],
    run: async () => (await import('./verbs/on-hosts.js')).ssh,
  }),
  defineVerb({
    name: 'ssh-config',
    summary: 'name the hosts of a job for ssh, VS Code and rsync',
    description: 'Names the hosts of an open job for the OpenSSH client of this computer: `ssh JOB`.',
    place: 'either',
    arguments: [JOB],
    flags: [SSH_CONFIG, outputOption(), ...ROUTE_FLAGS],
    notes: `
JOB is its first host, and JOB.1, JOB.2 .. are the others. The names go into a file of the job's own in JOBCTL_HOME, which ~/.ssh/config has
to include: --ssh-config adds that line. A name stays right when the job moves to other hosts. The file of an ended job is removed.
`,
    examples: ['jobctl ssh-config exp-7 --ssh-config', 'rsync -a work/ exp-7:work/', 'ssh exp-7.1 nvidia-smi'],
    run: async () => (await import('./verbs/workspace.js')).sshConfig,
  }),
  defineVerb({
    name: 'exec',
    summary: 'run a command on hosts of a job',
    description: 'Runs a command on hosts of an open job, on all at once.',
    usage: 'JOB [options] -- CMD..',
    place: 'either',
    takesWords: true,
    arguments: [JOB],
    flags: [HOSTS, ['-i, --stdin', 'pass standard input on, to one host only'], outputOption(), ...ROUTE_FLAGS],
    notes: `
Several words are quoted one by one, a single word is a shell line. The command runs in a login shell beside the job's own command, and
ends when that one ends. Lines of several hosts are printed as \`HOST | line\`, lines of one host as they are. The exit code is the
greatest of the hosts' exit codes.
`,
    examples: [
      'jobctl exec train-7f3k -- df -h /',
      "jobctl exec train-7f3k --host 0,2-3 -- 'pgrep -af python | head -3'",
      "jobctl exec train-7f3k --host 0 --stdin -- 'cat > note.txt' < note.txt",
    ],
    run: async () => (await import('./verbs/on-hosts.js')).exec,
  }),
  defineVerb({
    name: 'stacks',
    summary: 'show where the processes of a job stand, equal ones grouped',
    description: 'Shows where the Python processes of a job stand, on all hosts, equal stacks grouped.',
    place: 'either',
    arguments: [JOB],
    flags: [
      HOSTS,
      [
        '--attempt <number>',
        'those that were stored when this attempt was ended for its silence',
        wholeNumber(1, 999_999_999),
      ],
      ['--threads', 'other threads than the main ones too'],
      ['--all', 'also processes that are not Python, beside those that are'],
      ['--no-install', 'put no py-spy on hosts that have none'],
      outputOption(),
      ...ROUTE_FLAGS,
    ],
    notes: `
For a command that hangs. Processes whose main threads stand at the same calls are one group, the largest first; of the others the calls
are shown in which they differ. py-spy reads them without stopping a process. A host that has none gets it once, from PyPI, into
~/.jobctl. Of programs that are not Python, state and kernel function are shown. What a host says is shown as text.
When \`timeouts.no_output\` ends a command, its stacks are stored before: this shows them once the job has ended, or with --attempt.
The exit code is 1 if a host did not answer.
`,
    examples: [
      'jobctl stacks train-7f3k',
      'jobctl stacks train-7f3k --host 7 --threads',
      'jobctl stacks train-7f3k --attempt 2',
      "jobctl stacks train-7f3k -o json | jq '.groups[1].frames[0]'",
    ],
    run: async () => (await import('./verbs/stacks.js')).stacks,
  }),
  defineVerb({
    name: 'cp',
    summary: 'copy files to hosts of a job, or from them',
    description: 'Copies files and folders between this computer and hosts of an open job.',
    usage: 'SOURCE.. TARGET [options]',
    place: 'either',
    arguments: [
      ['<source>', 'a path on this computer, or JOB:[HOSTS:]PATH'],
      ['<more...>', 'more sources, and last the target'],
    ],
    flags: [
      ['-r, --recursive', 'accepted as by scp; folders are copied whole in any case'],
      outputOption(),
      ...ROUTE_FLAGS,
    ],
    notes: `
One side is JOB:PATH, or JOB:HOSTS:PATH with HOSTS such as 2, 0,2-3 or all. Without HOSTS, files go to all hosts, or come from host 0.
Files from several hosts go to FOLDER/host-N each. PATH is absolute, or relative to the login user's home. Folders are copied whole.
Every file is compared by its SHA-256: a file that is there already is not sent, and an interrupted copy continues.
`,
    examples: [
      'jobctl cp train.py configs train-7f3k:work/',
      'jobctl cp train-7f3k:/tmp/trace.json .',
      'jobctl cp train-7f3k:all:logs ./logs',
    ],
    run: async () => (await import('./verbs/cp.js')).cp,
  }),
  defineVerb({
    name: 'sync',
    summary: 'keep a folder on hosts of a job in step with one here',
    description: 'Brings a folder of this computer to hosts of an open job, and each later change of it, until Ctrl-C.',
    usage: 'FOLDER JOB:[HOSTS:]PATH [options]',
    place: 'either',
    arguments: [
      ['<folder>', 'a folder of this computer'],
      ['<target>', 'JOB:[HOSTS:]PATH; without PATH, a folder of the same name in the home folder'],
    ],
    flags: [['--once', 'bring the hosts into step and end'], ...ROUTE_FLAGS],
    notes: `
It takes the files that a bundle of the folder would have: .git, virtual environments and what .gitignore names stay behind, and so do
links out of the folder. A file that goes here while it runs goes there. It is one way: what was changed on a host is kept in
~/.jobctl/replaced if a change from here takes its place, and is not removed. Hosts that come after a preemption get all files. Each file
arrives whole or not at all.
It ends when the job ends. The exit code is 1 if something that changed here is not on a host.
`,
    examples: [
      'jobctl sync . exp-7:',
      'jobctl sync src exp-7:0:work/src',
      'jobctl sync --once configs train-7f3k:configs',
    ],
    run: async () => (await import('./verbs/sync.js')).sync,
  }),
  defineVerb({
    name: 'port-forward',
    summary: 'make a port of a host reachable from here',
    description: 'Makes a port of a host reachable at a port of this computer (127.0.0.1), until Ctrl-C.',
    place: 'either',
    arguments: [JOB, ['<ports>', 'PORT, or LOCAL:REMOTE', parseForwardedPorts]],
    flags: [ONE_HOST, ...ROUTE_FLAGS],
    examples: ['jobctl port-forward train-7f3k 6006', 'jobctl port-forward train-7f3k 8888:80 --host 1'],
    run: async () => (await import('./verbs/on-hosts.js')).portForward,
  }),
];

const storedFlags = (): readonly Flag[] => [
  ['--attempt <number>', 'the attempt (default: the newest that stored files)', wholeNumber(1, 1_000_000)],
  ['--host <hosts>', 'these hosts: 2, 0,2-3 or all', parseHostChoice],
  outputOption(),
];

/** Verbs for files that outlive a job's hosts. */
export const STORED_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'download',
    summary: 'get the files that a job stored, or its logs',
    description: "Downloads a job's outputs, or its logs, from the bucket, also after its hosts are gone.",
    place: 'either',
    arguments: [JOB, ['[dir]', 'the folder (default: ./JOB)']],
    flags: [['--logs', 'all its logs as plain files, MODULE/host-N.log, and no outputs'], ...storedFlags()],
    notes: `
A job stores the files in $JOBCTL_OUTPUT_DIR and those that \`outputs\` of the job file names: every 10 minutes, on a provider's notice, and
at each end of the command. Without --host, the files of the first host that stored any are downloaded; files of several hosts go to
DIR/host-N each. Every file is compared by its SHA-256: a file that is there already is not read again, and an interrupted download
continues.

With --logs, the logs are downloaded instead, of all hosts: DIR/MODULE/host-N.log, such as command/host-0.log or venv/host-3.log, and
DIR/job.log, which is what jobctl did for the job. If several attempts have logs and --attempt chooses none, each attempt has a folder:
DIR/attempt-2/command/host-0.log. A file that is there is replaced only by a log that begins with all of it: of a job that runs, the
same command brings the rest.
`,
    examples: [
      'jobctl download train-7f3k',
      'jobctl download train-7f3k --host all --attempt 1 results/',
      'jobctl download train-7f3k --logs logs/',
    ],
    run: async () => (await import('./verbs/download.js')).download,
  }),
  defineVerb({
    name: 'outputs',
    summary: 'list the files that a job stored',
    description: "Lists a job's outputs in the bucket: size, host, attempt, when it was written, path.",
    place: 'either',
    arguments: [JOB],
    flags: [...storedFlags()],
    examples: ['jobctl outputs train-7f3k', 'jobctl outputs train-7f3k --attempt 1 --host 0,2 -o json'],
    run: async () => (await import('./verbs/download.js')).outputs,
  }),
];
