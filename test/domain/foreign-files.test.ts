import assert from 'node:assert/strict';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { parse } from 'yaml';
import { assertPrintedIsValid, printedJob } from '../printed-job.js';

/** What a file is called, and what is written instead. */
function refusal(text: string, file = 'job.yaml'): string {
  const job = parseJobFile(text, { file, env: {} });
  assert.ok(!job.ok, text);
  const said = job.problems.map(({ message, hint }) => `${message}\n${hint ?? ''}`).join('\n');
  assertPrintedIsValid(said);
  return said;
}

/** Each shape of a file, and lines of what it gives; behind `!` what it must not give. */
function gives(
  shapes: Readonly<Record<string, readonly string[]>>,
  of: (shape: string) => string = (shape) => shape,
  file = 'job.yaml',
): void {
  for (const [shape, lines] of Object.entries(shapes))
    it(shape.replaceAll('\n', ' ; '), () => {
      const said = refusal(of(shape), file);
      for (const line of lines)
        if (line.startsWith('!')) assert.ok(!said.includes(line.slice(1)), said);
        else
          assert.ok(
            said.split('\n').some((each) => each.includes(line)),
            `${line}\n\n${said}`,
          );
    });
}

describe('files of other tools in other shapes', () => {
  describe('TPUs of SkyPilot', () => {
    const task = (resources: string): string => `resources: {${resources}}\nrun: python3 a.py\n`;
    gives(
      {
        'accelerators: tpu-v5litepod-8': ['tpu: {accelerator: v5litepod-8, zone: .., pricing: ondemand}'],
        'accelerators: {tpu-v6e-8: 1}, use_spot: true': ['tpu: {accelerator: v6e-8, zone: .., pricing: spot}'],
        'accelerators: [TPU-V4-8], zone: us-central2-b': [
          'tpu: {accelerator: v4-8, zone: us-central2-b, pricing: ondemand}',
        ],
        'accelerators: tpu-v5e-8, infra: gcp/us-west4/us-west4-a': ['tpu: {accelerator: v5litepod-8, zone: us-west4-a'],
        'accelerators: tpu-v5p-8, infra: gcp/us-east5': ['zone: ..', '# a zone of us-east5'],
        'accelerators: tpu-v5p-8, any_of: [{zone: us-east5-a}, {infra: gcp/us-central1/us-central1-a}]': [
          'zones: [us-east5-a, us-central1-a]',
        ],
        'ordered: [{accelerators: tpu-v6e-4, use_spot: true}, {accelerators: tpu-v5p-8}]': [
          'tpu: {accelerator: v6e-4, zone: .., pricing: spot}',
          'resources.accelerators tpu-v5p-8: a job has one type',
        ],
        'accelerators: {tpu-v5-lite-podslice: 4}': [
          'kubernetes: {image: .., tpu: {accelerator: tpu-v5-lite-podslice, topology: ..}} # 4 on a node',
          '!zone',
        ],
        'accelerators: tpu-v6e-8, image_id: docker:some/image': ['docker: {image: some/image}'],
      },
      task,
    );
    it('several nodes are several slices', () =>
      assert.match(refusal('num_nodes: 2\nresources: {accelerators: tpu-v4-8}\nrun: x\n'), /slices: 2/));
  });

  describe('other machines of SkyPilot are no TPUs', () => {
    gives(
      {
        'accelerators: V100:4': ['gpus: 4, gpu_type: v100', '!tpu:'],
        'accelerators: {H100: 8, A100: 8}, use_spot: true': ['gpus: 8, gpu_type: h100', 'A100:8', 'resources.use_spot'],
        'cpus: 4+': ['kubernetes: {image: ..}', 'resources.cpus', '!gpu', '!tpu:'],
        'cloud: aws, instance_type: p4d.24xlarge': ['resources on aws', 'resources.instance_type', '!tpu:'],
      },
      (resources) => `resources: {${resources}}\nrun: python3 a.py\n`,
    );
  });

  describe('accelerators of dstack', () => {
    gives(
      {
        'v5litepod-8': ['tpu: {accelerator: v5litepod-8, zone: .., pricing: ondemand}'],
        'tpu-v2-8': ['tpu: {accelerator: v2-8'],
        '{name: v6e-8}': ['tpu: {accelerator: v6e-8'],
        '[v4-8]': ['tpu: {accelerator: v4-8'],
        tpu: ['tpu: {accelerator: ..'],
        'A100:80GB:2': ['gpus: 2, gpu_type: a100', '!tpu:'],
        '24GB': ['gpus: 1, gpu_type: ..', 'resources.gpu of 24GB', '!tpu:'],
        '{name: [H100, A100], count: 2..4, memory: 40GB..}': ['gpus: 2, gpu_type: h100', '!tpu:'],
        '4': ['gpus: 4, gpu_type: ..', '!tpu:'],
        '0': ['kubernetes: {image: ..}', '!gpus', '!tpu:'],
      },
      (gpu) => `type: task\nresources: {gpu: ${gpu}}\ncommands: [python3 a.py]\n`,
    );
  });

  describe('what dstack pays for', () => {
    gives(
      { spot: ['pricing: spot'], 'on-demand': ['pricing: ondemand'], auto: ['pricing: any'] },
      (policy) => `type: task\nspot_policy: ${policy}\nresources: {gpu: v6e-8}\ncommands: [a]\n`,
    );
    it('a second command waits for the first to succeed', () =>
      assert.match(refusal('type: task\nresources: {gpu: v6e-8}\ncommands: [a, b]\n'), /set -e\n {6}a\n {6}b/));
    it('a fleet is no job', () => assert.match(refusal('type: fleet\nnodes: 2\n'), /a fleet is no job/));
  });

  describe('pods', () => {
    const pod = (lines = ''): string => `{containers: [{name: c, image: i, command: [python3, a.py]${lines}}]}`;
    const tpu = (topology: string, chips: number): string =>
      `{nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice, cloud.google.com/gke-tpu-topology: ${topology}}, containers: [{name: c, image: i, command: [python3, a.py], resources: {limits: {google.com/tpu: ${chips}}}}]}`;
    const jobSet = (replicas: number, pods: number, spec: string): string =>
      `apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec: {replicatedJobs: [{name: w, replicas: ${replicas}, template: {spec: {parallelism: ${pods}, completions: ${pods}, template: {spec: ${spec}}}}}]}\n`;
    const manifests: Readonly<Record<string, string>> = {
      'two slices of four hosts': jobSet(2, 4, tpu('4x4', 4)),
      'one host with eight chips': jobSet(1, 1, tpu('2x4', 8)),
      'chips that are not those of the topology': jobSet(3, 1, tpu('4x4', 8)),
      'five pods without an accelerator': jobSet(1, 5, pod()),
      'a Pod with GPUs': `apiVersion: v1\nkind: Pod\nspec: ${pod(', resources: {limits: {nvidia.com/gpu: 2}}')}\n`,
      'a Deployment': `apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 3, template: {spec: ${pod()}}}\n`,
      'a CronJob': `apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: "0 1 * * *", jobTemplate: {spec: {template: {spec: ${pod()}}}}}\n`,
      'equal masters and workers': `apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {pytorchReplicaSpecs: {Master: {replicas: 1, template: {spec: ${pod()}}}, Worker: {replicas: 3, template: {spec: ${pod()}}}}}\n`,
      'a Secret in a variable': `apiVersion: v1\nkind: Pod\nspec: ${pod(', env: [{name: A, value: "1"}, {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]')}\n`,
      'names of its own pods': `apiVersion: v1\nkind: Pod\nmetadata: {name: ann}\nspec: ${pod(', env: [{name: HEAD, value: "ann-w-0-0.ann:8080"}, {name: RANK, value: "0"}, {name: RUN, value: ann-v6e-16}]')}\n`,
      'no pods': 'apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n',
    };
    gives(
      {
        'two slices of four hosts': [
          'slices: 2',
          'tpu: {accelerator: tpu-v5-lite-podslice, topology: 4x4}',
          '!workers',
          '!ask for',
        ],
        'one host with eight chips': ['topology: 2x4', '!slices', '!ask for'],
        'chips that are not those of the topology': [
          'slices: 3',
          'its pods ask for 1 x 8 chips, and 4x4 is a v5litepod-16: 4 pods with 4 each',
        ],
        'five pods without an accelerator': ['workers: 5'],
        'a Pod with GPUs': ['gpus: 2, gpu_type: ..'],
        'a Deployment': ['workers: 3'],
        'a CronJob': ['command: {run: python3 a.py}', 'schedule'],
        'equal masters and workers': ['workers: 4'],
        'a Secret in a variable': ['env: {A: "1"}', 'env HF_TOKEN of Secret s: secrets: {HF_TOKEN: hf-token}'],
        'names of its own pods': ['env: {RUN: ann-v6e-16}', 'env HEAD, env RANK: jobctl sets'],
        'no pods': ['it has no pods of a job'],
      },
      (name) => manifests[name] ?? '',
    );
  });

  describe('every printed job file is one that validate takes', () => {
    /** All choices of some lines, each with and without. */
    const choices = (lines: readonly string[]): readonly string[] =>
      lines.reduce<readonly string[]>((all, line) => [...all, ...all.map((each) => `${each}${line}\n`)], ['']);
    const MORE = 'setup: "a\\nb"|file_mounts: {/d: gs://b, /f: ./f}|workdir: .'.split('|');
    const tools: Readonly<Record<string, readonly string[]>> = {
      SkyPilot: choices(MORE).flatMap((more) =>
        ['tpu-v6e-8', 'A100:8', 'tpu-v6e-slice:4'].flatMap((type) =>
          ['', ', image_id: docker:some/image', ', use_spot: true, zone: us-east5-b'].map(
            (keys) => `resources: {accelerators: ${type}${keys}}\nrun: a\nnum_nodes: 2\n${more}`,
          ),
        ),
      ),
      dstack: choices(['setup: [c]', 'image: i/i', 'python: 3.11']).flatMap((more) =>
        ['v6e-8', 'A100:8', '0'].map(
          (gpu) => `type: task\nresources: {gpu: ${gpu}}\ncommands: [a, b]\nnodes: 2\n${more}`,
        ),
      ),
    };
    for (const [tool, files] of Object.entries(tools))
      it(`${tool}, ${files.length} files`, () => {
        for (const text of files) refusal(text);
        assert.ok(files.length >= 24);
      });
    gives(
      {
        '--metadata startup-script="pip install x"': ['startup_script: pip install x', '!metadata'],
        '--metadata=a=b,startup-script=s': ['startup_script: s', 'a: b'],
        '--metadata-from-file=startup-script=s.sh': ['--metadata-from-file: tpu.startup_script'],
        '--provisioning-model=FLEX_START --max-run-duration=4h': [
          'pricing: flex-start',
          'run_duration: 4h',
          '!not carried',
        ],
        '--provisioning-model=RESERVATION_BOUND --reservation=r': ['pricing: reserved', 'reservation_bound: true'],
      },
      (flags) =>
        `gcloud compute tpus queued-resources create q --node-id n --zone=us-east5-b --accelerator-type=v6e-8 ${flags}\n`,
      'create.sh',
    );
    const setUp = (image: string): string =>
      `resources: {accelerators: tpu-v6e-8${image}}\nworkdir: .\nsetup: cd x && pip install y\nrun: python3 a.py\n`;
    it('in an image, what is set up is set up there', () => {
      const { command, bundle } = parse(printedJob(refusal(setUp(', image_id: docker:i/i'))) ?? '') as {
        readonly [section: string]: unknown;
      };
      assert.deepEqual(command, { run: '(\ncd x && pip install y\n) || exit\npython3 a.py' });
      assert.deepEqual(bundle, { dir: '.' });
    });
  });

  describe('$(NAME) of Kubernetes', () => {
    const ENV =
      '{name: LR, value: "0.1"}, {name: DIR, value: "/x/$(LR)/$(LATER)"}, {name: LATER, value: l}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: OF_POD, value: "p-$(POD)"}, {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: RANK, value: "3"}';
    const job = (command: string, more = ''): string =>
      `apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: i, command: ${command}, env: [${ENV}]${more}}]}\n`;
    gives(
      {
        '[python, a.py, --lr=$(LR), --d=$(DIR)]': [
          'run: python a.py --lr=0.1',
          'DIR: /x/0.1/$(LATER)',
          "'--d=/x/0.1/$(LATER)'",
        ],
        '[python, a.py, --lit=$$(LR), --two=$$$(LR), --cost=5$$, "--of=$HOME", "$("]': [
          "'--lit=$(LR)' '--two=$0.1' '--cost=5$' '--of=$HOME' '$('",
        ],
        '[bash, -c, "python a.py --lr $(LR) $$(date) $(hostname)"]': ['run: python a.py --lr 0.1 $(date) $(hostname)'],
        '[bash, -c, "a --token $(HF_TOKEN)"]': [
          'run: ..} # the command, with $(HF_TOKEN), which is $HF_TOKEN, filled in',
        ],
        '[a, "--token=$(HF_TOKEN) x", --rank=$(RANK), --i=$(JOB_COMPLETION_INDEX)]': [
          'a "--token=${HF_TOKEN} x" "--rank=${RANK}" "--i=${JOBCTL_HOST_INDEX}"',
          'env POD, env RANK: jobctl sets',
        ],
        '[a, --p=$(OF_POD)]': [
          'run: ..} # the command, with $(POD) filled in',
          'env OF_POD: export it in the command, with $(POD) filled in',
          '$(POD): the pod of Kubernetes has it',
        ],
        '[a, --s=$(DB_SERVICE_HOST)]': ['run: ..', '$(DB_SERVICE_HOST): the pod'],
        '[a, --s=$(UNKNOWN)]': ["run: a '--s=$(UNKNOWN)'"],
      },
      job,
    );
    it('a name may be of envFrom', () =>
      assert.match(
        refusal(job('[a, --s=$(UNKNOWN)]', ', envFrom: [{configMapRef: {name: m}}]')),
        /run: \.\..*UNKNOWN/,
      ));
  });

  describe('variables that the other tool sets', () => {
    const skypilot = (command: string): string => `resources: {accelerators: tpu-v6e-8}\nrun: ${command}\n`;
    const dstack = (command: string): string => `type: task\nresources: {gpu: v6e-8}\ncommands: [${command}]\n`;
    const pods = (command: string): string =>
      `apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: i, command: [bash, -c, ${command}]}]}\n`;
    const xpk = (command: string): string =>
      `xpk workload create --cluster c --tpu-type v6e-8 --docker-image i --command '${command}'\n`;
    const slurm = (command: string): string => `#!/bin/bash\n#SBATCH -N 1\n${command}\n`;
    const readers: readonly (readonly [(command: string) => string, Readonly<Record<string, string>>])[] = [
      [
        skypilot,
        {
          SKYPILOT_NODE_RANK: '$JOBCTL_HOST_INDEX',
          SKYPILOT_NODE_IPS: '$JOBCTL_HOST_IPS',
          SKYPILOT_NUM_NODES: '$JOBCTL_NUM_HOSTS',
          SKYPILOT_NUM_GPUS_PER_NODE: 'write the number',
          SKYPILOT_TASK_ID: '$JOBCTL_JOB_ID',
          SKYPILOT_INTERNAL_JOB_ID: '$JOBCTL_JOB_ID',
          SKYPILOT_CLUSTER_INFO: 'jobctl sets no such variable',
        },
      ],
      [
        dstack,
        {
          DSTACK_NODE_RANK: '$JOBCTL_HOST_INDEX',
          DSTACK_NODES_NUM: '$JOBCTL_NUM_HOSTS',
          DSTACK_MASTER_NODE_IP: '${JOBCTL_COORDINATOR_ADDRESS%:*}',
          DSTACK_NODES_IPS: '$JOBCTL_HOST_IPS',
          DSTACK_GPUS_PER_NODE: 'write the number',
          DSTACK_GPUS_NUM: 'write the number',
          DSTACK_RUN_NAME: '$JOBCTL_JOB_ID',
          DSTACK_MPI_HOSTFILE: 'jobctl sets no such variable',
        },
      ],
      [
        pods,
        {
          JOB_COMPLETION_INDEX: '$JOBCTL_HOST_INDEX',
          TPU_WORKER_ID: '',
          JOBSET_NAME: '$JOBCTL_JOB_ID',
          TF_CONFIG: 'jobctl sets no such variable',
        },
      ],
      [
        xpk,
        {
          NODE_RANK: '$JOBCTL_HOST_INDEX',
          NNODES: '$JOBCTL_NUM_HOSTS',
          GPUS_PER_NODE: 'write the number',
          JOBSET_NAME: '$JOBCTL_JOB_ID',
        },
      ],
      [slurm, { SLURM_NODEID: 'JOBCTL_HOST_INDEX', SLURM_JOB_NUM_NODES: 'JOBCTL_NUM_HOSTS', SLURM_GPUS_ON_NODE: '' }],
    ];
    for (const [file, names] of readers)
      for (const [name, wanted] of Object.entries(names))
        it(`${name}: ${wanted}`, () => {
          const said = refusal(file(`a $${name}`), file === slurm || file === xpk ? 'a.sh' : 'job.yaml');
          const line = said.split('\n').findLast((each) => each.includes(name)) ?? '';
          assert.ok(wanted === '' || line.includes(wanted), said);
          const named = file === slurm ? said.includes('jobctl does not set') : /not carried over[^]*/.test(said);
          assert.ok(named || name === 'TPU_WORKER_ID', said);
        });
    it('a name in quotes, and with a value in its place', () =>
      assert.match(refusal(dstack('"echo ${DSTACK_NODE_RANK:-0}"')), /\$DSTACK_NODE_RANK: \$JOBCTL_HOST_INDEX/));
  });

  describe('variables', () => {
    gives(
      {
        '[A=1, B]': ['env: {A: "1", B: ..}'],
        '[HF_TOKEN, A=x=y]': [
          'env: {A: x=y}',
          'secrets: {HF_TOKEN: hf-token} # each by `jobctl secret put hf-token --from-file FILE`',
        ],
        '{WANDB_API_KEY: 0123456789abcdef0123456789abcdef01234567}': [
          'secrets: {WANDB_API_KEY: wandb-api-key}',
          '!0123456789abcdef',
        ],
        '{A: "${{ secrets.a }}", MEGASCALE_X: 1}': ['env: {A: ..}', 'MEGASCALE_X: jobctl sets it by itself'],
      },
      (env) => `type: task\nenv: ${env}\nresources: {gpu: v6e-8}\ncommands: [a]\n`,
    );
  });

  describe('scalars of variables, as tools in Python read them', () => {
    const shapes: Readonly<Record<string, string>> = {
      '1234e56': '1234e56',
      '5e12345': '5e12345',
      '1e-5': '1e-5',
      '3e-4': '3e-4',
      '1.5e-5': '1.5e-05',
      '1.5e5': '1.5e5',
      '1.5e+5': '150000.0',
      '1.0': '1.0',
      '3.10': '3.1',
      '-0.5': '-0.5',
      '1.0e+20': '1e+20',
      '12345678901234567890': '12345678901234567890',
      '-12345678901234567890': '-12345678901234567890',
      '0x1F': '31',
      '0o17': '0o17',
      '007': '7',
      '008': '008',
      '0b101': '5',
      '1_000': '1000',
      '12:30:00': '45000',
      '2024-01-01': '2024-01-01',
      '2024-01-01T10:00:00Z': '2024-01-01 10:00:00+00:00',
      on: 'True',
      Off: 'False',
      yes: 'True',
      NO: 'False',
      true: 'True',
      y: 'y',
      '"yes"': 'yes',
      '"1e-5"': '1e-5',
      '.inf': 'inf',
      '-.INF': '-inf',
      '*common': 'True',
      '!!str 1e5': '1e5',
    };
    for (const [tool, head] of [
      ['SkyPilot', 'resources: {accelerators: tpu-v6e-8}\nrun: a\nenvs:'],
      ['dstack', 'type: task\nresources: {gpu: v6e-8}\ncommands: [a]\nenv:'],
    ])
      for (const [written, read] of Object.entries(shapes))
        it(`${tool}: ${written}`, () => {
          const said = refusal(`x: &common yes\n${head}\n  A: ${written}\n  B: b\n`);
          const { env } = parse(printedJob(said) ?? '') as { readonly env: Readonly<Record<string, string>> };
          assert.equal(env['A'], read, said);
        });
    it('a mapping behind an anchor, and one that leads to itself', () => {
      const task = (envs: string): string => refusal(`${envs}\nresources: {accelerators: tpu-v6e-8}\nrun: a\n`);
      assert.match(task('x: &all {A: 1.0, B: on}\nenvs: *all'), /env: \{A: "1\.0", B: "True"\}/);
      assert.match(
        task('x: &all {A: 1.0, B: on}\nenvs: {<<: *all, C: 0x10}'),
        /env: \{A: "1\.0", B: "True", C: "16"\}/,
      );
    });
    gives({
      'resources: {accelerators: tpu-v6e-8, use_spot: yes}\nrun: a\n': ['pricing: spot'],
      'resources: {accelerators: tpu-v6e-8, use_spot: off}\nrun: a\n': ['pricing: ondemand'],
    });
  });

  describe('commands', () => {
    gives(
      {
        "python3 a.py 'dim=${model.heads}' ${A:-1} ${B%.*}": ["dim=$${model.heads}' ${A:-1} ${B%.*}"],
        'export HF_TOKEN=hf_0123456789abcdef': [
          'command: {run: ..} # the line of run, with a secret',
          '!hf_0123456789',
        ],
        'cd ~/sky_workdir && echo $SKYPILOT_NUM_NODES': ['$SKYPILOT_NUM_NODES: $JOBCTL_NUM_HOSTS'],
      },
      (run) => `resources: {accelerators: tpu-v6e-8}\nrun: ${JSON.stringify(run)}\n`,
    );
  });

  describe('scripts that ask for machines', () => {
    const ofScript = (lines: string): string => `#!/bin/bash\n${lines}\n`;
    gives(
      {
        'gcloud compute tpus tpu-vm create a --type=v4 --topology=2x2x4 --zone=us-central2-b --spot': [
          'tpu: {accelerator: v4, zone: us-central2-b, pricing: spot, topology: 2x2x4}',
        ],
        '/usr/bin/gcloud beta compute tpus tpu-vm create a --accelerator-type v6e-8 --zone us-east5-b --preemptible --quiet':
          ['tpu: {accelerator: v6e-8, zone: us-east5-b, pricing: preemptible}'],
        'gcloud compute tpus queued-resources create q --node-count 2 --accelerator-type v5p-8 --zone us-east5-a --provisioning-model=SPOT':
          ['slices: 2', 'pricing: spot, allocation_mode: queued-resources'],
        'Z=us-central1-a; T=v5litepod-16\nexport Z\ngcloud compute tpus tpu-vm create a --zone=$Z --accelerator-type=${T}':
          ['tpu: {accelerator: v5litepod-16, zone: us-central1-a, pricing: ondemand}'],
        "export T=v5litepod-16 Z=us-central1-a # it's free\nuntil gcloud compute tpus tpu-vm create a --zone=$Z --accelerator-type=${T}; do :; done":
          ['tpu: {accelerator: v5litepod-16, zone: us-central1-a, pricing: ondemand}'],
        'gcloud compute tpus tpu-vm create a --zone=us-central2-b --accelerator-type=v4-8\ngcloud compute tpus tpu-vm ssh a --worker=0 --command="python3 a.py"':
          ['command: {run: python3 a.py, workers: [0]}'],
        'gcloud compute tpus tpu-vm ssh a --zone=us-central2-b --worker=all --command="python3 a.py"': [
          'tpu: {accelerator: .., zone: us-central2-b, pricing: ..}',
          'command: {run: python3 a.py}',
        ],
        'C="gcloud compute"\nR="$C tpus tpu-vm create a"\nwhile ! $R; do sleep 5; done': ['makes TPU VMs by gcloud'],
        'xpk workload create --cluster c --docker-image i --tpu-type v5p-16 --num-slices 4 --env A=1 --command "python3 a.py"':
          [
            'slices: 4',
            'kubernetes: {image: i, tpu: {accelerator: v5p-16}}',
            'env: {A: "1"}',
            'command: {run: python3 a.py}',
          ],
        'kubectl apply -f job.yaml': ['a shell script that makes objects of Kubernetes'],
        'sky jobs launch task.yaml': ['a shell script that starts a task of SkyPilot'],
        'sbatch --array=0-3 run.sh': ['a shell script that submits batch scripts'],
        '# gcloud compute tpus tpu-vm create a\ngcloud storage cp a gs://b\npython3 a.py': [
          'this is a shell script, and',
          '!gcloud',
        ],
        'echo "gcloud first"\nkubectl get pods\npython3 a.py': ['this is a shell script, and'],
        "python3 - <<'PY'\nimport jax\nprint(\"don't\")\nPY\necho done": [
          'this is a shell script, and',
          '!Python program',
        ],
      },
      ofScript,
    );
  });

  it('a program that is YAML by chance is a program', () => {
    assert.match(refusal('x: 1\n', 'a.py'), /^this is a Python program/);
    assert.match(refusal('run: 1\n', 'a.sh'), /^this is a shell script/);
  });

  describe('scripts for schedulers', () => {
    gives(
      {
        '#SBATCH -N 4\n#SBATCH -t 90': ['--tpu v5litepod-16 --set timeouts.run=90m', 'v5litepod-16 has 4 hosts'],
        '#SBATCH --nodes=3\n#SBATCH --time=2-12:30:00': ['--tpu v5litepod-8 --slices 3 --set timeouts.run=3630m'],
        '#SBATCH --nodes=2-4\n#SBATCH --time 01:30:30': ['--slices 2', 'timeouts.run=5430s'],
        '#SBATCH -Jmine\n#SBATCH -a 1-3\necho $SLURM_ARRAY_TASK_ID': ['--name mine', '-a 1-3: a job for each'],
        'echo first\n#SBATCH --time=5': ['!timeouts'],
        '#PBS -N mine\n#PBS -l select=1:ngpus=4\n#PBS -l walltime=24:00:00': [
          'a batch script of PBS',
          '--name mine --set timeouts.run=24h',
          'on GPUs',
        ],
        '#BSUB -J mine\nmodule load x': ['a batch script of LSF', '`module`'],
        '#$ -N mine\n#$ -t 1-5': ['a batch script of Grid Engine', '--name mine', 'env.SGE_TASK_ID=0'],
      },
      (lines) => `#!/bin/bash\n${lines}\n`,
    );
  });

  describe('several options in one line of a scheduler', () => {
    gives(
      {
        '#SBATCH --job-name=a --time=30 --nodes=2': ['--slices 2 --name a --set timeouts.run=30m'],
        '#SBATCH -N 2 -t 30 --gres=gpu:4 -J abc': [
          '--slices 2 --name abc --set timeouts.run=30m',
          '--gres=gpu:4: a host',
        ],
        '#SBATCH -N2 -t30 -Jabc': ['--slices 2 --name abc --set timeouts.run=30m', '!not carried over'],
        '#SBATCH --exclusive -J "my job" # -t 5': ['--name my-job', '!timeouts', '!not carried over'],
        '#SBATCH --requeue --nodes 2\r': ['--slices 2', '!not carried over'],
        '#SBATCH -t 5\n#SBATCH --time=0 -N 2': ['!timeouts', '!not carried over'],
        '#SBATCH -t tomorrow hetjob': ['-t tomorrow: no time', 'hetjob: jobctl knows no such option of Slurm'],
        '#PBS -N mine -V -l walltime=1:00:00 -l select=4:ncpus=8': [
          '--tpu v5litepod-16 --name mine --set timeouts.run=1h',
          '-V: hosts have none of your variables',
          '-l select=4:ncpus=8: a host',
        ],
        '#$ -cwd -N mine -pe mpi 8 -l h_rt=3600 -tc 4': [
          '--name mine --set timeouts.run=1h',
          '-pe mpi 8: the script runs once',
        ],
        '#BSUB -J "mine[1-4]" -W 1:30 -x -gpu "num=4"': [
          '--name mine --set timeouts.run=90m',
          '-J mine[1-4]: a job for each',
          '-gpu num=4: a host',
        ],
      },
      (lines) => `#!/bin/bash\n${lines}\npython3 a.py\n`,
    );
  });

  describe('each option of Slurm has its own reason', () => {
    gives(
      {
        '--signal=B:USR1@120': ['SIGTERM first'],
        '--export=ALL,A=1': ['--set env.NAME=VALUE'],
        '--mail-user=a@b.c': ['sends no mail'],
        '--begin=16:00': ['as soon as its pool has room'],
        '--nice=5': ['priority: 1'],
        '--comment=x': ['no notes'],
        '--mem=4G': ['a host has what its type has'],
        '--partition=tpu': ['quota'],
        '--nonsense': ['jobctl knows no such option of Slurm'],
      },
      (option) => `#!/bin/bash\n#SBATCH ${option}\npython3 a.py\n`,
    );
  });

  describe('the first line of a script names what runs it', () => {
    gives(
      {
        '#!/usr/bin/env python3\n#SBATCH -N 1\nimport os': ['-- python3 run.sbatch'],
        '#!/usr/bin/python3.11 -u\n#SBATCH -N 1\nimport os': ['-- python3.11 -u run.sbatch'],
        '#!/usr/bin/env -S perl -w\n#SBATCH -N 1': ['-- perl -w run.sbatch', '!hosts need'],
        '#!/bin/bash -e\n#SBATCH -N 1': ['-- bash -e run.sbatch'],
        '#!/bin/sh\npython3 a.py': ['-- sh run.sbatch'],
        '#!/usr/bin/env Rscript\n#SBATCH -N 1': ['-- Rscript run.sbatch', 'the hosts need `Rscript`'],
        '#!/usr/bin/env julia\nprintln(1)': ['a program for julia', '-- julia run.sbatch', 'the hosts need `julia`'],
        '#SBATCH -N 1\npython3 a.py': ['-- bash run.sbatch'],
      },
      (text) => text,
      'run.sbatch',
    );
  });

  describe('several documents', () => {
    const JOB =
      'apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: c, image: i, command: [x]}]}}}\n';
    const texts: Readonly<Record<string, string>> = {
      'a Service and a Job': `apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\n${JOB}`,
      'two Jobs': `${JOB}---\n${JOB}`,
      'two tasks of dstack': 'type: task\ncommands: [a]\n---\ntype: task\ncommands: [b]\n',
    };
    gives(
      {
        'a Service and a Job': ['a manifest of Kubernetes (Job)', 'Service s'],
        'two Jobs': ['2 manifests of Kubernetes', 'put each into a file of its own'],
        'two tasks of dstack': ['2 files in one', 'a configuration of dstack'],
      },
      (name) => texts[name] ?? '',
    );
  });
});
