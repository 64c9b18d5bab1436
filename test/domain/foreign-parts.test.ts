import { gives } from '../foreign-gives.js';

describe("no part of another tool's file is lost without a word", () => {
  const CREATE = 'gcloud compute tpus tpu-vm create a --zone=us-east5-b --accelerator-type=v6e-16';
  const ssh = (worker: string, command: string): string =>
    `gcloud compute tpus tpu-vm ssh a --zone=us-east5-b${worker} --command=${command}`;
  const after = (lines: string): string => `${CREATE}\n${lines}\n`;

  describe('logins of gcloud to other workers', () => {
    gives(
      {
        [`${ssh(' --worker=all', '"pip install x"')}\n${ssh(' --worker=0', '"python3 a.py"')}`]: [
          'script: {run: pip install x}',
          'command: {run: python3 a.py, workers: [0]}',
        ],
        [`${ssh(' --worker=all', '"cd r && make"')}\n${ssh(' --worker=all', '"python3 a.py"')}`]: [
          '(\n      cd r && make\n      )\n      python3 a.py',
          '!script:',
        ],
        [`${ssh('', '"python3 s.py"')}\n${ssh(' --worker=all', '"python3 a.py"')}`]: [
          'command: {run: python3 a.py}',
          'tpu-vm ssh --worker=0 of line 2: command.workers',
        ],
        [`true && ${ssh(' --worker=all', '"pip install x;"')} && ${ssh(' --worker=0', '"python3 a.py"')}; date`]: [
          'script: {run: pip install x}',
          'command: {run: python3 a.py, workers: [0]}',
        ],
        [ssh(' --worker=0,2', '"python3 a.py"')]: ['workers:', '!not carried over'],
        [ssh(' --worker=$i', '"python3 a.py"')]: ['--worker=$i: command.workers', '!workers: [0]'],
      },
      after,
      'a.sh',
    );
  });

  describe('what is left in the background is the command', () => {
    gives(
      {
        'nohup python3 a.py > log 2>&1 &': ['run: python3 a.py > log 2>&1', 'without `> FILE`'],
        'cd x && LR=1 nohup python3 a.py &': ['run: cd x && LR=1 python3 a.py', '!without `> FILE`'],
        'setsid python3 a.py & disown': ['run: python3 a.py'],
        'python3 a.py &\necho started\nexit 0': ['run: python3 a.py}'],
        "tmux new -d -s t 'python3 a.py --x 1'": ['run: python3 a.py --x 1'],
        'tmux new-session -d -s t -c /x python3 a.py': ['run: python3 a.py'],
        'cd x && screen -dmS t python3 a.py': ['run: cd x && python3 a.py'],
        'tmux new -d -s t\ntmux send-keys -t t "python3 a.py" Enter': [
          'run: ..',
          'write the program that is to run in tmux',
        ],
        'docker run --rm -d --name n i python3 a.py -d x': ['run: docker run --rm --name n i python3 a.py -d x'],
        'docker run --privileged i a -d x': ['run: docker run --privileged i a -d x', '!background'],
        'python3 a.py & python3 b.py\nwait': ['python3 a.py & python3 b.py', '!in the background is'],
        'python3 a.py 2>&1 && echo done': ['python3 a.py 2>&1 && echo done', '!in the background is'],
      },
      (run) => `resources: {accelerators: tpu-v6e-8}\nrun: ${JSON.stringify(run)}\n`,
    );
    gives(
      { 'nohup python3 a.py &': ['run: python3 a.py'] },
      (run) => `type: task\nresources: {gpu: v6e-8}\ncommands: ["${run}"]\n`,
    );
    gives(
      { 'nohup python3 a.py &': ['run: python3 a.py'] },
      (run) => `apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: i, command: [bash, -c, "${run}"]}]}\n`,
    );
    gives({ 'nohup python3 a.py &': ['run: python3 a.py'] }, (run) => after(ssh(' --worker=all', `"${run}"`)), 'a.sh');
  });

  describe('loops and further machines', () => {
    const XPK = 'xpk workload create --cluster c --workload a --tpu-type=v6e-8 --docker-image=i --command "a"';
    gives(
      {
        [`for i in 0 1 2\ndo\n${CREATE}-$i\ndone`]: ['`for i in 0 1 2` of line 1: a job for each'],
        [`for z in a b; do gcloud compute tpus tpu-vm create a --accelerator-type=v6e-8 --zone=$z; done`]: [
          '`for z in a b` of line 1: a job asks in each of tpu.zones',
        ],
        [`until ${CREATE}; do sleep 5; done`]: ['`until', 'a job asks again by itself', '!not carried over'],
        [`while true; do\n${CREATE} && break\ndone`]: ['`while true` of line 1: a job asks again', '!not carried over'],
        [`for ((i = 0; i < 3; i++)); do\n${CREATE}\ndone`]: ['`for ((i = 0; i < 3; i++))` of line 1: a job for each'],
        [`while read n; do\n${CREATE}\ndone`]: ['`while read n` of line 1: a job for each'],
        [`for i in 1 2; do echo $i; done\n${CREATE}`]: ['!a job for each'],
        [`seq 3 | xargs -I{} ${CREATE}`]: ['`xargs` of line 1: a job for each'],
        [`${CREATE}\n${CREATE.replace('us-east5-b', 'us-east1-d')}`]: ['of line 2: a job asks again by itself'],
        [`${CREATE}\n${CREATE.replace('v6e-16', 'v5p-8')}`]: ['of line 2: other machines are another job'],
        [`${CREATE}\n${CREATE.replace('create a', 'create b')}`]: ['of line 2: other machines are another job'],
        [`${CREATE} && ${CREATE.replace('v6e-16', 'v5p-8')}`]: ['of line 1: other machines are another job'],
        [`${CREATE} || ${CREATE.replace('us-east5-b', 'us-east1-d')}`]: ['of line 1: a job asks again by itself'],
        [`${XPK}\n${XPK}`]: ['workload create of line 2: another workload is another job'],
        [`for lr in 1 2; do\n${XPK}\ndone`]: ['`for lr in 1 2` of line 1: a job for each'],
      },
      (lines) => `${lines}\n`,
      'a.sh',
    );
  });

  describe('a dollar that the shell of the script leaves as it is', () => {
    gives(
      {
        [ssh(' --worker=all', '"echo \\$HOME $LR"')]: ['run: echo $HOME 0.1', '!write the value'],
        [ssh(' --worker=all', "'echo $LR'")]: ['run: echo $LR', '!write the value'],
        [ssh(' --worker=all', '"echo $USER ${X} \\$Y"')]: ['$USER, $X of the command', 'echo $USER ${X} $Y'],
      },
      (lines) => `LR=0.1\n${CREATE}\n${lines}\n`,
      'a.sh',
    );
  });

  describe('alternatives of SkyPilot', () => {
    gives(
      {
        'any_of: [{infra: gcp/us-central1/us-central1-b, accelerators: tpu-v6e-8, use_spot: true}, {zone: us-east5-a, accelerators: tpu-v5p-8}]':
          ['zone: us-central1-b, pricing: spot', 'resources.accelerators tpu-v5p-8'],
        'accelerators: tpu-v6e-8, any_of: [{use_spot: true}, {use_spot: false}]': ['pricing: any', '!use_spot of each'],
        'accelerators: tpu-v6e-8, any_of: [{use_spot: true, zone: us-east5-b}, {zone: us-central1-b}]': [
          'pricing: any',
          'use_spot of each place: pricing: any',
        ],
        'accelerators: tpu-v6e-8, any_of: [{network_tier: best}]': ['resources.network_tier'],
        'accelerators: tpu-v6e-8, any_of: [{image_id: "docker:a"}, {image_id: "docker:b"}]': [
          'resources.image_id docker:b',
        ],
        'accelerators: tpu-v6e-8, job_recovery: {strategy: FAILOVER}': ['resources.job_recovery FAILOVER: a job asks'],
        'accelerators: tpu-v6e-8, job_recovery: FAILOVER': ['resources.job_recovery FAILOVER: a job asks'],
        'accelerators: tpu-v6e-8, spot_recovery: failover': ['resources.job_recovery failover: a job asks'],
        'accelerators: tpu-v6e-8, any_of: [{job_recovery: {max_restarts_on_errors: 2}}]': ['retries: {task: 2}'],
      },
      (resources) => `resources: {${resources}}\nrun: python3 a.py\n`,
    );
  });

  describe('how often Kubernetes tries again', () => {
    const POD = 'template: {spec: {containers: [{name: c, image: i, command: [a]}]}}';
    gives(
      {
        [`kind: Job\nspec: {${POD}}`]: ['retries: {task: 6} # the backoffLimit of a Job'],
        [`kind: Job\nspec: {backoffLimit: 0, ${POD}}`]: ['!retries'],
        [`kind: Job\nspec: {backoffLimit: 2, ${POD}}`]: ['retries: {task: 2}', '!# the backoffLimit'],
        [`kind: CronJob\nspec: {schedule: x, jobTemplate: {spec: {backoffLimit: 3, activeDeadlineSeconds: 60, ${POD}}}}`]:
          ['retries: {task: 3}', 'timeouts: {run: 60s}'],
        [`kind: JobSet\nspec: {failurePolicy: {maxRestarts: 4}, replicatedJobs: [{name: w, template: {spec: {${POD}}}}]}`]:
          ['retries: {task: 4}'],
        [`kind: Deployment\nspec: {${POD}}`]: ['restartPolicy Always: retries'],
        [`kind: Pod\nspec: {restartPolicy: OnFailure, containers: [{name: c, image: i, command: [a]}]}`]: [
          'restartPolicy OnFailure: retries',
        ],
        [`kind: Pod\nspec: {restartPolicy: Never, containers: [{name: c, image: i, command: [a]}]}`]: [
          '!restartPolicy',
        ],
      },
      (manifest) => `apiVersion: batch/v1\n${manifest}\n`,
    );
  });

  describe("a variable that the other tool keeps as a secret is never in the job's env", () => {
    const SKY = 'resources: {accelerators: tpu-v6e-8}\nrun: python3 a.py\n';
    gives({
      [`${SKY}secrets: {DBPASS: null}`]: ['secrets: {DBPASS: dbpass}', '!env:', '!is not repeated'],
      [`${SKY}secrets: {HF: s3cr3tvalue, OTHER: null}`]: [
        'secrets: {HF: hf, OTHER: other}',
        'the value of HF is not repeated',
        '!s3cr3tvalue',
        '!env:',
      ],
      [`${SKY}envs: {HF: s3cr3tvalue, A: 1}\nsecrets: {HF: null}`]: ['secrets: {HF: hf}', 'env: {A: "1"}', '!s3cr3tv'],
      [`${SKY}secrets: {HF: null}\nsetup: pip install x --token $HF`]: [
        '$HF in setup: secrets are for the command',
        '!write the value',
      ],
      'type: task\nresources: {gpu: v6e-8}\ncommands: [a]\nenv: ["DBPASS=${{ secrets.db }}", "U=x:${{secrets.p}}@h", A=1]':
        ['secrets: {DBPASS: dbpass, U: u}', 'env: {A: "1"}'],
    });
  });

  describe('regions without a zone', () => {
    gives(
      {
        'any_of: [{region: us-east5}, {region: europe-west4}]': [
          '# a zone of us-east5, or of europe-west4; zones: [..]',
        ],
        'ordered: [{infra: gcp/us-east5}, {infra: gcp/europe-west4}]': ['# a zone of us-east5, or of europe-west4'],
        'region: us-east5': ['# a zone of us-east5\n'],
        'any_of: [{region: us-east5}, {zone: us-west4-a}]': [
          'zone: us-west4-a',
          'region us-east5: write a zone of it too',
        ],
        'region: us-east5, zone: us-east5-b': ['zone: us-east5-b', '!region'],
      },
      (places) => `resources: {accelerators: tpu-v6e-8, ${places}}\nrun: python3 a.py\n`,
    );
    gives(
      {
        'regions: [us-east5, europe-west4]': ['# a zone of us-east5, or of europe-west4'],
        'regions: [us-east5, europe-west4]\navailability_zones: [us-east5-b]': [
          'zone: us-east5-b',
          'region europe-west4: ',
        ],
      },
      (places) => `type: task\nresources: {gpu: v6e-8}\ncommands: [a]\n${places}\n`,
    );
    gives({
      'type: task\nresources: {gpu: A100}\ncommands: [a]\nregions: [us-east5]\navailability_zones: [us-east5-b]\n': [
        'regions, availability_zones: the nodes of the cluster decide',
      ],
      'resources: {accelerators: A100, any_of: [{use_spot: false}, {region: us-east5}]}\nrun: a\n': [
        'resources.region: the cluster',
      ],
    });
  });

  describe('roles of Kubeflow', () => {
    const POD = 'template: {spec: {containers: [{name: c, image: i, command: [a]}]}}';
    gives(
      {
        [`pytorchReplicaSpecs: {Worker: {restartPolicy: OnFailure, ${POD}}}`]: [
          'restartPolicy OnFailure: retries',
          '!Always',
          '!ReplicaSpecs',
        ],
        [`pytorchReplicaSpecs: {Master: {${POD}}, Worker: {replicas: 3, ${POD}}}`]: ['!restartPolicy'],
        [`pytorchReplicaSpecs: {Master: {restartPolicy: Never, ${POD}}, Worker: {restartPolicy: ExitCode, ${POD}}}`]: [
          'restartPolicy ExitCode: retries',
          '!Never',
        ],
        [`runPolicy: {backoffLimit: 7, activeDeadlineSeconds: 3600, schedulingPolicy: {queue: q}}, pytorchReplicaSpecs: {Worker: {restartPolicy: OnFailure, ${POD}}}`]:
          ['retries: {task: 7}', 'timeouts: {run: 3600s}', 'runPolicy.schedulingPolicy', '!restartPolicy'],
      },
      (spec) => `apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec: {${spec}}\n`,
    );
  });

  describe('clusters of Ray', () => {
    const pod = (more = '', image = 'r/ray:2.60.0'): string =>
      `template: {spec: {containers: [{name: c, image: "${image}"${more}}]}}`;
    const GPUS = ', resources: {limits: {nvidia.com/gpu: 4, cpu: 8, memory: 32Gi}}';
    const cluster = (group: string, more = '', head = pod()): string =>
      `{rayVersion: 2.60.0, headGroupSpec: {${head}}, workerGroupSpecs: [{groupName: w, ${group}}]${more}}`;
    const job = (rayCluster: string, more = ''): string =>
      `apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, namespace: ml}\nspec: {entrypoint: python3 t.py, rayClusterSpec: ${rayCluster}${more}}\n`;
    gives({
      [job(cluster(`replicas: 2, minReplicas: 1, maxReplicas: 4, ${pod(GPUS)}`))]: [
        'image: r/ray:2.60.0',
        'ray_version: 2.60.0',
        'max: 4',
        'min: 1',
        'gpus: 4',
        'cpus: 8',
        'namespace: ml',
        'command: {run: python3 t.py}',
        '!not carried over',
      ],
      [job(cluster(`replicas: 2, ${pod()}`), ', backoffLimit: 2, runtimeEnvYAML: "pip: [x]"')]: [
        'workers: {min: 2, max: 2}',
        'retries: {task: 2}',
        'runtimeEnvYAML',
      ],
      [job(cluster(`replicas: 2, ${pod('', 'other:1')}`)).replace('rayVersion: 2.60.0', 'rayVersion: 2.40.0')]: [
        'ray_version: ..',
        'the file has Ray 2.40.0: 2.52.0 or later',
        'image other:1 of the workers: all pods',
      ],
      [job(
        cluster(`replicas: 1, ${pod()}`, '', pod(', env: [{name: A, value: b}, {name: HF_TOKEN, value: abcdefghij}]')),
      )]: ['env: {A: b}', 'secrets: {HF_TOKEN: hf-token}', '!abcdefghij'],
      [job(cluster(`${pod(', env: [{name: A, value: b}]')}}, {groupName: x`))]: [
        'max: ..',
        'env of the workers',
        'group x: a job has one',
      ],
      [`apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec: ${cluster(`replicas: 2, ${pod()}`)}\n`]: [
        'workers: {min: 2, max: 2}',
        'without a command the job holds its cluster',
      ],
      [job(cluster(`replicas: 2, ${pod(', resources: {limits: {google.com/tpu: 4}}')}`))]: ['on TPUs: tpu:'],
    });
  });
});
