import type { BadInput } from './bad-input.js';

/** Files of other tools, texts that are no YAML, TOML or JSON, and settings that no server can have. */
export const FOREIGN_INPUT: Readonly<Record<string, BadInput>> = {
  'a Python program under the name of a job file': {
    text: 'import sys, os\n\ndef main():\n  print("x: %s" % 1)\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a Python program, and a job file (YAML) is wanted',
      '  without a job file: jobctl submit --tpu v5litepod-16 --bundle . -- python3 DIR/job.yaml',
      '  `jobctl init` writes a job file for the folder that it is run in',
    ].join('\n'),
  },
  'a shell script': {
    text: '#!/bin/bash\nset -e\npython3 train.py\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a shell script, and a job file (YAML) is wanted',
      '  without a job file: jobctl submit --tpu v5litepod-16 --bundle . -- bash DIR/job.yaml',
      '  `jobctl init` writes a job file for the folder that it is run in',
    ].join('\n'),
  },
  'a batch script of Slurm': {
    text: '#!/bin/bash\n#SBATCH --job-name=exp\n#SBATCH -N 4\n#SBATCH --time=01:00:00\nsrun python3 train.py\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a batch script of Slurm, and a job file (YAML) is wanted',
      '  on a TPU: jobctl submit --tpu v5litepod-16 --name exp --set timeouts.run=1h --bundle . -- bash DIR/job.yaml',
      '  --tpu is yours to choose: v5litepod-16 has 4 hosts, and the script runs on each',
      '  `srun`: leave it out: the script runs on every host',
      '  `jobctl init` writes a job file for the folder that it is run in',
    ].join('\n'),
  },
  'a batch script of Slurm without srun': {
    text: '#!/bin/bash\n#SBATCH -p tpu\npython3 train.py\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a batch script of Slurm, and a job file (YAML) is wanted',
      '  on a TPU: jobctl submit --tpu v5litepod-8 --bundle . -- bash DIR/job.yaml',
      '  --tpu is yours to choose: v5litepod-8 has 1 host, and the script runs on each',
      '  not carried over:',
      '    -p tpu: the quota of its pool says who may use what: pool, project and user in a job file',
      '  `jobctl init` writes a job file for the folder that it is run in',
    ].join('\n'),
  },
  'a task of SkyPilot': {
    text: 'name: exp\nresources:\n  accelerators: tpu-v5litepod-16\n  use_spot: true\n  zone: us-central1-a\nnum_nodes: 2\nworkdir: .\nenvs: {A: "1"}\nfile_mounts: {/data: gs://b}\nsetup: pip install -r requirements.txt\nrun: |\n  python3 train.py\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a task of SkyPilot, and a job file (YAML) is wanted',
      '  in a job file it is:',
      '    name: exp',
      '    slices: 2',
      '    tpu: {accelerator: v5litepod-16, zone: us-central1-a, pricing: spot}',
      '    bundle: {dir: ., install: pip install -r requirements.txt}',
      '    env: {A: "1"}',
      '    gcsfuse: {bucket_name: b, mount_path: /data}',
      '    command: {run: python3 train.py}',
    ].join('\n'),
  },
  'a task of SkyPilot on GPUs': {
    text: 'resources: {accelerators: "A100:8"}\nrun: python3 train.py\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a task of SkyPilot, and a job file (YAML) is wanted',
      '  in a job file it is:',
      '    kubernetes: {image: .., gpus: 8, gpu_type: a100} # GPUs in pods; compute_engine is for VMs of Google Cloud, machines for your own',
      '    command: {run: python3 train.py}',
    ].join('\n'),
  },
  'a configuration of dstack': {
    text: 'type: task\ncommands: [pip install jax, python3 train.py]\nresources: {gpu: v5litepod-8}\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a configuration of dstack, and a job file (YAML) is wanted',
      '  in a job file it is:',
      '    tpu: {accelerator: v5litepod-8, zone: .., pricing: ondemand}',
      '    bundle: {dir: .} # the folder of the repository, as dstack brings it',
      '    command:',
      '      run: |-',
      '        set -e',
      '        pip install jax',
      '        python3 train.py',
    ].join('\n'),
  },
  'a Job of Kubernetes': {
    text: 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: exp}\nspec:\n  template:\n    spec:\n      containers:\n      - image: gcr.io/p/i:1\n        command: [python3, -c]\n        args: [print(1)]\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a manifest of Kubernetes (Job), and a job file (YAML) is wanted',
      '  in a job file it is:',
      '    name: exp',
      '    kubernetes: {image: gcr.io/p/i:1}',
      "    command: {run: python3 -c 'print(1)'}",
      '    retries: {task: 6} # the backoffLimit of a Job that names none',
    ].join('\n'),
  },
  'a JobSet of Kubernetes': {
    text: 'apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: exp}\nspec:\n  replicatedJobs:\n  - template:\n      spec:\n        parallelism: 4\n        template:\n          spec:\n            nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice, cloud.google.com/gke-tpu-topology: 4x4}\n            containers: [{image: i, command: [python3, train.py]}]\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a manifest of Kubernetes (JobSet), and a job file (YAML) is wanted',
      '  in a job file it is:',
      '    name: exp',
      '    kubernetes: {image: i, tpu: {accelerator: tpu-v5-lite-podslice, topology: 4x4}}',
      '    command: {run: python3 train.py}',
      '    retries: {task: 6} # the backoffLimit of a Job that names none',
    ].join('\n'),
  },
  'an Indexed Job of Kubernetes with GPUs': {
    text: 'apiVersion: batch/v1\nkind: Job\nspec:\n  completions: 2\n  parallelism: 2\n  template:\n    spec:\n      containers: [{image: i, resources: {limits: {nvidia.com/gpu: 8}}}]\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a manifest of Kubernetes (Job), and a job file (YAML) is wanted',
      '  in a job file it is:',
      '    kubernetes: {image: i, workers: 2, gpus: 8, gpu_type: ..}',
      '    command: {run: ..} # what the image starts by itself',
      '    retries: {task: 6} # the backoffLimit of a Job that names none',
    ].join('\n'),
  },
  'a Service of Kubernetes': {
    text: 'apiVersion: v1\nkind: Service\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a manifest of Kubernetes (Service), and a job file (YAML) is wanted',
      '  it has no pods of a job: a job file names the image and the command of its own',
      '  in a job file: kubernetes: {image: ..} and command: {run: ..}',
    ].join('\n'),
  },
  'a file of Docker Compose': {
    text: 'services: {web: {image: nginx}}\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a file of Docker Compose, and a job file (YAML) is wanted',
      '  a job file runs one command: docker: {image: ..} or kubernetes: {image: ..}, and command: {run: ..}',
      '  `jobctl init` writes a job file for the folder that it is run in',
    ].join('\n'),
  },
  'a Dockerfile': {
    text: 'FROM python:3.10\nRUN pip install jax\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is a Dockerfile, and a job file (YAML) is wanted',
      '  a job file has it built, by a section build: {image: ghcr.io/team/train}',
      '  `jobctl init` writes a job file for the folder that it is run in',
    ].join('\n'),
  },
  'a quota file': {
    text: '[toml-schema]\nversion = "1"\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE: this is TOML, and a job file (YAML) is wanted',
      '  a pool or quota file is checked by: jobctl validate DIR/job.yaml --kind quota (or pool)',
      '  a job file is YAML',
    ].join('\n'),
  },
  'a job spec of Bastion': {
    text: '{"command": "python3 x.py", "metadata": {"user_id": "a"}}',
    args: ['submit', 'FILE'],
    wants: [
      "FILE: this is a job spec of AXLearn's Bastion, and a job file (YAML) is wanted",
      '  jobctl import bastion-jobspec DIR/job.yaml -o job.yaml',
      '  docs/migrating.md says what becomes of each key',
    ].join('\n'),
  },
  "Bastion's keys in a job file": {
    text: 'max_tries: 3\nenv_vars: {A: 1}\ncleanup_command: rm x\nnum_slices: 2\nproject_id: vision\nuser_id: ann\ntpu: {accelerator: v5litepod-16, zone: us-central1-a}\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:1:1: max_tries: no such key in a job file',
      '  write retries: {task: 2}, which are the tries behind the first; preemptions have a budget of their own',
      'FILE:2:1: env_vars: no such key in a job file',
      '  write env: {"A":1}',
      'FILE:3:1: cleanup_command: no such key in a job file',
      '  write hooks: {finally: "rm x"}',
      'FILE:4:1: num_slices: no such key in a job file',
      '  write slices: 2',
      'FILE:5:1: project_id: no such key in a job file',
      '  write project: vision',
      'FILE:6:1: user_id: no such key in a job file',
      '  write user: ann',
    ].join('\n'),
  },
  'keys of launch in a job file': {
    text: 'instance_type: tpu-v4-8\nbundler_type: docker\nbundler_exclude: [data]\ntpu: {accelerator: v5litepod-16, zone: us-central1-a}\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:1:1: instance_type: no such key in a job file',
      '  write tpu: {accelerator: v4-8}',
      'FILE:2:1: bundler_type: no such key in a job file',
      '  write bundle: {dir: .}, or build: {image: ..}, whose image is built at submit',
      'FILE:3:1: bundler_exclude: no such key in a job file',
      '  write bundle: {dir: ., exclude: ["data"]}',
    ].join('\n'),
  },
  "SkyPilot's keys in a job file": {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\nworkdir: .\nenvs: {A: 1}\nnum_nodes: 2\nrun: python3 train.py\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:2:1: workdir: no such key in a job file',
      '  write bundle: {dir: .}',
      'FILE:3:1: envs: no such key in a job file',
      '  write env: {"A":1}',
      'FILE:4:1: num_nodes: no such key in a job file',
      '  the hosts come with the type of the slice; slices: N is for several slices',
      'FILE:5:1: run: no such key in a job file',
      '  write command: {run: "python3 train.py"}',
    ].join('\n'),
  },
  'keys of the section tpu at the top': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\naccelerator: v6e-8\nspot: true\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:2:1: accelerator: no such key in a job file',
      '  write it below tpu: tpu: {accelerator: v6e-8}',
      'FILE:3:1: spot: no such key in a job file',
      '  write tpu: {pricing: spot}',
    ].join('\n'),
  },
  'an image at the top': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\nimage: python:3.10\n',
    args: ['submit', 'FILE'],
    wants: ['FILE:2:1: image: no such key in a job file', '  write docker: {image: python:3.10}'].join('\n'),
  },
  "JobMan's task queue": {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\njob: {name: a}\nqueue: {enabled: true}\nworker_num: 2\nbrevo_email: x@y\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:3:1: queue: no such key in a job file',
      '  jobctl has no list of tasks: each task is a job, and its pool queues them by quota',
      'FILE:4:1: worker_num: no such key in a job file',
      '  jobctl has no list of tasks: each task is a job, and its pool queues them by quota',
      'FILE:5:1: brevo_email: no such key in a job file',
      '  write notify: {to: {mail: [ADDRESS]}}, which sends a mail at the end (docs/notify.md)',
    ].join('\n'),
  },
  'a colon in a text': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand:\n  run: echo a: b\n',
    args: ['submit', 'FILE'],
    wants: ["FILE:3:8: not YAML: a second key in one line; put the text in quotes if it is meant as text: 'a: b'"].join(
      '\n',
    ),
  },
  'a quote that is not closed': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand:\n  run: "echo\n',
    args: ['submit', 'FILE'],
    wants: ['FILE:4:1: not YAML: a bracket, quote, comma or colon is missing here or before'].join('\n'),
  },
  'a backslash in double quotes': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand: {run: "echo \\w"}\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:2:22: not YAML: a backslash that YAML does not know in double quotes; write \\\\ for one, or use single quotes',
    ].join('\n'),
  },
  'a text that begins with a percent sign': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand:\n  run: %x\n',
    args: ['submit', 'FILE'],
    wants: [
      "FILE:3:8: not YAML: a text may not begin with this character; put the text in quotes if it is meant as text: 'a: b'",
    ].join('\n'),
  },
  'a text that begins with an at sign': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand:\n  run: @x\n',
    args: ['submit', 'FILE'],
    wants: [
      "FILE:3:8: not YAML: a text may not begin with this character; put the text in quotes if it is meant as text: 'a: b'",
    ].join('\n'),
  },
  'an alias of nothing': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\nenv: *x\n',
    args: ['submit', 'FILE'],
    wants: ['FILE:1:1: not YAML: an alias (*name) without the anchor (&name) that it names'].join('\n'),
  },
  'a line that is not indented as the others': {
    text: 'tpu:\n    accelerator: v6e-8\n  zone: us-east1-d\n',
    args: ['submit', 'FILE'],
    wants: ['FILE:3:1: not YAML: this line is not indented as the lines around it'].join('\n'),
  },
  'a list beside keys': {
    text: 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n- a\n',
    args: ['submit', 'FILE'],
    wants: [
      'FILE:2:1: not YAML: a key that goes on over several lines; is a colon missing, or a quote not closed?',
    ].join('\n'),
  },
};
