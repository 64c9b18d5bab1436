/** A command line that is refused. FILE is replaced by a file that holds `text`. */
export interface BadInput {
  readonly text?: string | Uint8Array;
  readonly args: readonly string[];
  readonly wants: string;
}

const GOOD = `tpu:
  accelerator: v5litepod-16
  zone: us-central1-a
command:
  run: echo hi
`;
const SUBMIT = ['submit', 'FILE'];

/** In FILE's folder there is a file `requirements.txt`, and a folder `folder`. */
export const BAD_FILES: Readonly<Record<string, BadInput>> = {
  'an empty file': {
    text: '',
    args: SUBMIT,
    wants: [
      'FILE:1:1: the job file is empty',
      '  a job file is lines of key: value; the least is tpu: and command:',
    ].join('\n'),
  },
  'a file that is not YAML': {
    text: 'tpu: [v6e-8\n',
    args: SUBMIT,
    wants: 'FILE:2:1: not YAML: flow sequence in block collection must be sufficiently indented and end with a ]',
  },
  'a tab as indentation': {
    text: 'tpu:\n\taccelerator: v6e-8\n',
    args: SUBMIT,
    wants: 'FILE:2:1: not YAML: a tab as indentation; YAML takes spaces',
  },
  'a file that is a list': {
    text: '- a\n- b\n',
    args: SUBMIT,
    wants: [
      'FILE:1:1: ["a","b"] is not a job file',
      '  a job file is lines of key: value; the least is tpu: and command:',
    ].join('\n'),
  },
  'two documents': {
    text: `${GOOD}---\n${GOOD}`,
    args: SUBMIT,
    wants: 'FILE:6:1: not YAML: more than one document (---); one file is one job',
  },
  'a key twice': {
    text: `${GOOD}tpu:\n  accelerator: v6e-8\n`,
    args: SUBMIT,
    wants: 'FILE:6:1: not YAML: the key is there twice',
  },
  'an unknown key': {
    text: `${GOOD}comand:\n  run: x\n`,
    args: SUBMIT,
    wants: [
      'FILE:6:1: comand: no such key in a job file',
      '  did you mean command?',
      '  known here: name, project, pool, user, priority, slices, env, grace, retries, notify, job, tpu, setup, ssh, gcsfuse, docker, conda, venv, command, secrets, bundle, keep, loop, hooks, timeouts, atomic',
    ].join('\n'),
  },
  'an unknown key in a section': {
    text: GOOD.replace('zone', 'zzone'),
    args: SUBMIT,
    wants: [
      'FILE:3:3: zzone: no such key in tpu',
      '  did you mean zone?',
      '  known here: accelerator, allocation_mode, name, zone, zones, project, version, pricing, startup_script, tags, metadata, labels, flags, network, subnetwork, external_ips, service_account, scopes, reservation, topology, data_disks, atomic',
    ].join('\n'),
  },
  'a pool file that is wrong': {
    text: 'zones = ["us-east5"]\n[tpu]\nnetwrok = "n"\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: [
      "FILE:1:10: zones[0]: 'us-east5' is no zone",
      '  us-east5 is a region: its zones end in a letter, such as us-east5-a',
      'FILE:3:1: netwrok: no such key in tpu',
      '  did you mean network?',
      '  known here: allocation_mode, pricing, startup_script, tags, metadata, labels, network, subnetwork, external_ips, service_account, scopes, reservation, data_disks, version',
    ].join('\n'),
  },
  'a job file in which its pool file does not help': {
    text: GOOD.replace('zone: us-central1-a', 'pricing: spot'),
    args: ['validate', 'FILE', '--pool-file', '/dev/null'],
    wants: [
      "FILE:1:1: tpu.zone: no zone in the job file, and none in /dev/null, the file of pool 'default'",
      '  write such as zone: us-central1-a, or zones: [..]; for all jobs of a pool see docs/pool-file.md',
    ].join('\n'),
  },
  '--set with a pool file': {
    text: GOOD,
    args: ['validate', 'FILE', '--kind', 'pool', '--set', 'a=b'],
    wants: 'FILE: is a pool file; --set and --pool-file are for job files',
  },
  'a wrong type': {
    text: `slices: many\n${GOOD}`,
    args: SUBMIT,
    wants: `FILE:1:9: slices: 'many' is not a whole number from 1 to 256`,
  },
  'a wrong accelerator': {
    text: GOOD.replace('-16', '-17'),
    args: SUBMIT,
    wants: [
      `FILE:2:16: accelerator: 'v5litepod-17' is no Cloud TPU type`,
      '  the nearest are v5litepod-16 (4 hosts) and v5litepod-32 (8 hosts)',
      '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
    ].join('\n'),
  },
  'no accelerator': {
    text: 'tpu:\n  zone: us-central1-a\ncommand:\n  run: echo\n',
    args: SUBMIT,
    wants: ['FILE:1:1: tpu.accelerator: is missing', '  such as accelerator: v5litepod-16'].join('\n'),
  },
  'no tpu section': {
    text: 'command:\n  run: echo\n',
    args: SUBMIT,
    wants: ['FILE:1:1: tpu: is missing', '  a job needs the section tpu, with accelerator and zone'].join('\n'),
  },
  'a module without its section': {
    text: `${GOOD}setup:\n  modules: [venv, command]\n`,
    args: SUBMIT,
    wants: [
      'FILE:7:13: modules[0]: module venv needs a section venv',
      '  such as venv: {name: train, requirements_file: requirements.txt}',
    ].join('\n'),
  },
  'two environment modules': {
    text: `${GOOD}setup:\n  modules: [venv, conda, command]\nvenv: {name: t}\nconda: {name: c}\n`,
    args: SUBMIT,
    wants: [
      'FILE:7:19: modules[1]: two environment modules, venv and conda',
      '  keep one of docker, conda and venv',
    ].join('\n'),
  },
  'a module that is not built': {
    text: `${GOOD}setup:\n  modules: [docker, command]\ndocker: {image: x}\n`,
    args: SUBMIT,
    wants: [
      'FILE:7:13: modules[0]: module docker is not built yet in this version of jobctl',
      '  until then: docker run .. in the command',
    ].join('\n'),
  },
  'a reference to nothing': {
    text: GOOD.replace('echo hi', 'echo ${tpu.nmae}'),
    args: SUBMIT,
    wants: [
      "FILE:5:13: run: '${tpu.nmae}' refers to nothing in this file",
      '  for a reference that another program resolves, write \\${tpu.nmae}',
    ].join('\n'),
  },
  'a host that the type has not': {
    text: `${GOOD}  workers: 4\n`,
    args: SUBMIT,
    wants: [
      'FILE:6:12: workers: 4 is no host of v5litepod-16',
      '  v5litepod-16 has 4 hosts: 0 to 3; workers is an index, not a count',
    ].join('\n'),
  },
  'a priority out of range': {
    text: `priority: 9\n${GOOD}`,
    args: SUBMIT,
    wants: 'FILE:1:11: priority: 9 is not a whole number from 1 to 5',
  },
  'a zone that is no zone': {
    text: GOOD.replace('us-central1-a', 'mars'),
    args: SUBMIT,
    wants: [`FILE:3:9: zone: 'mars' is no zone`, '  a zone is a region and a letter, such as us-central1-a'].join('\n'),
  },
  'a pricing that is none': {
    text: GOOD.replace('  zone', '  pricing: cheap\n  zone'),
    args: SUBMIT,
    wants: [
      `FILE:3:12: pricing: 'cheap' is not one of the allowed words`,
      '  allowed: spot, ondemand, preemptible, reserved, any',
    ].join('\n'),
  },
  'a name with capitals': {
    text: `name: Train\n${GOOD}`,
    args: SUBMIT,
    wants: [
      `FILE:1:7: name: 'Train' is not a name of small letters, digits and dashes that starts with a letter, 40 characters at most`,
      '  such as train',
    ].join('\n'),
  },
  'a requirements file that is not there': {
    text: `${GOOD}venv:\n  name: t\n  requirements_file: no.txt\n`,
    args: SUBMIT,
    wants: [
      `FILE:8:22: requirements_file: 'no.txt' does not exist`,
      `  looked for at DIR/no.txt; a relative path starts at the job file's folder`,
    ].join('\n'),
  },
  'a requirements file that is a folder': {
    text: `${GOOD}venv:\n  name: t\n  requirements_file: folder\n`,
    args: SUBMIT,
    wants: [
      `FILE:8:22: requirements_file: 'folder' is a directory`,
      `  looked for at DIR/folder; a relative path starts at the job file's folder`,
    ].join('\n'),
  },
  'more than one problem': {
    text: 'slices: 0\ntpu:\n  accelerator: v9-8\n',
    args: SUBMIT,
    wants: [
      'FILE:1:9: slices: 0 is not a whole number from 1 to 256',
      `FILE:3:16: accelerator: 'v9-8' is no Cloud TPU type`,
      '  the nearest is v5p-8 (1 host)',
      '  allowed: v5p-8, v5p-16, v5p-32, v5p-64, v5p-128, v5p-256, v5p-384, v5p-512, v5p-640, v5p-768, v5p-896, v5p-1024, v5p-2048, v5p-4096, v5p-8192, v5p-12288',
      '  the number counts TensorCores: two a chip',
    ].join('\n'),
  },
  'no such file': {
    args: ['submit', '/nonexistent/train.yaml'],
    wants: ['/nonexistent/train.yaml: does not exist', '  jobctl submit takes the path of a job file (YAML)'].join(
      '\n',
    ),
  },
  'a folder for a file': {
    args: ['submit', '/'],
    wants: ['/: is a directory', '  jobctl submit takes the path of a job file (YAML)'].join('\n'),
  },
  'not text': {
    text: Buffer.from([0x61, 0x3a, 0x20, 0xff]),
    args: SUBMIT,
    wants: ['FILE: is not UTF-8 text', '  jobctl submit takes the path of a job file (YAML)'].join('\n'),
  },
};

