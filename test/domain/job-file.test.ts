import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readableNotify } from '../../domain/job-file/notify.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { ParseOptions } from '../../domain/job-file/parse.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import { jobFileJsonSchema } from '../../domain/job-file/sections.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { formatProblems } from '../../domain/problem.js';
import { WRONG_JOB_FILES } from './wrong-job-files/index.js';
import { tpuJob, type TpuJob } from '../tpu-job.js';
import { SECTION_NAMES } from './job-file-lists.js';

const ENV = { HOME: '/h', ZONE: 'us-east1-d', WANDB_API_KEY: 'k' };
const TPU = 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n';

function parse(text: string, options: Partial<ParseOptions> = {}): ResolvedJob {
  return parseJobFile(text, { file: 'train.yaml', env: ENV, ...options });
}

function accepted(resolved: ResolvedJob): Extract<ResolvedJob, { ok: true }> {
  assert.ok(resolved.ok, resolved.ok ? '' : formatProblems(resolved.problems));
  return resolved;
}

const specOf = (text: string, options?: Partial<ParseOptions>): JobSpec => accepted(parse(text, options)).spec;
const messagesOf = (resolved: ResolvedJob): string => (resolved.ok ? '' : formatProblems(resolved.problems));

describe('job file: wrong ones', () => {
  for (const [name, { text, set, want }] of Object.entries(WRONG_JOB_FILES)) {
    it(`${name} is refused with its place, what is wrong and what is allowed`, () => {
      assert.deepEqual(messagesOf(parse(text, set === undefined ? {} : { set })).split('\n'), want);
    });
  }

  it('a job without a file gets the same messages, keys given whole', () => {
    const resolved = resolveJob({ tpu: { accelerator: 'v6e-3', zone: 'us-central1-a', zonee: 1 } });
    assert.deepEqual(messagesOf(resolved).split('\n').slice(0, 2), [
      "tpu.accelerator: 'v6e-3' is no Cloud TPU type",
      '  the nearest are v6e-1 (1 host) and v6e-4 (1 host)',
    ]);
    assert.match(messagesOf(resolved), /^tpu\.zonee: no such key in tpu\n {2}did you mean zone\?/m);
  });

  it('a job without a submitter cannot refer to the environment', () => {
    const resolved = resolveJob({ tpu: { accelerator: 'v6e-1', zone: '${oc.env:ZONE}' } });
    assert.match(messagesOf(resolved), /^tpu\.zone: '\$\{oc\.env:ZONE\}' needs the submitter's environment\n/);
  });

  it('references that double a text again and again are refused, not followed', () => {
    const levels = Array.from({ length: 40 }, (_, level) => [
      `L${level}`,
      `\${env.L${level + 1}}\${env.L${level + 1}}`,
    ]);
    const env = Object.fromEntries([...levels, ['L40', 'x']]) as Record<string, string>;
    assert.match(messagesOf(resolveJob({ tpu: {}, env })), /need more than 10000 look-ups/);
  });

  it('a tree deeper than any job file is refused', () => {
    const deep = JSON.parse('{"tpu":'.repeat(5000) + '1' + '}'.repeat(5000)) as unknown;
    assert.match(messagesOf(resolveJob(deep)), /sections and lists below tpu\.tpu\.tpu lie more than 30 levels deep/);
  });
});

describe('job file: references', () => {
  const run = (text: string): string | undefined =>
    specOf(`${TPU}env: {A: "1"}\ncommand:\n  run: ${JSON.stringify(text)}\n`).command?.run;

  for (const shell of [
    '$X',
    '${VAR}',
    '${VAR:-x.y}',
    '$(ls a.b)',
    '${A[@]}',
    '${#A}',
    '$$',
    '${1}',
    '\\${tpu.zone}',
    '${.x}',
    '`a`',
  ]) {
    it(`${shell} in a command is the shell's, byte for byte`, () => assert.equal(run(shell), shell));
  }

  it('a dotted one is replaced, as often as it stands there', () => {
    assert.equal(run('${tpu.zone} $X ${tpu.zone}'), 'us-central1-a $X us-central1-a');
  });
  it('one refers through others', () => {
    const text = `${TPU}env: {A: "\${env.B}-a", B: "\${tpu.zone}-b"}\n`;
    assert.deepEqual(specOf(text).env, { A: 'us-central1-a-b-a', B: 'us-central1-a-b' });
  });
  it('a value that is one reference takes on the other type', () => {
    const text = 'tpu: {accelerator: v6e-1, zones: [us-east1-d]}\nretries: {task: 3, preemption: "${retries.task}"}\n';
    assert.equal(specOf(text).retries.preemption, 3);
  });
  it('one finds an element of a list', () => {
    const text = 'tpu: {accelerator: v6e-1, zones: [us-east1-d]}\nenv: {Z: "${tpu.zones[0]}/${tpu.zones.0}"}\n';
    assert.equal(specOf(text).env['Z'], 'us-east1-d/us-east1-d');
  });
  it('the environment is read at submit, with a default where it is not set', () => {
    const text = 'tpu: {accelerator: v6e-1, zone: "${oc.env:ZONE}"}\nenv: {A: "${oc.env:NONE,some}"}\n';
    const { spec, raw } = accepted(parse(text));
    assert.deepEqual([tpuJob(spec).tpu.zones, spec.env['A']], [['us-east1-d'], 'some']);
    assert.deepEqual((raw as { tpu: unknown }).tpu, { accelerator: 'v6e-1', zone: 'us-east1-d' });
  });
  it('a value that looks like a secret is named as one that is kept', () => {
    const { warnings } = accepted(parse(`${TPU}env: {K: "\${oc.env:WANDB_API_KEY}"}\n`));
    assert.match(warnings.join(), /^env\.K: the value of WANDB_API_KEY is kept/);
  });

  it('tpu.name is the same for the whole job, and another for another job', () => {
    const text =
      'tpu: {accelerator: v6e-1, zone: us-east1-d, name: "me-${tpu.accelerator}"}\ncommand: {run: "gs://b/${tpu.name} ${env.D} \\\\${tpu.name}"}\nenv: {D: "/${tpu.name}"}\n';
    const bound = bindJobName(specOf(text), 'job-7f3k');
    assert.equal(bound.command?.run, 'gs://b/me-v6e-1-job-7f3k /me-v6e-1-job-7f3k \\${tpu.name}');
    assert.equal(bound.env['D'], '/me-v6e-1-job-7f3k');
    assert.equal(tpuJob(bound).tpu.name, 'me-v6e-1');
  });
  it('tpu.name without a name in the file begins with jc', () => {
    assert.equal(bindJobName(specOf(`${TPU}env: {D: "\${tpu.name}"}\n`), 'job-7f3k').env['D'], 'jc-job-7f3k');
  });
});

describe('job file: defaults', () => {
  it('the least file is a job of one spot slice', () => {
    assert.deepEqual(specOf(`${TPU}command: {run: hostname}\n`), {
      name: 'v5litepod-16',
      pool: 'default',
      priority: 3,
      slices: 1,
      env: {},
      tpu: {
        allocationMode: 'tpu-vm',
        pricing: 'spot',
        tags: [],
        metadata: {},
        labels: {},
        externalIps: true,
        accelerator: 'v5litepod-16',
        zones: ['us-central1-a'],
        runtimeVersion: 'v2-alpha-tpuv5-lite',
      },
      modules: ['command'],
      command: { run: 'hostname', hosts: 'all' },
      graceSeconds: 30,
      retries: { preemption: 20, infrastructure: 5, task: 0, requested: 20 },
    });
  });

  const runtimes = {
    'v2-8': 'tpu-ubuntu2204-base',
    'v4-8': 'tpu-ubuntu2204-base',
    'v5p-8': 'v2-alpha-tpuv5',
    'v6e-1': 'v2-alpha-tpuv6e',
  };
  for (const [accelerator, version] of Object.entries(runtimes)) {
    it(`the runtime of ${accelerator} is ${version}`, () => {
      assert.equal(tpuJob(specOf(TPU.replace('v5litepod-16', accelerator))).tpu.runtimeVersion, version);
    });
  }
  for (const alias of ['v5e-16', 'tpu-v5litepod-16', 'V5E-16', 'tpu-v5e-16']) {
    it(`${alias} is v5litepod-16`, () => {
      assert.equal(tpuJob(specOf(TPU.replace('v5litepod-16', alias))).tpu.accelerator, 'v5litepod-16');
    });
  }
  it('a runtime of another generation is a warning', () => {
    const text = 'tpu: {accelerator: v6e-1, zone: us-east1-d, version: v2-alpha-tpuv5-lite}\n';
    assert.match(accepted(parse(text)).warnings.join(), /a runtime of v5litepod, and the accelerator is v6e-1/);
  });
  it('durations are seconds, minutes and hours', () => {
    const seconds = (grace: string): number => specOf(`${TPU}grace: ${grace}\n`).graceSeconds;
    assert.deepEqual(['45', '90s', '1.5m', '2h'].map(seconds), [45, 90, 90, 7200]);
  });
  it('numbers that are text are kept as they are written', () => {
    const text = `${TPU}venv: {name: a, python: 3.10}\nenv: {A: 007, B: 1.10, C: true, D: 0x1F}\n`;
    const { venv, env } = specOf(text);
    assert.equal(venv?.python, 'python3.10');
    assert.deepEqual(env, { A: '007', B: '1.10', C: 'true', D: '0x1F' });
  });
  it('workers is an index, a list or all', () => {
    const hosts = (workers: string): unknown => specOf(`${TPU}command: {run: x, workers: ${workers}}\n`).command?.hosts;
    assert.deepEqual(['2', '[0, 3]', 'all', '"all"'].map(hosts), [[2], [0, 3], 'all', 'all']);
  });
  it('notify is one rule or a list of them, which tells the end unless it names topics', () => {
    const notify = (yaml: string): unknown => specOf(`${TPU}notify: ${yaml}\n`).notify;
    const rule = (id: string, on = ['ended']): unknown => ({ on, to: { workflow: { id, signal: 's' } } });
    const yaml = (id: string, on = ''): string => `{${on} to: {workflow: {id: ${id}, signal: s}}}`;
    assert.deepEqual(notify(yaml('a')), [rule('a')]);
    const two = notify(`[${yaml('a', 'on: [preempted, holding-ended],')}, ${yaml('b')}]`);
    assert.deepEqual(two, [rule('a', ['preempted', 'holding-ended']), rule('b')]);
    assert.deepEqual([notify('[]'), notify('null')], [undefined, undefined]);
    // Workflows of others may have ids that only look like ours.
    assert.deepEqual(notify(yaml('my/slice/x')), [rule('my/slice/x')]);
  });
  it('without setup.modules what has a section runs, in order', () => {
    const text = `command: {run: x}\nvenv: {name: a}\nssh: {private_key: k}\n${TPU}`;
    assert.deepEqual(specOf(text).modules, ['venv', 'command']);
  });
});

describe('a refused job', () => {
  it('tells nobody that notify must not name, and whoever else it names', () => {
    const failed = { kind: 'failed', facts: { attempts: 0, preemptions: 0 } } as const;
    const told = (to: unknown, on = ['ended']): number =>
      readableNotify({ notify: { on, to }, nonsense: 1 }, failed).length;
    const [mine, pool] = ['mine', 'quota/default'].map((id) => ({ workflow: { id, signal: 'jobEnded' } }));
    const own = { workflow: { id: 'mine', signal: 'wake' } };
    assert.deepEqual([told(mine), told(pool), told(own), told({ mail: ['a@b.org'] })], [1, 0, 0, 0]);
    assert.deepEqual([told(mine, ['failed']), told(mine, ['cancelled', 'preempted'])], [1, 0]);
  });
});

describe('job file: warnings', () => {
  const warningsOf = (text: string): readonly string[] => accepted(parse(text)).warnings;

  it('a JobMan user hears that the slice is not kept, unless the file says so, and nobody else does', () => {
    const told = [`${TPU}job: {name: a}\n`, `${TPU}ssh: {private_key: k}\n`].map((text) => warningsOf(text).length);
    const silent = [`${TPU}job: {name: a}\nkeep: never\n`, `${TPU}setup: {modules: []}\n`].map(
      (text) => warningsOf(text).length,
    );
    assert.deepEqual(
      [told, silent],
      [
        [1, 1],
        [0, 0],
      ],
    );
  });
  it('a run duration of any pricing holds for flex-start alone, and of flex-start as it stands', () => {
    const flex = (keys: string): readonly string[] =>
      warningsOf(`tpu: {accelerator: v6e-1, zone: us-east5-a, run_duration: 2h${keys}}\n`);
    const [warning = '', ...more] = flex(', pricing: Any');
    assert.match(warning, /^tpu\.run_duration: holds for pricing flex-start alone, and pricing is any/);
    assert.deepEqual([more, flex(''), flex(', pricing: flex-start')], [[], [], []]);
  });
  it('a command that setup.modules leaves out is named', () => {
    assert.match(warningsOf(`${TPU}setup: {modules: []}\ncommand: {run: x}\n`).join(), /^command: does not run/);
  });
});

describe('job file: flags', () => {
  it('--set replaces, adds below a section that is missing, and takes lists', () => {
    const set = ['tpu.accelerator=v6e-8', 'env.A=1', 'tpu.zones[0]=us-east1-d', 'tpu.zone=null', 'tpu.tags=[a, b]'];
    const { tpu, env } = tpuJob(specOf('tpu: {accelerator: v6e-1, zones: [us-east5-a, us-east5-b]}\n', { set }));
    assert.deepEqual(
      [tpu.accelerator, env, tpu.zones, tpu.tags],
      ['v6e-8', { A: '1' }, ['us-east1-d', 'us-east5-b'], ['a', 'b']],
    );
  });
  it('a flag wins over --set, --set over the file', () => {
    const options = { set: ['priority=2', 'user=set'], overrides: { priority: 1 } };
    const { priority, user } = specOf(`${TPU}priority: 3\nuser: file\n`, options);
    assert.deepEqual([priority, user], [1, 'set']);
  });
  it('one word of a command is a shell line, several are quoted one by one', () => {
    const run = (command: string[]): string | undefined => specOf(TPU, { overrides: { command } }).command?.run;
    assert.equal(run(['python3 a.py | tee log']), 'python3 a.py | tee log');
    assert.equal(run(['python3', '-c', "print('a b')"]), `python3 -c 'print('\\''a b'\\'')'`);
  });
  it("a command's words replace the file's and keep its hosts", () => {
    const text = `${TPU}setup: {modules: []}\ncommand: {cmd: old, workers: 1}\n`;
    const spec = specOf(text, { overrides: { command: ['new'] } });
    assert.deepEqual([spec.command, spec.modules], [{ run: 'new', hosts: [1] }, ['command']]);
  });
  it('a flag with a wrong value is named', () => {
    assert.equal(
      messagesOf(parse(TPU, { overrides: { priority: 9 } })),
      '--priority: priority: 9 is not a whole number from 1 to 5',
    );
  });
});

describe("job file: JobMan's", () => {
  const jobman = (name: string): Extract<ResolvedJob, { ok: true }> & { readonly spec: TpuJob } => {
    const job = accepted(parse(readFileSync(new URL(`./jobman/${name}.yaml`, import.meta.url), 'utf8')));
    return { ...job, spec: tpuJob(job.spec) };
  };

  it('a later one with all environments filled in runs the one that is chosen', () => {
    const { spec, warnings } = jobman('later-docker-filled-venv-chosen');
    assert.deepEqual([spec.name, spec.modules, spec.remoteUser], ['maxtext-run-1', ['venv', 'command'], 'alice']);
    assert.deepEqual(spec.venv, { path: '~/maxtext', python: 'python3.10', requirementsFile: 'requirements.txt' });
    assert.deepEqual([spec.tpu.name, spec.tpu.network, spec.tpu.externalIps], ['alice-v6e-16', 'team', false]);
    assert.deepEqual(spec.tpu.metadata, { owner: 'alice', purpose: 'pretraining', run: '007' });
    assert.deepEqual(warnings, [
      'tpu.name: is the beginning of the names of new slices: a TPU VM of this name that runs already is left alone, where JobMan took it',
      'the slice is deleted when the command ends (JobMan kept it), and its logs stay; write keep: always to keep the slice, which is billed until `jobctl delete`, or keep: never to hide this line',
      'command.cmd: the backslash of \\${hydra.job.name} stays, where JobMan took it away; for what JobMan made of it write $${hydra.job.name}',
    ]);
  });
  it('its command keeps every character that is the shell’s', () => {
    const run = bindJobName(jobman('later-docker-filled-venv-chosen').spec, 'j-1').command?.run;
    assert.deepEqual(run?.split('\n').slice(0, 2), [
      'gcloud config set compute/zone us-east1-d',
      'export TPU_PREFIX=alice-v6e-16-j-1 N=${N:-4} WHERE=$(hostname) ALL="${LIST[@]}" K=${#LIST}',
    ]);
    assert.match(run ?? '', /gs:\/\/b\/alice-v6e-16-j-1\/\$RUN --hydra '\\\$\{hydra\.job\.name\}'/);
  });
  it('a first one runs in its own order, with the older words', () => {
    const { spec } = jobman('first-venv');
    assert.deepEqual([spec.tpu.allocationMode, spec.tpu.pricing, spec.tpu.name], ['tpu-vm', 'preemptible', 'eval']);
    assert.deepEqual(spec.ssh, { privateKey: '~/.ssh/id_rsa', publicKey: '~/.ssh/id_rsa.pub' });
    assert.deepEqual([spec.modules, spec.venv?.path], [['venv', 'ssh', 'command'], '/home/me/venvs/eval']);
    const pair = { privateKey: '~/.ssh/id_rsa', publicKey: '~/.ssh/id_rsa.pub' };
    assert.deepEqual(spec.identities, [{ ...pair, isBetweenHosts: true }]);
    assert.deepEqual([spec.gcsfuse, spec.conda], [undefined, undefined]);
    assert.deepEqual(spec.command, { run: 'gcloud config set project x\nls /home/me/gcs-bucket\n', hosts: [0] });
  });
  it("the README's job is a container, a bucket and keys between hosts", () => {
    const { spec } = jobman('readme-docker');
    assert.deepEqual(spec.modules, ['docker', 'gcsfuse', 'ssh', 'command']);
    assert.deepEqual(spec.docker, {
      image: 'us-docker.pkg.dev/p/r/llama:2024-05',
      flags: ['--privileged', '--network=host', '--env', 'HOME=/home/me me'],
      mounts: ['/dev', '/home/me/gcs-bucket', '/home/me:/home/me:ro'],
      workdir: '/workspace',
      env: { WANDB_MODE: 'offline', GREETING: 'a b=c' },
    });
    assert.deepEqual(spec.gcsfuse, [{ bucket: 'corpus', path: '/home/me/gcs-bucket' }]);
    assert.equal(spec.command?.run, 'pip show jax\nls /home/me/gcs-bucket | head -n ${N:-3}\n');
  });
  it('a last one has its caches, mounts, identities and conda', () => {
    const { spec } = jobman('later-conda');
    assert.deepEqual(spec.modules, ['ssh', 'gcsfuse', 'conda', 'command']);
    assert.deepEqual(spec.ssh, { privateKey: '~/.ssh/id_ed25519' });
    const entry = 'Host github.com\n  User git\n  IdentityFile ~/.ssh/github\n';
    assert.deepEqual(spec.identities, [
      { privateKey: '~/.ssh/github', publicKey: '~/.ssh/github.pub', configEntry: entry },
    ]);
    const [first, second] = spec.gcsfuse ?? [];
    assert.deepEqual(
      [first?.cache?.dir, first?.cache?.metadataTtlSecs, first?.prefix?.slice(0, 10)],
      ['/mnt/ram', -1, 'sudo mkdir'],
    );
    assert.deepEqual(second, { bucket: 'checkpoints', path: '/home/alice/checkpoints', cache: { metadataTtlSecs: 0 } });
    const requirements = { file: 'requirements.txt' };
    assert.deepEqual(spec.conda, { name: 'sweep', configFile: 'environment.yml', python: '3.10', requirements });
    assert.deepEqual([spec.docker, spec.venv], [undefined, undefined]);
  });
  it('one without a command is a job that holds its slice', () => {
    const { spec } = jobman('no-command');
    assert.deepEqual([spec.command, spec.modules, spec.tpu.pricing], [undefined, [], 'ondemand']);
  });
});

describe('job file: as JSON', () => {
  it('what parsing hands on resolves to the same spec without file and environment', () => {
    const { raw, spec } = accepted(
      parse('tpu: {accelerator: v5e-16, zone: "${oc.env:ZONE}"}\nenv: {A: 007, B: "${tpu.name}"}\n'),
    );
    assert.deepEqual(accepted(resolveJob(JSON.parse(JSON.stringify(raw)))).spec, spec);
  });
  it('a spec survives JSON unchanged', () => {
    const spec = specOf(`${TPU}command: {run: x}\nvenv: {name: a}\n`);
    assert.deepEqual(JSON.parse(JSON.stringify(spec)), spec);
  });
  it('the JSON Schema knows every section and forbids others', () => {
    const schema = jobFileJsonSchema() as { properties: object; oneOf: object[]; additionalProperties: boolean };
    assert.ok(['tpu', 'kubernetes', 'command', 'venv', 'setup', 'job', 'env'].every((key) => key in schema.properties));
    assert.deepEqual(
      schema.oneOf,
      SECTION_NAMES.map((name) => ({ required: [name] })),
    );
    assert.equal(schema.additionalProperties, false);
  });
});
