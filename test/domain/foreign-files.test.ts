import assert from 'node:assert/strict';
import { gives, refusal } from '../foreign-gives.js';

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
        '{A: "${{ secrets.a }}", MEGASCALE_X: 1}': ['secrets: {A: a}', 'MEGASCALE_X: jobctl sets it by itself'],
      },
      (env) => `type: task\nenv: ${env}\nresources: {gpu: v6e-8}\ncommands: [a]\n`,
    );
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