/** A good file, and wrong flags behind it. */
const WITH = (wants: string, ...args: readonly string[]): BadInput => ({
  text: GOOD,
  args: [...SUBMIT, ...args],
  wants,
});

export const BAD_FLAGS: Readonly<Record<string, BadInput>> = {
  'an unknown verb': {
    args: ['sumbit', 'x.yaml'],
    wants: [
      `jobctl: unknown command 'sumbit'`,
      '  the nearest is submit',
      '  `jobctl --help` shows what there is',
    ].join('\n'),
  },
  'an unknown verb that is like none': {
    args: ['frobnicate'],
    wants: [`jobctl: unknown command 'frobnicate'`, '  `jobctl --help` shows what there is'].join('\n'),
  },
  'an unknown flag': WITH(
    [
      `jobctl submit: unknown option '--wiat'`,
      '  the nearest is --wait',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--wiat',
  ),
  'a flag that is like none': WITH(
    [`jobctl submit: unknown option '--frobnicate'`, '  `jobctl submit --help` shows what there is'].join('\n'),
    '--frobnicate',
  ),
  'no file': {
    args: ['submit'],
    wants: [`jobctl submit: missing required argument 'file'`, '  `jobctl submit --help` shows what there is'].join(
      '\n',
    ),
  },
  'two files': WITH(
    [
      `jobctl submit: too many arguments for 'submit'`,
      '  expected 1 argument but got 2',
      '  a command goes behind --: jobctl submit FILE -- CMD..',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    'other.yaml',
  ),
  'a command without --': WITH(
    [
      `jobctl submit: too many arguments for 'submit'`,
      '  expected 1 argument but got 3',
      '  a command goes behind --: jobctl submit FILE -- CMD..',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    'python3',
    'train.py',
  ),
  'nothing after --': WITH(
    ['jobctl submit: no command after --', `  such as -- python3 train.py, or -- 'cd src && make train'`].join('\n'),
    '--',
  ),
  'words after -- of another verb': {
    args: ['list', '--', 'x'],
    wants: ['jobctl list: takes no words after --', '  only `jobctl submit FILE -- CMD..` does'].join('\n'),
  },
  'a flag without its value': WITH(
    [`jobctl submit: option '--name <name>' argument missing`, '  `jobctl submit --help` shows what there is'].join(
      '\n',
    ),
    '--name',
  ),
  '--set without =': WITH(
    [`--set slices: 'slices' has no =`, '  write --set key=value, such as --set tpu.accelerator=v6e-8'].join('\n'),
    '--set',
    'slices',
  ),
  '--set of an unknown key': WITH(
    [
      '--set tpu.zonne=us-east1-d: tpu.zonne: no such key in tpu',
      '  did you mean zone?',
      '  known here: accelerator, allocation_mode, name, zone, zones, project, version, pricing, startup_script, tags, metadata, labels, flags, network, subnetwork, external_ips, service_account, scopes, reservation, topology, data_disks, atomic',
    ].join('\n'),
    '--set',
    'tpu.zonne=us-east1-d',
  ),
  '--set with a wrong value': WITH(
    '--set slices=0: slices: 0 is not a whole number from 1 to 256',
    '--set',
    'slices=0',
  ),
  '--set below a value': WITH(
    `--set tpu.accelerator.x=1: tpu.accelerator: 'v5litepod-16' is not a section, so no key can be set below it`,
    '--set',
    'tpu.accelerator.x=1',
  ),
  '--name with capitals': WITH(
    `--name: 'Train_1' is not a name of small letters, digits and dashes that starts with a letter, 50 characters at most`,
    '--name',
    'Train_1',
  ),
  '--name too long': WITH(
    `--name: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... is not a name of small letters, digits and dashes that starts with a letter, 50 characters at most`,
    '--name',
    'a'.repeat(60),
  ),
  '--priority out of range': WITH(
    [
      `jobctl submit: option '--priority <number>' argument '6' is invalid`,
      '  a whole number from 1 to 5',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--priority',
    '6',
  ),
  '--project that is no project': WITH(
    [`--project: project: 'a b' is no project`, '  letters, digits and . _ - + @; 100 at most'].join('\n'),
    '--project',
    'a b',
  ),
  '--output that is no format': WITH(
    [
      `jobctl submit: option '-o, --output <format>' argument 'yaml' is invalid`,
      '  allowed choices are text, json',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--output',
    'yaml',
  ),
  '--phase that is no phase': {
    args: ['list', '--phase', 'runing'],
    wants: [
      `jobctl list: option '--phase <phase>' argument 'runing' is invalid`,
      '  allowed choices are queued, provisioning, setting-up, running, evicting, finishing, succeeded, failed, cancelled',
      '  the nearest is running',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--limit of nothing': {
    args: ['list', '--limit', '0'],
    wants: [
      `jobctl list: option '--limit <rows>' argument '0' is invalid`,
      '  a whole number from 1 to 1000',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--host of text': {
    args: ['logs', 'j', '--host', 'a'],
    wants: [
      `jobctl logs: option '--host <index>' argument 'a' is invalid`,
      '  a whole number from 0 to 100000',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--job beside --host': {
    args: ['logs', 'j', '--job', '--host', '1'],
    wants: [
      `jobctl logs: option '--job' cannot be used with option '--host <index>'`,
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--timeout of text': {
    args: ['wait', 'j', '--timeout', 'soon'],
    wants: [
      `jobctl wait: option '--timeout <duration>' argument 'soon' is invalid`,
      '  a duration such as 90s, 10m or 1h30m',
      '  `jobctl wait --help` shows what there is',
    ].join('\n'),
  },
  'logs without a bucket': {
    args: ['logs', 'j'],
    wants: [
      'no bucket is configured, so the logs of j cannot be read',
      '  jobctl keeps logs and files of jobs in a Google Cloud Storage bucket',
      '  name it with --bucket or JOBCTL_BUCKET, or start a local stack with `jobctl dev up`',
    ].join('\n'),
  },
  'an audit without a bucket': {
    args: ['audit', 'leaks'],
    wants: [
      'no bucket is configured, so the id of this installation cannot be read',
      '  jobctl keeps logs and files of jobs in a Google Cloud Storage bucket',
      '  name it with --bucket or JOBCTL_BUCKET, or start a local stack with `jobctl dev up`',
    ].join('\n'),
  },
  'an audit of something else': {
    args: ['audit', 'leak'],
    wants: [
      `jobctl audit: unknown command 'leak'`,
      '  the nearest is leaks',
      '  `jobctl audit --help` shows what there is',
    ].join('\n'),
  },
  'a worker without a configuration': {
    args: ['worker'],
    wants: [
      `the worker's configuration is wrong:`,
      '  store.bucket: is missing (set it in the file or as JOBCTL_BUCKET)',
      '  ssh.privateKeyFile: is missing (set it in the file or as JOBCTL_SSH_PRIVATE_KEY_FILE)',
      '  ssh.publicKeyFile: is missing (set it in the file or as JOBCTL_SSH_PUBLIC_KEY_FILE)',
      '  googleProject: is missing (set it in the file or as JOBCTL_GOOGLE_PROJECT)',
      '  docs/worker.md lists every field',
    ].join('\n'),
  },
  'a worker whose configuration is not there': {
    args: ['worker', '--config', '/nonexistent/w.json'],
    wants: `/nonexistent/w.json: the worker's configuration cannot be read: ENOENT: no such file or directory, open '/nonexistent/w.json'`,
  },
};
