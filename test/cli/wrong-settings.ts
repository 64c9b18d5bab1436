import type { BadInput } from './bad-input.js';

/** Arguments without their --, texts that are no TOML or JSON, and settings that no server can have. */
export const WRONG_SETTINGS: Readonly<Record<string, BadInput>> = {
  'no command behind --': {
    args: ['exec', 'train-7f3k', 'ls'],
    wants: [
      "jobctl exec: too many arguments for 'exec'",
      '  expected 1 argument but got 2',
      '  a command goes behind --: jobctl exec train-7f3k -- ls',
      '  `jobctl exec --help` shows what there is',
    ].join('\n'),
  },
  'a command with flags and without --': {
    args: ['exec', 'train-7f3k', '--host', '0', 'ls', '-l'],
    wants: [
      "jobctl exec: unknown option '-l'",
      '  a command goes behind --: jobctl exec train-7f3k --host 0 -- ls -l',
      '  `jobctl exec --help` shows what there is',
    ].join('\n'),
  },
  'a command of ssh without --': {
    args: ['ssh', 'train-7f3k', 'df', '/'],
    wants: [
      "jobctl ssh: too many arguments for 'ssh'",
      '  expected 1 argument but got 3',
      '  a command goes behind --: jobctl ssh train-7f3k -- df /',
      '  `jobctl ssh --help` shows what there is',
    ].join('\n'),
  },
  'a port that is a word': {
    args: ['port-forward', 'train-7f3k', 'abc'],
    wants: [
      "jobctl port-forward: ports: 'abc' is invalid",
      '  a port from 1 to 65535, or two of them, LOCAL:REMOTE',
      '  `jobctl port-forward --help` shows what there is',
    ].join('\n'),
  },
  'a port that does not exist': {
    args: ['port-forward', 'train-7f3k', '99999'],
    wants: [
      "jobctl port-forward: ports: '99999' is invalid",
      '  a port from 1 to 65535, or two of them, LOCAL:REMOTE',
      '  `jobctl port-forward --help` shows what there is',
    ].join('\n'),
  },
  'a flag of port-forward that is not known': {
    args: ['port-forward', 'train-7f3k', '80', '--hots', '1'],
    wants: [
      "jobctl port-forward: unknown option '--hots'",
      '  the nearest is --host',
      '  `jobctl port-forward --help` shows what there is',
    ].join('\n'),
  },
  'a host that is a word': {
    args: ['exec', 'train-7f3k', '--host', 'x', '--', 'ls'],
    wants: [
      "jobctl exec: option '--host <hosts>' argument 'x' is invalid",
      '  a number of a host from 0, a list such as 0,2-3, or all',
      '  `jobctl exec --help` shows what there is',
    ].join('\n'),
  },
  'a quota file that is a job file': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n',
    args: ['quota', 'validate', 'FILE'],
    wants: ['FILE:1:4: not TOML: a character that TOML does not expect here; text stands in quotes'].join('\n'),
  },
  'a value of TOML without quotes': {
    text: 'zones = [us-central1-a]\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: ['FILE:1:10: not TOML: a character that TOML does not expect here; text stands in quotes'].join('\n'),
  },
  'two values in a line of TOML': {
    text: 'google_project = "p" zones = ["a"]\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: [
      'FILE:1:22: not TOML: something stands behind the end of the value; one key = value on a line, and text in quotes',
    ].join('\n'),
  },
  'a list of TOML that is not closed': {
    text: 'zones = ["us-central1-a"\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: ['FILE:2:1: not TOML: a list is not closed: ] is missing'].join('\n'),
  },
  'a key of TOML twice': {
    text: 'google_project = "p"\ngoogle_project = "q"\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: ['FILE:2:1: not TOML: the key is there twice'].join('\n'),
  },
  'a text of TOML that is not closed': {
    text: 'google_project = "p\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: ['FILE:1:20: not TOML: a quote is not closed in this line'].join('\n'),
  },
  'a job spec that is not JSON': {
    text: '{',
    args: ['import', 'bastion-jobspec', 'FILE'],
    wants: [
      'FILE: is not JSON',
      '  jobctl import bastion-jobspec takes the JSON that serialize_jobspec of AXLearn writes',
    ].join('\n'),
  },
  'a job spec that is JSON of something else': {
    text: '{"a": 1}',
    args: ['import', 'bastion-jobspec', 'FILE'],
    wants: [
      'FILE: has no command (a text) and metadata, so it is no job spec of Bastion',
      '  jobctl import bastion-jobspec takes the JSON that serialize_jobspec of AXLearn writes',
    ].join('\n'),
  },
  'a job spec of a type that does not exist': {
    text: '{"name": "x", "command": "python3 x.py", "metadata": {"resources": {"v4": 7}, "job_id": "1"}}',
    args: ['import', 'bastion-jobspec', 'FILE'],
    wants: [
      'FILE: no job file can be made of it, since the job would not run',
      "  tpu.accelerator: 'v4-7' is no Cloud TPU type",
      '    the nearest is v4-8 (1 host)',
      '    allowed: v4-8, v4-16, v4-32, v4-64, v4-128, v4-256, v4-512, v4-1024, v4-1536, v4-2048, v4-4096',
      '    the number counts TensorCores: two a chip',
      "  lost  metadata.job_id: '1'  a submit is a new job with an id of its own",
    ].join('\n'),
  },
  'a JobMan file that is wrong itself': {
    text: 'job: {name: a}\ntpu: {accelerator: v6e-3, zone: us-east1-d}\n',
    args: ['import', 'jobman', 'FILE'],
    wants: [
      "FILE:2:20: accelerator: 'v6e-3' is no Cloud TPU type",
      '  the nearest are v6e-1 (1 host) and v6e-4 (1 host)',
      '  allowed: v6e-1, v6e-4, v6e-8, v6e-16, v6e-32, v6e-64, v6e-128, v6e-256',
    ].join('\n'),
  },
  'an import of launch without a line': {
    args: ['import', 'launch'],
    wants: [
      'jobctl import launch: no command line after --',
      '  such as jobctl import launch -- --instance_type=tpu-v4-32 --max_tries=3 -- python3 train.py',
    ].join('\n'),
  },
  'an import of launch list': {
    args: ['import', 'launch', '--', 'list'],
    wants: [
      'jobctl import launch: `launch list` submits no job',
      '  `jobctl launch list` says which line of jobctl does the same',
    ].join('\n'),
  },
  'words behind -- of another import': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n',
    args: ['import', 'jobman', 'FILE', '--', 'x'],
    wants: [
      'jobctl import: takes no words after --',
      '  only `jobctl submit FILE -- CMD..`, `launch -- CMD..`, `exec JOB -- CMD..` and `ssh JOB -- OPTIONS` do',
    ].join('\n'),
  },
  'an import of something else': {
    args: ['import', 'jobmann', 'x'],
    wants: [
      "jobctl import: unknown command 'jobmann'",
      '  the nearest is jobman',
      '  `jobctl import --help` shows what there is',
    ].join('\n'),
  },
  'an import into a folder that does not exist': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n',
    args: ['import', 'jobman', 'FILE', '-o', '/proc/none/job.yaml'],
    wants: ['/proc/none/job.yaml: cannot be written: its folder does not exist', '  nothing was changed'].join('\n'),
  },
  'TEMPORAL_ADDRESS with a port that does not exist': {
    args: ['list'],
    env: { TEMPORAL_ADDRESS: '127.0.0.1:99999' },
    wants: [
      "TEMPORAL_ADDRESS: '127.0.0.1:99999' has no port that exists: 99999",
      '  a port is a number from 1 to 65535; Temporal listens at 7233',
    ].join('\n'),
  },
  'TEMPORAL_ADDRESS that is a URL': {
    args: ['list'],
    env: { TEMPORAL_ADDRESS: 'http://127.0.0.1:7233' },
    wants: [
      "TEMPORAL_ADDRESS: 'http://127.0.0.1:7233' is a URL, and a host and port are wanted",
      '  write 127.0.0.1:7233',
    ].join('\n'),
  },
  '--temporal-address that is a URL': {
    args: ['list', '--temporal-address', 'https://t.example.org:7233/x'],
    wants: [
      "--temporal-address: 'https://t.example.org:7233/x' is a URL, and a host and port are wanted",
      '  write t.example.org:7233',
    ].join('\n'),
  },
  'JOBCTL_BUCKET that is a URL': {
    args: ['logs', 'j'],
    env: { JOBCTL_BUCKET: 'gs://team-jobs/x' },
    wants: ["JOBCTL_BUCKET: 'gs://team-jobs/x' is not the name of a bucket", '  the name alone: team-jobs'].join('\n'),
  },
  'JOBCTL_BUCKET that is a path': {
    args: ['logs', 'j'],
    env: { JOBCTL_BUCKET: '/srv/jobs' },
    wants: ["JOBCTL_BUCKET: '/srv/jobs' is not the name of a bucket", '  a folder is file:///ABSOLUTE/PATH'].join('\n'),
  },
  'JOBCTL_BUCKET that names no bucket of S3': {
    args: ['logs', 'j'],
    env: { JOBCTL_BUCKET: 's3:///jobs' },
    wants: [
      "JOBCTL_BUCKET: 's3:///jobs' names no bucket of S3",
      '  s3://BUCKET or s3://BUCKET/PREFIX; 3 to 63 small letters, digits, - and dots',
    ].join('\n'),
  },
  'JOBCTL_BUCKET of a store that nobody knows': {
    args: ['logs', 'j'],
    env: { JOBCTL_BUCKET: 'az://jobs' },
    wants: [
      "JOBCTL_BUCKET: 'az://jobs' names a store that jobctl does not know: az",
      '  NAME or gs://NAME (Google Cloud Storage), s3://BUCKET or s3://BUCKET/PREFIX, or file:///ABSOLUTE/PATH',
    ].join('\n'),
  },
  'JOBCTL_STORE_ENDPOINT that is no URL': {
    args: ['logs', 'j'],
    env: { JOBCTL_STORE_ENDPOINT: 'nonsense' },
    wants: ["JOBCTL_STORE_ENDPOINT: 'nonsense' is not a URL", '  such as http://127.0.0.1:4443'].join('\n'),
  },
  'JOBCTL_TPU_REST_ENDPOINT that is no URL': {
    args: ['audit', 'leaks'],
    env: { JOBCTL_TPU_REST_ENDPOINT: 'localhost:80' },
    wants: ["JOBCTL_TPU_REST_ENDPOINT: 'localhost:80' is not a URL", '  such as http://127.0.0.1:4443'].join('\n'),
  },
  'JOBCTL_SSH_PORT that is a word': {
    args: ['ssh', 'j'],
    env: { JOBCTL_SSH_PORT: 'abc', TEMPORAL_ADDRESS: '127.0.0.1:1' },
    wants: ["JOBCTL_SSH_PORT: 'abc' is no port", '  a whole number from 1 to 65535'].join('\n'),
  },
  'JOBCTL_CODEC_KEY that is no reference': {
    args: ['list'],
    env: { JOBCTL_CODEC_KEY: 'nonsense', TEMPORAL_ADDRESS: '127.0.0.1:1' },
    wants: [
      'codec key: what is given is no reference to a key: wanted file:///PATH, env:NAME or projects/P/secrets/S/versions/V (Secret Manager)',
    ].join('\n'),
  },
  'the configuration of a worker that is not JSON': {
    text: '{"a" 1}',
    args: ['worker', '--config', 'FILE'],
    wants: ['FILE: is not JSON at line 1, column 6'].join('\n'),
  },
  'the configuration of a worker that is empty': {
    text: '',
    args: ['worker', '--config', 'FILE'],
    wants: ['FILE: is not JSON: it is empty'].join('\n'),
  },
  'the configuration of a worker with wrong values': {
    text: '{"store": {"bucket": "b"}, "googleProject": 7, "hostz": {}}',
    args: ['worker', '--config', 'FILE'],
    wants: [
      "the worker's configuration DIR/job.yaml is wrong:",
      '  store.bucket: "b" is not the name of a bucket: small letters, digits, -, _ and dots; a letter or digit at both ends (set it in the file or as JOBCTL_BUCKET)',
      '  ssh.privateKeyFile: is missing (set it in the file or as JOBCTL_SSH_PRIVATE_KEY_FILE)',
      '  ssh.publicKeyFile: is missing (set it in the file or as JOBCTL_SSH_PUBLIC_KEY_FILE)',
      '  googleProject: is not text (set it in the file or as JOBCTL_GOOGLE_PROJECT)',
      '  (the whole): no such key: hostz',
      '  docs/worker.md lists every field',
    ].join('\n'),
  },
};
