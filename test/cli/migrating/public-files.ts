/** What `jobctl validate` says of a file of another tool. */
export interface PublicFile {
  /** What it is said to be, or why it is refused. */
  readonly is: string;
  /** The machines of the job file that the message holds, or of the file itself. */
  readonly machines?: string;
  /** What is named as not carried over. */
  readonly lost?: readonly string[];
  readonly says?: readonly string[];
  /** What whoever pastes the lines writes for what they leave open. */
  readonly filled?: Readonly<Record<string, string>>;
}

/** By their names in test/cli/migrating/public, whose SOURCES.md says where each comes from. */
export const PUBLIC_FILES: Readonly<Record<string, PublicFile>> = {
  'ai-platform-tpu.sh': { is: 'a shell script that starts a job by gcloud' },
  'axlearn-launch.sh': {
    says: ['write jobctl in front of the line 9'],
    is: 'a shell script that starts a job of AXLearn',
  },
  'dstack-80gb-files.yaml': {
    is: 'a configuration of dstack',
    machines: 'some-1, 1 chips, 1 hosts',
    filled: { 'gpu_type: ..': 'gpu_type: some' },
    lost: ['resources.gpu of 80GB', 'resources.disk', 'python 3.12', 'files, idle_duration'],
  },
  'dstack-build-list.yaml': { is: 'a configuration of dstack', machines: 'cpu-1, 0 chips, 1 hosts', lost: ['ports'] },
  'dstack-env-mapping.yaml': {
    is: 'a configuration of dstack',
    machines: 'some-1, 1 chips, 1 hosts',
    filled: { 'gpu_type: ..': 'gpu_type: some' },
    lost: [
      'resources.gpu of 24GB..80GB',
      'resources.cpu, resources.memory, resources.shm_size',
      'python 3.12',
      'repos',
    ],
  },
  'dstack-several.yaml': { is: '2 files in one, the first a configuration of dstack' },
  'dstack-task-with-setup.yaml': {
    says: ['set -e', 'env: {WANDB_PROJECT: some, PYTHONUNBUFFERED: "1"}'],
    is: 'a configuration of dstack',
    machines: 'cpu-1, 0 chips, 1 hosts',
    lost: ['resources.memory, resources.disk', 'python 3.11', 'gpu, ports'],
  },
  'dstack-tpu-service.yaml': {
    says: ['docker: {image: someone/optimum-tpu:latest}', 'secrets: {HF_TOKEN: hf-token}'],
    is: 'a configuration of dstack',
    machines: 'v5litepod-4, 4 chips, 1 hosts, ondemand, us-central2-b',
    lost: ['type', 'port, model'],
  },
  'gcloud-create-in-a-loop.sh': {
    is: 'a shell script that makes TPU VMs, or logs in to them, by gcloud',
    machines: 'v4-8, 4 chips, 1 hosts, ondemand, us-central2-b',
  },
  'gcloud-queued-v4-64.sh': {
    says: ['project: some-project', 'allocation_mode: queued-resources'],
    is: 'a shell script that makes TPU VMs, or logs in to them, by gcloud',
    machines: 'v4-64, 32 chips, 8 hosts, spot, us-central2-b',
  },
  'gcloud-ssh-function.sh': {
    is: 'a shell script that makes TPU VMs, or logs in to them, by gcloud',
    machines: 'v4-8, 4 chips, 1 hosts, any, us-central2-b',
    filled: { 'accelerator: ..': 'accelerator: v4-8', 'pricing: ..': 'pricing: any' },
  },
  'gcloud-ssh-multihost.sh': {
    says: ['git clone --depth=1 -b main https://example.org/flax'],
    is: 'a shell script that makes TPU VMs, or logs in to them, by gcloud',
    machines: 'v4-8, 4 chips, 1 hosts, any, europe-west4-a',
    filled: { 'accelerator: ..': 'accelerator: v4-8', 'pricing: ..': 'pricing: any' },
  },
  'gcloud-start-loop.sh': {
    is: 'a shell script that makes TPU VMs, or logs in to them, by gcloud',
    machines: 'v4-8, 4 chips, 1 hosts, any, europe-west4-a',
    filled: { 'accelerator: ..': 'accelerator: v4-8', 'pricing: ..': 'pricing: any' },
  },
  'gcloud-zones-by-variable.sh': {
    is: 'a shell script that makes TPU VMs, or logs in to them, by gcloud',
    machines: 'v4-8, 4 chips, 1 hosts, flex-start, us-central2-b',
    filled: { 'accelerator: ..': 'accelerator: v4-8' },
    lost: [
      '--project=$PROJECT, --zone=$PRIMARY_ZONE, --accelerator-type=$TPU_TYPE, --runtime-version=$RUNTIME_VERSION',
      '`for ZONE in ${ZONES[@]}` of line 24',
      'compute tpus tpu-vm create of line 25',
    ],
  },
  'google-batch.json': { is: 'a job of Google Batch' },
  'job-kueue-l4.yaml': {
    is: 'a manifest of Kubernetes (Job)',
    machines: 'l4-4, 4 chips, 2 hosts',
    lost: ['volume /model-data', '$JOB_COMPLETION_INDEX', 'kueue.x-k8s.io/queue-name', 'Service headless-svc'],
  },
  'job-tpu-v6e-4.yaml': {
    is: 'a manifest of Kubernetes (Job)',
    machines: 'v6e-4, 4 chips, 1 hosts',
    lost: ['env HF_TOKEN of Secret hf-secret', 'securityContext'],
  },
  'jobman-half-v6e.yaml': { is: 'jobman-half-v6e.yaml:3:1: tpu.accelerator: is missing' },
  'jobman-hold-v6e-8.yaml': {
    says: ["job.worker_num: is JobMan's own"],
    is: 'accepted',
    machines: 'v6e-8, 8 chips, 1 hosts, spot, us-east5-b',
  },
  'jobman-interactive-v5p-16.yaml': { is: 'accepted', machines: 'v5p-16, 8 chips, 2 hosts, spot, us-east5-a' },
  'jobman-resumable-v6e-16.yaml': {
    says: ['a fork of JobMan has it: its env is env'],
    is: 'jobman-resumable-v6e-16.yaml:18:1: resumable: no such key in a job file',
  },
  'jobman-tasks.yaml': {
    says: [
      'each of the 2 is a job',
      "--name exp1-small-distill-a02-s43 --bundle . -- 'bash train/exp1/small-a02-s43.sh'",
    ],
    is: 'a list of tasks of JobMan',
  },
  'jobman-template-v5p-16.yaml': {
    says: [
      'write env: {"SOURCE":"gs://some-bucket/source.tar.gz"',
      "pricing: '__PRICING__' is not one of the allowed words",
    ],
    is: 'jobman-template-v5p-16.yaml:7:3: environment: no such key in job',
  },
  'jobman-venv-v4-32.yaml': { is: 'accepted', machines: 'v4-32, 16 chips, 4 hosts, spot, us-central2-b' },
  'jobset-beside-service-v6e.yaml': {
    says: ['its pods ask for 1 x 4 chips, and 2x4 is a v6e-8: 1 pod with 8 each'],
    is: 'a manifest of Kubernetes (JobSet)',
    machines: '2 x v6e-8, 16 chips, 2 hosts',
    lost: ['volume /app', 'Service multislice-job-svc, ConfigMap script-config'],
  },
  'jobset-cpu-two-slices.yaml': {
    is: 'a manifest of Kubernetes (JobSet)',
    machines: '2 x cpu-1, 0 chips, 2 hosts',
    lost: ['volume /data', 'securityContext, metadata.annotations'],
  },
  'jobset-gpu-volumes.yaml': {
    is: 'a manifest of Kubernetes (JobSet)',
    machines: 'some-8, 8 chips, 1 hosts',
    filled: { 'gpu_type: ..': 'gpu_type: some' },
    lost: ['volume /app/do.py', 'startupPolicy'],
  },
  'jobset-pathways.yaml': {
    says: ['its 2 sets of pods are different: pathways-head, worker'],
    is: 'a manifest of Kubernetes (JobSet)',
  },
  'jobset-torchrun-two-pods.yaml': {
    says: ['secrets: {WANDB_API_KEY: wandb-api-key}'],
    is: 'a manifest of Kubernetes (JobSet)',
    machines: 'some-2, 2 chips, 2 hosts',
    filled: { 'gpu_type: ..': 'gpu_type: some' },
    lost: ['env MASTER_ADDR, env RANK'],
  },
  'jobset-v6e-32-without-parallelism.yaml': {
    says: ['its pods ask for 1 x 8 chips, and 4x8 is a v6e-32: 8 pods with 4 each'],
    is: 'a manifest of Kubernetes (JobSet)',
    machines: 'v6e-32, 32 chips, 8 hosts',
  },
  'pbs-walltime.sh': {
    says: ['--tpu v5litepod-8 --set timeouts.run=12h --bundle . -- bash', '`module`: hosts have no modules'],
    is: 'a batch script of PBS',
    lost: ['-P ab12, -q gpuvolta', '-l ncpus=12, -l mem=16GB, -l wd, -l ngpus=1'],
  },
  'ray-up-v4.yaml': { is: "a file of Ray's cluster launcher" },
  'raycluster-tpu.yaml': {
    says: ['on TPUs: tpu: {accelerator: .., zone: ..} and ray: {}'],
    is: 'a manifest of Kubernetes (RayCluster)',
  },
  'sky-a100-no-run.yaml': {
    is: 'a task of SkyPilot',
    machines: 'a100-80gb-sxm-1, 1 chips, 1 hosts',
    lost: ['resources on runpod'],
  },
  'sky-a10g-background.yaml': {
    is: 'a task of SkyPilot',
    machines: 'a10g-1, 1 chips, 1 hosts',
    lost: ['resources.use_spot', 'resources.infra'],
  },
  'sky-any-of-duplicate.yaml': { is: 'sky-any-of-duplicate.yaml:17:1: not YAML: the key is there twice' },
  'sky-h200-s3.yaml': {
    is: 'a task of SkyPilot',
    machines: 'h200-8, 8 chips, 1 hosts',
    lost: ['resources.region', 'resources on nebius', 'resources.disk_size', 'resources.ports', 'file_mounts /my_data'],
  },
  'sky-slurm-l40s.yaml': {
    is: 'a task of SkyPilot',
    machines: 'l40s-1, 1 chips, 1 hosts',
    lost: ['resources.infra', 'resources.cpus, resources.memory', 'resources on slurm'],
  },
  'sky-v2-8-mount.yaml': {
    says: ['gcsfuse: {bucket_name: some-bucket, mount_path: /ckpts}', 'version: tpu-vm-base'],
    is: 'a task of SkyPilot',
    machines: 'v2-8, 4 chips, 1 hosts, ondemand, us-central2-b',
    lost: ['file_mounts ~/.netrc', '$SKYPILOT_RUN_ID'],
  },
  'sky-v4-32-pool.yaml': {
    is: 'a task of SkyPilot',
    machines: 'v4-32, 16 chips, 4 hosts, spot, us-central2-b',
    lost: ['resources.job_recovery FAILOVER', 'resources.disk_size', '$SKYPILOT_NODE_RANK', '$SKYPILOT_NODE_IPS'],
  },
  'sky-v6e-1-setup-only.yaml': {
    says: ['# a zone of asia-northeast1', 'without `run` the job holds its slice'],
    is: 'a task of SkyPilot',
    machines: 'v6e-1, 1 chips, 1 hosts, ondemand, us-central2-b',
    lost: ['file_mounts ~/.ssh/id_ed25519', '$REPO_URL in setup'],
  },
  'sky-v6e-8-zones.yaml': {
    is: 'a task of SkyPilot',
    machines: 'v6e-8, 8 chips, 1 hosts, spot, us-east1-d, europe-west4-a',
    lost: ['resources.disk_size'],
  },
  'slurm-array.sh': {
    says: ['--set timeouts.run=48h', 'a job for each: --sweep env.SLURM_ARRAY_TASK_ID='],
    is: 'a batch script of Slurm',
    lost: ['--gres=gpu:1', '--array=0-14'],
  },
  'slurm-directive-with-blank.sbatch': {
    says: ['`srun`: leave it out', 'SLURM_JOBID (JOBCTL_JOB_ID)'],
    is: 'a batch script of Slurm',
  },
  'slurm-mail-conda.sh': {
    says: ['--name one-comparison --set timeouts.run=2h', '`source activate`: hosts have no conda'],
    is: 'a batch script of Slurm',
    lost: ['--account=PAS0001', '--mail-type=ALL', '--gpus-per-node=1'],
  },
  'slurm-minutes-srun.sh': {
    says: ['--set timeouts.run=15m', 'on GPUs: a job file with kubernetes, compute_engine or machines'],
    is: 'a batch script of Slurm',
    lost: ['--account=some_project, --partition=gputest', '--ntasks=1', '--mem=0, --gres=gpu:a100:4'],
  },
  'slurm-short-options.sh': {
    says: ['--name train --set timeouts.run=12h'],
    is: 'a batch script of Slurm',
    lost: [
      '--ntasks=1',
      '--cpus-per-task=8, --gres=gpu:1, --mem=64G',
      '--output=./.slurm/%j_output.log, --error=./.slurm/%j_error.log',
    ],
  },
  'xpk-env-variables.sh': {
    is: 'a shell script that starts a workload of xpk',
    machines: 'v4-8, 4 chips, 1 hosts',
    filled: { 'accelerator: ..': 'accelerator: v4-8' },
    lost: ['--base-docker-image', '--cluster', '--tpu-type=${TPU_TYPE}'],
  },
  'xpk-h100.sh': {
    says: ['workers: 2, gpus: 8, gpu_type: h100-mega-80gb'],
    is: 'a shell script that starts a workload of xpk',
    machines: 'h100-mega-80gb-16, 16 chips, 2 hosts',
    lost: ['--cluster', '--priority', '--scheduler'],
  },
  'xpk-two-slices-in-a-loop.sh': {
    says: ['image: gcr.io/some-project/some_runner'],
    is: 'a shell script that starts a workload of xpk',
    machines: '2 x v5litepod-256, 512 chips, 128 hosts',
    lost: ['`for (( i=0; i<1; i++ ))` of line 5', '--cluster', '--priority'],
  },
  'xpk-v6e-256.sh': {
    is: 'a shell script that starts a workload of xpk',
    machines: 'v6e-256, 256 chips, 64 hosts',
    lost: ['--cluster, --project, --zone', '--on-demand', '--enable-debug-logs'],
  },
};
