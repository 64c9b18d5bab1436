import type { OtherServer } from './other-servers.js';

/** Variables, folders and servers with which a command line that is right itself cannot work. */
export interface WrongEnvironment {
  /** {DIR} stands for a folder of the case, and GOOD for a good job file in it. */
  readonly args: readonly string[];
  /** Beside HOME={DIR}, which one given here replaces. TEMPORAL_ADDRESS names no server unless it is given. */
  readonly env?: Readonly<Record<string, string>>;
  /** What is at {AT} in `env` and `wants`. */
  readonly server?: OtherServer;
  /** Shell lines before the command, in {DIR}. */
  readonly prepare?: string;
  /** A shell line in the place of the command; `$JOBCTL` is the program. */
  readonly shell?: string;
  /** Root is bound by the modes of files too, as everybody else. */
  readonly isBoundByModes?: true;
  readonly exitCode: number;
  readonly wants: readonly string[];
}

export const LIST = { args: ['list'] };
export const NOWHERE = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
const SETTINGS = '  they are in TEMPORAL_* variables and in temporal.toml (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE)';
const TRUTH = '  true, 1, false or 0, in small letters';

const noStackIn = (folder: string): readonly string[] => [
  `there is no local stack in ${folder}`,
  '  start it with `jobctl dev up`, or name another server: --context, --temporal-address, TEMPORAL_ADDRESS or TEMPORAL_PROFILE',
];

