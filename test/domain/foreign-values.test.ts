import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { gives, refusal } from '../foreign-gives.js';
import { printedJob } from '../printed-job.js';

describe('values and variables of other tools', () => {
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
});
