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
  /** As a user without rights: files that root may read, others may not. */
  readonly isNobody?: true;
  readonly exitCode: number;
  readonly wants: readonly string[];
}

const LIST = { args: ['list'] };
const NOWHERE = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
const WHICH = '  is the address right (TEMPORAL_ADDRESS, --temporal-address), and does the server run?';
const START = '  start one with `jobctl dev up`, or set TEMPORAL_ADDRESS (or --temporal-address)';
const TRY_AGAIN = '  try again; `jobctl dev status` shows the local stack, if this is one';
const SETTINGS = '  they are in TEMPORAL_* variables and in temporal.toml (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE)';
const ADDRESS = '  HOST:PORT is wanted, such as temporal.example.com:7233';
const PORT = '  a port is a number from 1 to 65535; Temporal listens at 7233';
const TRUTH = '  true, 1, false or 0, in small letters';

const address = (value: string, wrong: string, remedy: string): WrongEnvironment => ({
  ...LIST,
  env: { TEMPORAL_ADDRESS: value },
  exitCode: 2,
  wants: [`TEMPORAL_ADDRESS: '${value}' ${wrong}`, remedy],
});

const temporalAt = (server: OtherServer, why: string, remedy: string): WrongEnvironment => ({
  ...LIST,
  server,
  env: { TEMPORAL_ADDRESS: '{AT}' },
  exitCode: 5,
  wants: [`Temporal at {AT} cannot be reached: ${why}`, `  ${remedy}`, START],
});

const storeAt = (server: OtherServer, ...wants: readonly string[]): WrongEnvironment => ({
  args: ['quota', 'show'],
  server,
  env: { ...NOWHERE, JOBCTL_BUCKET: 'team-jobs', JOBCTL_STORE_ENDPOINT: 'http://{AT}' },
  exitCode: 5,
  wants: [`store: read gs://team-jobs/quota/default/state.json: ${wants[0]}`, ...wants.slice(1)],
});

