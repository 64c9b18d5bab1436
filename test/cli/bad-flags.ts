import { join } from 'node:path';
import { type BadInput, SUBMIT, WITH } from './bad-input.js';

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
  'a flag that has taken the job for its value': {
    args: ['restart', '--replace', 'train-7f3k', '--by', 'ann'],
    wants: [
      `jobctl restart: missing required argument 'job'`,
      "  --replace takes the word behind it, 'train-7f3k', as its own; write the job first: jobctl restart train-7f3k --replace --by ann",
      '  `jobctl restart --help` shows what there is',
    ].join('\n'),
  },
  'a drawing of no metric': {
    args: ['plot', 'train-7f3k', '--svg', 'loss.svg'],
    wants: ['plot --svg: which metric?', '  name one: --metric loss; `jobctl plot JOB` lists them'].join('\n'),
  },
  'the best of no metric': {
    args: ['status', 'sweep-0q1d', '--best', 'min'],
    wants: ['status --best: of which metric?', '  name one: --metric loss'].join('\n'),
  },
  'slices that are a job': {
    args: ['restart', 'train-7f3k', '--replace', 'train-7f3k'],
    wants: [
      "--replace: 'train-7f3k' is no slice",
      '  it takes numbers of slices from 0, such as --replace 0,3, or nothing for all; the job stands before it: jobctl restart JOB --replace',
    ].join('\n'),
  },
  ...Object.fromEntries(
    (
      [
        [['--accelerator', 'v5litepod-16'], 'v5litepod-16'],
        [['--accelerators', 'tpu-v6e-8:1'], 'v6e-8'],
        [['--accelerator-type=v5e-16'], 'v5litepod-16'],
        [['--machine-type', 'v4-8'], 'v4-8'],
        [['--accelerators', 'A100:8'], undefined],
        [['--accelerator=h100'], undefined],
        [['--machine-type', 'n2-standard-8'], undefined],
        [['--instance_type=a3-highgpu-8g'], undefined],
      ] as const
    ).map(([words, tpu]) => {
      const flag = words[0].startsWith('--accelerator');
      const gpus =
        'GPUs: `jobctl launch --gpus N --gpu-type TYPE -- CMD..` on a cluster, or the section kubernetes, compute_engine or machines of a job file';
      const vms = 'VMs: the section compute_engine of a job file, with machine_type and zone';
      const hint =
        tpu === undefined
          ? ['  the type of a TPU slice: --tpu v5litepod-16, for example', `  ${flag ? gpus : vms}`]
          : [`  the type of a TPU slice: --tpu ${tpu}`];
      const lines = [
        `jobctl submit: unknown option '${words[0]}'`,
        ...hint,
        '  `jobctl submit --help` shows what there is',
      ];
      return [`${words.join(' ')}, as other tools name machines`, WITH(lines.join('\n'), ...words)];
    }),
  ),
  'an unknown flag': WITH(
    [
      `jobctl submit: unknown option '--wiat'`,
      '  the nearest is --wait',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--wiat',
  ),
  ...Object.fromEntries(
    ['--gpu', '--gpu-type', '--num-gpus', '--ngpus', '--gpus-per-node', '--gres=gpu:2'].map((flag) => [
      `${flag}, which by its letters is near to --tpu`,
      WITH(
        [
          `jobctl submit: unknown option '${flag}'`,
          '  GPUs: `jobctl launch --gpus N --gpu-type TYPE -- CMD..` on a cluster, or the section kubernetes, compute_engine or machines of a job file',
          '  `jobctl submit --help` shows what there is',
        ].join('\n'),
        flag,
      ),
    ]),
  ),
  ...Object.fromEntries(
    [
      ['--gpu', '--gpus'],
      ['--num-gpus', '--gpus'],
      ['--ngpus', '--gpus'],
      ['--gpus-per-node', '--gpus'],
      ['--gres=gpu:2', '--gpus'],
      ['--gpus-type', '--gpu-type'],
    ].map(([flag, near]) => [
      `${flag} of launch`,
      {
        args: ['launch', `${flag}`, '--', 'true'],
        wants: `jobctl launch: unknown option '${flag}'\n  the nearest is ${near}\n  \`jobctl launch --help\` shows what there is`,
      },
    ]),
  ),
  'a flag that is like none': WITH(
    [`jobctl submit: unknown option '--frobnicate'`, '  `jobctl submit --help` shows what there is'].join('\n'),
    '--frobnicate',
  ),
  'neither a file nor --tpu': {
    args: ['submit', '--spot', '--', 'python3', 'train.py'],
    wants: [
      'jobctl submit: neither a job file nor --tpu is given',
      '  jobctl submit train.yaml, or jobctl submit --tpu v5litepod-16 -- python3 train.py',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--tpu without a command': {
    args: ['submit', '--tpu', 'v5litepod-16', '--zone', 'us-central1-a'],
    wants: [
      'jobctl submit: --tpu without a job file needs a command after --',
      '  such as jobctl submit --tpu v5litepod-16 -- python3 train.py',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--tpu of a type that is none, without a file': {
    args: ['submit', '--tpu', 'v5litepod-17', '--zone', 'us-central1-a', '--', 'python3', 'train.py'],
    wants: [
      "--tpu: tpu.accelerator: 'v5litepod-17' is no Cloud TPU type",
      '  the nearest are v5litepod-16 (4 hosts) and v5litepod-32 (8 hosts)',
      '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
    ].join('\n'),
  },
  '--pricing that is none': {
    args: ['submit', '--tpu', 'v5litepod-16', '--pricing', 'spto', '--dry-run', '--', 'true'],
    wants: [
      "--pricing: tpu.pricing: 'spto' is not one of the allowed words",
      '  did you mean spot?',
      '  allowed: spot, ondemand, preemptible, reserved, flex-start, any',
    ].join('\n'),
  },
  '--spot beside --pricing': {
    args: ['submit', '--tpu', 'v5litepod-16', '--spot', '--pricing', 'any', '--', 'true'],
    wants: [
      "jobctl submit: option '--spot' cannot be used with option '--pricing <pricing>'",
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--zone that is no zone, in the place of a list': {
    text: 'tpu: {accelerator: v5litepod-16, zones: [us-central1-a]}\ncommand: {run: echo hi}\n',
    args: [...SUBMIT, '--zone', 'us-east1'],
    wants: [
      "--zone: tpu.zones[0]: 'us-east1' is no zone",
      '  us-east1 is a region: its zones end in a letter, such as us-east1-b',
    ].join('\n'),
  },
  'a bundle that is not there, without a file': {
    args: ['submit', '--tpu', 'v5litepod-16', '--bundle', 'nowhere', '--dry-run', '--', 'true'],
    wants: [
      "--bundle: bundle.dir: 'nowhere' does not exist",
      `  looked for at ${join(process.cwd(), 'nowhere')}; a relative path starts at the current folder`,
    ].join('\n'),
  },
  'a program that is not there, in the place of the job file': {
    args: ['submit', 'train.py', '--spot'],
    wants: ['train.py: does not exist', '  the path of a job file (YAML) is wanted; `jobctl init` writes one'].join(
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
  "Bastion's quotes inside quotes": WITH(
    [
      "--: the word 'import jax; print(jax.devices())' still has its single quotes after your shell has read it",
      '  jobctl quotes each word itself, so the program would get the quotes too: Python takes that for a string and does nothing',
      "  without them: jobctl submit DIR/job.yaml -- python3 -c 'import jax; print(jax.devices())'",
      '  --literal-quotes passes the quotes on, if that is what you want',
    ].join('\n'),
    '--',
    'python3',
    '-c',
    "'import jax; print(jax.devices())'",
  ),
  "Bastion's quotes around quotes": WITH(
    [
      "--: the word 'print('\\''hi'\\'')' still has its single quotes after your shell has read it",
      '  jobctl quotes each word itself, so the program would get the quotes too: Python takes that for a string and does nothing',
      "  without them: jobctl submit DIR/job.yaml -- python3 -c 'print('\\''hi'\\'')'",
      '  --literal-quotes passes the quotes on, if that is what you want',
    ].join('\n'),
    '--',
    'python3',
    '-c',
    "'print('\\''hi'\\'')'",
  ),
  'a whole command in quotes inside quotes': WITH(
    [
      "--: the word 'python3 train.py --lr 3' still has its single quotes after your shell has read it",
      '  the hosts would look for a command of that name, blanks included',
      "  without them: jobctl submit DIR/job.yaml -- 'python3 train.py --lr 3'",
      '  --literal-quotes passes the quotes on, if that is what you want',
    ].join('\n'),
    '--',
    "'python3 train.py --lr 3'",
  ),
  'words after -- of another verb': {
    args: ['list', '--', 'x'],
    wants: [
      'jobctl list: takes no words after --',
      '  only `jobctl submit FILE -- CMD..`, `launch -- CMD..`, `exec JOB -- CMD..` and `ssh JOB -- OPTIONS` do',
    ].join('\n'),
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
    ['--set tpu.zonne=us-east1-d: tpu.zonne: no such key in tpu', '  did you mean zone?'].join('\n'),
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
      `jobctl list: option '--phase <phases>' argument 'runing' is invalid`,
      '  allowed choices are queued, provisioning, setting-up, running, paused, released, evicting, holding, finishing, succeeded, failed, cancelled, terminated',
      '  the nearest is running',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  'neither jobs nor a filter': {
    args: ['cancel', '--yes'],
    wants: [
      'jobctl cancel: which jobs?',
      "  jobctl cancel JOB.. names them; jobctl cancel --name 'lr-*' --mine describes them",
      '  `jobctl cancel --help` shows every filter',
    ].join('\n'),
  },
  '--limit of nothing': {
    args: ['list', '--limit', '0'],
    wants: [
      `jobctl list: option '--limit <rows>' argument '0' is invalid`,
      '  a whole number from 1 to 100000',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--host of text': {
    args: ['logs', 'j', '--host', 'a'],
    wants: [
      `jobctl logs: option '--host <hosts>' argument 'a' is invalid`,
      '  a number of a host from 0, a list such as 0,2-3, or all',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--job beside --host': {
    args: ['logs', 'j', '--job', '--host', '1'],
    wants: [
      `jobctl logs: option '--job' cannot be used with option '--host <hosts>'`,
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--job beside --tail': {
    args: ['logs', 'j', '--job', '--tail', '5'],
    wants: [
      `jobctl logs: option '--job' cannot be used with option '--tail <lines>'`,
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--tail of less than nothing': {
    args: ['logs', 'j', '--tail', '-5'],
    wants: [
      `jobctl logs: option '--tail <lines>' argument '-5' is invalid`,
      '  a whole number from 0 to 10000000',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--since of a word': {
    args: ['logs', 'j', '--since', 'yesterday'],
    wants: [
      `jobctl logs: option '--since <time>' argument 'yesterday' is invalid`,
      '  how long ago, such as 90s, 10m or 1h30m, or a time such as 2026-11-23T10:00:00Z or 2026-11-23',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--grep of no regular expression': {
    args: ['logs', 'j', '--grep', 'loss ('],
    wants: [
      "--grep: 'loss (' is not a regular expression: missing closing ), at character 6: `(`",
      '  RE2 syntax: most of grep -E and Python, without look-around and backreferences; \\ before a character takes it literally',
    ].join('\n'),
  },
  'submit --host without --wait': {
    args: ['submit', 'job.yaml', '--host', '0'],
    wants: [
      'jobctl submit: --host says whose lines --wait shows, and --wait is not given',
      '  `jobctl logs JOB --host 0,2` shows the lines of a job that was submitted',
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
      '  jobctl keeps logs and files of jobs in a bucket of Cloud Storage or S3, or in a folder that its workers share',
      '  name it with --bucket or JOBCTL_BUCKET, or start a local stack with `jobctl dev up`',
    ].join('\n'),
  },
  'an audit without a bucket': {
    args: ['audit', 'leaks'],
    wants: [
      'no bucket is configured, so the id of this installation cannot be read',
      '  jobctl keeps logs and files of jobs in a bucket of Cloud Storage or S3, or in a folder that its workers share',
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
      '  docs/worker.md lists every field',
    ].join('\n'),
  },
  'a worker whose configuration is not there': {
    args: ['worker', '--config', '/nonexistent/w.json'],
    wants: `/nonexistent/w.json: the worker's configuration cannot be read: it does not exist`,
  },
};