export const WRONG_VARIABLES: Readonly<Record<string, WrongEnvironment>> = {
  "a file of Temporal's settings that is not there": {
    ...LIST,
    env: { TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' },
    exitCode: 2,
    wants: [
      "TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' does not exist",
      '  name a file that is there, or unset it',
    ],
  },
  "a file of Temporal's settings that is no TOML": {
    ...LIST,
    prepare: 'echo hello > bad.toml',
    env: { TEMPORAL_CONFIG_FILE: '{DIR}/bad.toml' },
    exitCode: 5,
    wants: ["the settings of Temporal's client cannot be read: its file is not TOML (line 1)", SETTINGS],
  },
  'a profile that is in no file': {
    ...LIST,
    env: { TEMPORAL_PROFILE: 'prod' },
    exitCode: 5,
    wants: ["the settings of Temporal's client cannot be read: no profile 'prod' is in temporal.toml", SETTINGS],
  },
  'TEMPORAL_TLS that is neither true nor false': {
    ...LIST,
    env: { ...NOWHERE, TEMPORAL_TLS: 'yes' },
    exitCode: 2,
    wants: ["TEMPORAL_TLS: 'yes' is neither true nor false", TRUTH],
  },
  'a check of host names that is neither on nor off': {
    ...LIST,
    env: { ...NOWHERE, TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'True' },
    exitCode: 2,
    wants: ["TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'True' is neither true nor false", TRUTH],
  },
  'a certificate without its key': {
    ...LIST,
    env: { ...NOWHERE, TEMPORAL_TLS_CLIENT_CERT_PATH: '/etc/hostname' },
    exitCode: 2,
    wants: [
      'TEMPORAL_TLS_CLIENT_CERT_PATH: is set, and the key of this certificate is not',
      '  set TEMPORAL_TLS_CLIENT_KEY_PATH too',
    ],
  },
  'a key without its certificate': {
    ...LIST,
    env: { ...NOWHERE, TEMPORAL_TLS_CLIENT_KEY_DATA: 'x' },
    exitCode: 2,
    wants: [
      'TEMPORAL_TLS_CLIENT_KEY_DATA: is set, and the certificate of this key is not',
      '  set TEMPORAL_TLS_CLIENT_CERT_PATH too',
    ],
  },
  'an authority whose file is not there': {
    ...LIST,
    env: { ...NOWHERE, TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nonexistent/ca.pem' },
    exitCode: 5,
    wants: ["the settings of Temporal's client cannot be read: /nonexistent/ca.pem: it does not exist", SETTINGS],
  },
  'JOBCTL_CONTEXT that names no context': {
    ...LIST,
    env: { JOBCTL_CONTEXT: 'prod' },
    exitCode: 2,
    wants: [
      "JOBCTL_CONTEXT: there is no context 'prod' in {DIR}/.config/jobctl/contexts.toml",
      '  there are no contexts yet',
      '  to make it: jobctl context set prod --server URL, or --temporal-address HOST:PORT',
    ],
  },
  'JOBCTL_CONTEXT near to one': {
    ...LIST,
    prepare:
      'mkdir -p .config/jobctl; printf \'[contexts.prod]\\naddress = "t.example.com:7233"\\n\' > .config/jobctl/contexts.toml',
    env: { JOBCTL_CONTEXT: 'prd' },
    exitCode: 2,
    wants: [
      "JOBCTL_CONTEXT: there is no context 'prd' in {DIR}/.config/jobctl/contexts.toml",
      '  the nearest is prod',
      '  there are: prod, local',
      '  to make it: jobctl context set prd --server URL, or --temporal-address HOST:PORT',
    ],
  },
  'contexts.toml that is no TOML': {
    ...LIST,
    prepare: 'mkdir -p .config/jobctl; echo prod > .config/jobctl/contexts.toml',
    exitCode: 2,
    wants: ['{DIR}/.config/jobctl/contexts.toml:1:5: not TOML: a line of the file is key = value; = is missing'],
  },
  'no server at all': {
    ...LIST,
    exitCode: 2,
    wants: [
      'no server is named: there is no context, no JOBCTL_SERVER or TEMPORAL_ADDRESS, and no local stack',
      "  a team's server: jobctl context set NAME --server URL, or --temporal-address HOST:PORT",
      '  this computer alone: jobctl dev up, or jobctl submit --local (in {DIR}/.local/state/jobctl)',
      '  `jobctl help where` shows every way',
    ],
  },
  'JOBCTL_HOME without a stack': {
    ...LIST,
    env: { JOBCTL_HOME: '{DIR}/stack' },
    exitCode: 5,
    wants: noStackIn('{DIR}/stack'),
  },
  'JOBCTL_HOME that is a file': {
    ...LIST,
    env: { JOBCTL_HOME: 'GOOD' },
    exitCode: 5,
    wants: noStackIn('GOOD'),
  },
  'JOBCTL_BUCKET with capitals': {
    args: ['quota', 'show'],
    env: { ...NOWHERE, JOBCTL_BUCKET: 'Team_Jobs' },
    exitCode: 2,
    wants: [
      "JOBCTL_BUCKET: 'Team_Jobs' is not the name of a bucket",
      '  small letters, digits, -, _ and dots; a letter or digit at both ends',
    ],
  },
  'JOBCTL_BUCKET alone, which names no server': {
    args: ['status', 'train-7f3k'],
    env: { JOBCTL_BUCKET: 'team-jobs', JOBCTL_HOME: '{DIR}/stack' },
    exitCode: 5,
    wants: noStackIn('{DIR}/stack'),
  },
  'JOBCTL_SECRET_STORE that is no place': {
    args: ['secret', 'ls'],
    env: { ...NOWHERE, JOBCTL_SECRET_STORE: 'vault' },
    exitCode: 5,
    wants: [
      "secret store: 'vault' is no place of secrets: wanted file:///FOLDER, or projects/P for the Secret Manager of that Google Cloud project",
    ],
  },
};

const BUNDLE = { JOBCTL_BUCKET: 'team-jobs', JOBCTL_STORE_ENDPOINT: 'http://127.0.0.1:1' };

export const WRONG_FOLDERS: Readonly<Record<string, WrongEnvironment>> = {
  'HOME that is a file': {
    args: ['context', 'set', 'prod', '--temporal-address', 'a:7233'],
    env: { HOME: 'GOOD' },
    exitCode: 1,
    wants: ['jobctl: GOOD/.config/jobctl: cannot be made: a part of its path is no folder'],
  },
  'HOME that its user may not write to': {
    args: ['context', 'set', 'prod', '--temporal-address', 'a:7233'],
    prepare: 'mkdir -m 555 home',
    env: { HOME: '{DIR}/home' },
    isBoundByModes: true,
    exitCode: 1,
    wants: ['jobctl: {DIR}/home/.config/jobctl: cannot be made: permission denied'],
  },
  'contexts.toml that its user may not read': {
    ...LIST,
    prepare: 'mkdir -p .config/jobctl; echo > .config/jobctl/contexts.toml; chmod 000 .config/jobctl/contexts.toml',
    isBoundByModes: true,
    exitCode: 2,
    wants: ['{DIR}/.config/jobctl/contexts.toml: cannot be read: permission denied'],
  },
  'a job file that its user may not read': {
    args: ['validate', 'GOOD'],
    prepare: 'chmod 000 job.yaml',
    isBoundByModes: true,
    exitCode: 2,
    wants: [
      'GOOD: cannot be read: permission denied',
      '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
    ],
  },
  'a job file whose links go round': {
    args: ['validate', '{DIR}/loop.yaml'],
    prepare: 'ln -s loop.yaml loop.yaml',
    exitCode: 2,
    wants: [
      '{DIR}/loop.yaml: cannot be read: its links go round in a circle',
      '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
    ],
  },
  'a device without an end': {
    args: ['validate', '/dev/zero'],
    exitCode: 2,
    wants: [
      '/dev/zero: has more than 500000 bytes, and that is the most',
      '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
    ],
  },
  'a folder of temporary files that is gone': {
    args: ['submit', 'GOOD', '--bundle', '{DIR}/code'],
    prepare: "mkdir code; echo 'print(1)' > code/train.py",
    env: { ...NOWHERE, ...BUNDLE, TMPDIR: '{DIR}/none' },
    exitCode: 1,
    wants: [
      'jobctl: {DIR}/none: no temporary file can be made there: it does not exist',
      '  TMPDIR names this folder: set it to another one',
    ],
  },
  'init into a folder that its user may not write to': {
    args: ['init', 'code', '--yes'],
    prepare: "mkdir code; echo 'print(1)' > code/train.py; chmod 555 code",
    isBoundByModes: true,
    exitCode: 2,
    wants: ['code/job.yaml: cannot be written: permission denied', '  nothing was changed'],
  },
  'a current folder that is gone': {
    args: ['init', '--yes'],
    shell: 'mkdir gone; cd gone; rmdir ../gone; exec $JOBCTL init --yes 2> >(grep -v getcwd >&2)',
    exitCode: 1,
    wants: ['jobctl: the current folder does not exist any more', '  change to another one: cd "$HOME", for example'],
  },
  'a full disk behind >': {
    args: ['validate', 'GOOD'],
    shell: 'exec $JOBCTL validate GOOD > /dev/full',
    exitCode: 1,
    wants: ['jobctl: the output cannot be written: the disk is full'],
  },
  'a full disk behind the > of JSON': {
    args: ['validate', 'GOOD', '-o', 'json'],
    shell: 'exec $JOBCTL validate GOOD -o json > /dev/full',
    exitCode: 1,
    wants: ['jobctl: the output cannot be written: the disk is full'],
  },
  'an import under a limit of the size of files': {
    args: ['import', 'jobman', 'GOOD', '-o', 'new.yaml'],
    shell: 'ulimit -f 0; exec $JOBCTL import jobman GOOD -o new.yaml',
    exitCode: 1,
    wants: [
      'new.yaml: cannot be written: it would be larger than a file may be here (ulimit -f): 94 B are needed',
      '  nothing was changed',
    ],
  },
  'an import into a folder that its user may not write to': {
    args: ['import', 'jobman', 'GOOD', '-o', 'home/job.yaml'],
    prepare: 'mkdir -m 555 home',
    isBoundByModes: true,
    exitCode: 2,
    wants: ['home/job.yaml: cannot be written: permission denied', '  nothing was changed'],
  },
};

/** What is no mistake: the same answer as ever. */
export const ODD_BUT_RIGHT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'TERM=dumb': { TERM: 'dumb' },
  'a time zone and a language that do not exist': { TZ: 'Mars/Phobos', LANG: 'xx_YY' },
  'no PATH': { PATH: '' },
  'HOME that is not there': { HOME: '/nonexistent' },
  'HOME that is empty': { HOME: '' },
  'a proxy that nobody runs': { HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'nonsense' },
  'COLUMNS that is no number': { COLUMNS: 'abc' },
  'JOBCTL_DEBUG that is not 1': { JOBCTL_DEBUG: 'yes' },
};