export const WRONG_SERVERS: Readonly<Record<string, WrongEnvironment>> = {
  'an address whose port is no number': address('localhost:7233x', 'has no port that exists: 7233x', PORT),
  'an address without a host': address(':7233', 'names no host', ADDRESS),
  'an address without a port behind its colon': address('localhost:', 'has no port that exists: ', PORT),
  'an address with a blank': address('my server:7233', 'has a blank in it', ADDRESS),
  'an IPv6 address without brackets': address(
    '::1:7233',
    'has more than one colon',
    `${ADDRESS}; an IPv6 address stands in brackets: [::1]:7233`,
  ),
  'a host that nobody has': {
    ...LIST,
    env: { TEMPORAL_ADDRESS: 'no-such-host.invalid:7233' },
    exitCode: 5,
    wants: [
      'Temporal at no-such-host.invalid:7233 cannot be reached: no computer has the name no-such-host.invalid',
      WHICH,
      START,
    ],
  },
  'a web server in the place of Temporal': temporalAt(
    'a web server',
    'a web server answers there, and no Temporal server',
    "is it the port of Temporal's Web UI? The server itself listens at 7233 unless it is told otherwise",
  ),
  'an SSH server in the place of Temporal': temporalAt(
    'an SSH server',
    'what answers there is no Temporal server',
    'is the port right (TEMPORAL_ADDRESS, --temporal-address)? Temporal listens at 7233 unless it is told otherwise',
  ),
  'a tunnel to a Temporal that is gone': temporalAt(
    'one that closes at once',
    'the connection is closed as soon as it is made',
    'of a tunnel or port-forward: does its other end run?',
  ),
  'a Temporal that says nothing': temporalAt(
    'one that says nothing',
    'the connection is taken, and nothing answers',
    'is the port right (TEMPORAL_ADDRESS, --temporal-address), and does the server still work?',
  ),
  'TLS to a server without TLS': {
    ...LIST,
    server: 'a web server',
    env: { TEMPORAL_ADDRESS: '{AT}', TEMPORAL_TLS: 'true' },
    exitCode: 5,
    wants: [
      'Temporal at {AT} cannot be reached: this client speaks TLS, and the server does not',
      '  unset TEMPORAL_TLS and TEMPORAL_API_KEY (a key turns TLS on)',
      START,
    ],
  },
  'a store where nothing listens': {
    args: ['quota', 'show'],
    env: { ...NOWHERE, JOBCTL_BUCKET: 'team-jobs', JOBCTL_STORE_ENDPOINT: 'http://127.0.0.1:1' },
    exitCode: 5,
    wants: ['store: read gs://team-jobs/quota/default/state.json: nothing listens at http://127.0.0.1:1', TRY_AGAIN],
  },
  'a store that forbids': storeAt(
    'one that forbids',
    "this login has no permission storage.objects.get on gs://team-jobs, or that does not exist: an owner runs 'gcloud storage buckets add-iam-policy-binding gs://team-jobs --member=user:EMAIL --role=roles/storage.objectAdmin'",
  ),
  'a proxy in front of the store': storeAt(
    'a proxy that forbids',
    'the answer is a web page, so a proxy or another server gave it (HTTP 403)',
    '  does your Google login have the right? `jobctl doctor --gcp` looks',
  ),
  'a bucket that does not exist': storeAt(
    'one without the bucket',
    'The specified bucket does not exist. (HTTP 404)',
    '  does your Google login have the right? `jobctl doctor --gcp` looks',
  ),
  'a store that is broken': storeAt('one that is broken', 'Backend Error (HTTP 500)', TRY_AGAIN),
  'a tunnel to a store that is gone': storeAt(
    'one that closes at once',
    'http://{AT} closed the connection without an answer (ECONNRESET)',
    TRY_AGAIN,
  ),
  'an SSH server in the place of the store': storeAt(
    'an SSH server',
    'what listens at http://{AT} does not speak HTTP',
    TRY_AGAIN,
  ),
};

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
      '  to make it: jobctl context set prod --temporal-address HOST:PORT',
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
      '  to make it: jobctl context set prd --temporal-address HOST:PORT',
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
      'no Temporal server is named: there is no context, no TEMPORAL_ADDRESS, and no local stack',
      "  a team's server: jobctl context set NAME --temporal-address HOST:PORT",
      '  this computer alone: jobctl dev up, or jobctl submit --local (in {DIR}/.local/state/jobctl)',
      '  `jobctl help where` shows every way',
    ],
  },
  'JOBCTL_HOME without a stack': {
    ...LIST,
    env: { JOBCTL_HOME: '{DIR}/stack' },
    exitCode: 5,
    wants: [
      'there is no local stack in {DIR}/stack',
      '  start it with `jobctl dev up`, or name another server: --context, --temporal-address, TEMPORAL_ADDRESS or TEMPORAL_PROFILE',
    ],
  },
  'JOBCTL_HOME that is a file': {
    ...LIST,
    env: { JOBCTL_HOME: 'GOOD' },
    exitCode: 5,
    wants: [
      'there is no local stack in GOOD',
      '  start it with `jobctl dev up`, or name another server: --context, --temporal-address, TEMPORAL_ADDRESS or TEMPORAL_PROFILE',
    ],
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
    wants: [
      'there is no local stack in {DIR}/stack',
      '  start it with `jobctl dev up`, or name another server: --context, --temporal-address, TEMPORAL_ADDRESS or TEMPORAL_PROFILE',
    ],
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
    env: { HOME: '/' },
    isNobody: true,
    exitCode: 1,
    wants: ['jobctl: /.config/jobctl: cannot be made: permission denied'],
  },
  'contexts.toml that its user may not read': {
    ...LIST,
    prepare: 'mkdir -p .config/jobctl; echo > .config/jobctl/contexts.toml; chmod 000 .config/jobctl/contexts.toml',
    isNobody: true,
    exitCode: 2,
    wants: ['{DIR}/.config/jobctl/contexts.toml: cannot be read: permission denied'],
  },
  'a job file that its user may not read': {
    args: ['validate', 'GOOD'],
    prepare: 'chmod 000 job.yaml',
    isNobody: true,
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
    env: { ...NOWHERE, ...BUNDLE, TMPDIR: '/nonexistent' },
    exitCode: 1,
    wants: [
      'jobctl: /nonexistent: no temporary file can be made there: it does not exist',
      '  TMPDIR names this folder: set it to another one',
    ],
  },
  'init into a folder that its user may not write to': {
    args: ['init', 'code', '--yes'],
    prepare: "mkdir code; echo 'print(1)' > code/train.py; chmod 555 code",
    isNobody: true,
    exitCode: 1,
    wants: ['jobctl: code/job.yaml: cannot be opened: permission denied'],
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
  'an import into a folder that its user may not write to': {
    args: ['import', 'jobman', 'GOOD', '-o', '/job.yaml'],
    isNobody: true,
    exitCode: 2,
    wants: ['/job.yaml: cannot be written: no right to write it', '  nothing was changed'],
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
