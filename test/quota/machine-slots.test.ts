import assert from 'node:assert/strict';
import { declared, reachOf } from '../../cloud/machines/own/choosing.js';
import { startCall } from '../../cloud/hosts/run-payload.js';
import { runEnvironment } from '../../domain/run-environment.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import { isNamed } from '../../domain/machine-kinds/machines/words.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

const BOX = `[[machines]]
name = "box"
address = "10.0.0.20"
`;

const parsed = (lines: string, before = '') => parsePoolFile(`${before}${BOX}${lines}\n`, 'p.toml', 'lab');
const machinesOf = (lines: string) => {
  const file = parsed(lines);
  assert.ok(file.ok, file.ok ? '' : formatProblems(file.problems));
  return file.machines;
};

/** docs/adr/0153 */
describe('slots of a machine in a pool file', () => {
  it('are machines with a user and equal parts each', () => {
    const machines = machinesOf('user = "train-{slot}"\nslots = 4\naccelerators = {h100 = 8}\nlabels = {room = "b"}');
    assert.deepEqual(
      machines.map(({ name, user, address, accelerators, slot, labels }) => [
        ...[name, user, address, accelerators['h100'], slot?.gpus.join(), slot?.number, labels['room']],
      ]),
      [0, 1, 2, 3].map((n) => [`box.${n}`, `train-${n}`, '10.0.0.20', 2, `${2 * n},${2 * n + 1}`, n, 'b']),
    );
    const [, second] = machines;
    assert.ok(second);
    assert.deepEqual(declared([second]).accelerator, { type: 'h100', count: 8 }, 'what the whole machine has');
    assert.deepEqual(reachOf(second).slot, { number: 1, of: 4, gpus: [2, 3] });
  });

  it('may be of GPUs whose maker and model the pool file says, if the name of the type does not', () => {
    const [slot] = machinesOf(
      'user = "u{slot}"\nslots = 2\nmaker = "nvidia"\nmodel = "B200"\naccelerators = {mi-lab = 8}',
    );
    assert.ok(slot);
    assert.deepEqual(declared([slot]).accelerator, { type: 'mi-lab', count: 8, maker: 'NVIDIA', model: 'B200' });
    assert.ok(!('maker' in reachOf(slot)), 'the record needs neither');
    for (const [model, name, want] of [
      ['B200', 'NVIDIA B200', true],
      ['RTX 6000 Ada', 'NVIDIA RTX 6000 Ada Generation', true],
      ['h100-80gb', 'NVIDIA H100 80GB HBM3', true],
      ['B20', 'NVIDIA B200', false],
      ['A100', 'NVIDIA H100 80GB HBM3', false],
    ] as const)
      assert.equal(isNamed(model, [name]), want, `${model} of ${name}`);
  });

  it('of a machine without accelerators have no GPU', () => {
    const slots = machinesOf('user = "u{slot}"\nslots = 2').map(({ slot, accelerators }) => [slot?.gpus, accelerators]);
    assert.deepEqual(slots, [
      [[], {}],
      [[], {}],
    ]);
    assert.deepEqual(
      machinesOf('user = "train"').map(({ name, slot }) => [name, slot]),
      [['box', undefined]],
    );
  });

  const WRONG: Readonly<Record<string, readonly [lines: string, want: RegExp]>> = {
    'one user for all': [
      'user = "train"\nslots = 2',
      /user: 'train' is one login user for several slots\n.*user = "train-\{slot\}"/,
    ],
    '{slot} without slots': ['user = "train-{slot}"', /user: 'train-\{slot\}' is of a machine with slots/],
    'one slot': ['user = "u{slot}"\nslots = 1', /slots: 1 .*2/],
    'more slots than anybody has': ['user = "u{slot}"\nslots = 65', /slots: 65 .*64/],
    'GPUs that cannot be shared out': [
      'user = "u{slot}"\nslots = 3\naccelerators = {h100 = 8}',
      /slots: 8 h100 cannot be shared out evenly among 3 slots/,
    ],
    'more slots than GPUs': ['user = "u{slot}"\nslots = 8\naccelerators = {h100 = 4}', /4 h100 cannot be shared out/],
    "a TPU's chips": [
      'user = "u{slot}"\nslots = 2\naccelerators = {v5e = 8}',
      /slots: slots are for NVIDIA GPUs or none, and v5e is another maker's/,
    ],
    "AMD's GPUs": ['user = "u{slot}"\nslots = 2\naccelerators = {mi300x = 8}', /mi300x is another maker's/],
    "a maker's GPUs that are not NVIDIA's": [
      'user = "u{slot}"\nslots = 2\nmaker = "amd"\naccelerators = {big = 8}',
      /big is another maker's/,
    ],
    'a maker that nobody knows': ['user = "u"\nmaker = "intel"\naccelerators = {max = 8}', /maker: /],
    'a model of no accelerator': ['user = "u"\nmodel = "H100"', /model: is of accelerators, and this machine has none/],
    'a name that a slot has': [
      'user = "u{slot}"\nslots = 2\n[[machines]]\nname = "box.1"\naddress = "10.0.0.21"\nuser = "train"',
      /name: is a slot of another machine/,
    ],
    'the address of another': [
      'user = "u{slot}"\nslots = 2\n[[machines]]\nname = "b"\naddress = "10.0.0.20"\nuser = "train"',
      /is the address of box too/,
    ],
  };
  for (const [name, [lines, want]] of Object.entries(WRONG))
    it(`${name}: refused`, () => {
      const file = parsed(lines);
      assert.ok(!file.ok);
      assert.match(formatProblems(file.problems), want);
    });

  it("give a command their GPUs and ports, whatever the job's own env says", () => {
    const spec = {
      machines: { pool: 'lab', hosts: 2, accelerator: { type: 'h100', perHost: 2 }, labels: {} },
      slices: 1,
      command: { run: 'true', hosts: 'all' },
      env: { CUDA_VISIBLE_DEVICES: '0', LR: '3' },
    } as unknown as JobSpec;
    const host = (index: number, slot?: object, uuids?: readonly string[]) =>
      ({
        reach: 'ssh',
        index,
        internalIp: '10.0.0.20',
        own: { pool: 'lab', name: 'x', port: 22, user: 'u', claim: 'c', slot, uuids },
      }) as never;
    const environment = (number: number, slots: readonly (object | undefined)[], uuids?: readonly string[]) => {
      const hosts = slots.map((slot, index) => host(index, slot, uuids));
      const slices = [{ index: 0, name: 's', zone: 'z', hosts }];
      return runEnvironment(spec, { job: 'j', attempt: 1, bucket: 'b', slices }, 0, number);
    };
    const slots = [
      { number: 3, of: 4, gpus: [6, 7] },
      { number: 1, of: 4, gpus: [2, 3] },
    ];
    const second = environment(1, slots);
    assert.deepEqual(
      [second['CUDA_VISIBLE_DEVICES'], second['CUDA_DEVICE_ORDER'], second['LR']],
      ['2,3', 'PCI_BUS_ID', '3'],
    );
    for (const seen of [environment(0, slots), second]) {
      assert.equal(seen['MASTER_PORT'], '29403', "of the coordinator's slot");
      assert.equal(seen['JAX_COORDINATOR_ADDRESS'], '10.0.0.20:8479');
      assert.equal(seen['JOBCTL_COORDINATOR_ADDRESS'], '10.0.0.20:8479');
    }
    const byUuid = environment(1, slots, ['GPU-a', 'GPU-b']);
    const visible = (seen: Readonly<Record<string, string>>) => [
      seen['CUDA_VISIBLE_DEVICES'],
      seen['NVIDIA_VISIBLE_DEVICES'],
    ];
    assert.deepEqual(
      [visible(byUuid), visible(second)],
      [
        ['GPU-a,GPU-b', 'GPU-a,GPU-b'],
        ['2,3', undefined],
      ],
    );
    const whole = environment(0, [undefined, undefined]);
    assert.deepEqual([whole['CUDA_VISIBLE_DEVICES'], whole['MASTER_PORT']], ['0', '29400']);
  });
});

describe('the container of a slot', () => {
  const planOf = (flags: readonly string[], gpus: readonly (string | number)[]): string => {
    const container = { image: 'img', flags, mounts: [], env: {} };
    const accelerator = { devices: [], lockFiles: [], gpus };
    const call = startCall(
      { runId: 'j-a1', epoch: 1, script: 'true', env: {}, container, accelerator },
      { slice: 0, index: 0 },
    );
    return /^with_container.*$/m.exec(call.stdin.toString())?.[0] ?? '';
  };

  it('gets the GPUs of the slot alone, whichever its flags ask for', () => {
    for (const flags of [['--gpus', 'all'], ['--gpus=2'], ['--shm-size', '8g', '--gpus', '"device=0"']]) {
      const plan = planOf(flags, ['GPU-a', 'GPU-b']);
      assert.match(plan, /--gpus'?[ =]'?"device=GPU-a,GPU-b"'/, plan);
      assert.equal(plan.match(/--gpus/g)?.length, 1, 'docker adds up several');
      assert.equal(plan.includes("'--shm-size' '8g'") || plan.includes('--shm-size 8g'), flags.length === 4, plan);
    }
    assert.doesNotMatch(planOf([], ['GPU-a']), /--gpus/);
    assert.match(planOf(['--gpus', 'all'], [0, 1]), /--gpus'? '?all/);
  });
});

describe('what a pool file says of machines, and what a job file asks for', () => {
  const SAME_RULES: Readonly<Record<string, readonly [pool: string, job: object, want: RegExp | undefined]>> = {
    'a type': ['accelerators = {"a100-80gb" = 8}', { accelerator: 'a100-80gb', count: 8 }, undefined],
    'what quota calls a machine without any': [
      'accelerators = {machine = 8}',
      { accelerator: 'machine', count: 8 },
      /'machine' is what quota calls a machine without an accelerator/,
    ],
    'a slice of Cloud TPU': [
      'accelerators = {"v5litepod-16" = 8}',
      { accelerator: 'v5litepod-16', count: 8 },
      /'v5litepod-16' is a slice of Cloud TPU, and no type of accelerator\n.*v5litepod$/,
    ],
    'the same by another name': [
      'accelerators = {"v5e-16" = 8}',
      { accelerator: 'v5e-16', count: 8 },
      /'v5e-16' is a slice of Cloud TPU/,
    ],
    'large letters': [
      'accelerators = {H100 = 8}',
      { accelerator: 'H100', count: 8 },
      /'H100' is no type of accelerator/,
    ],
    'a label': ['labels = {room = "b 12!"}', { labels: { room: 'b 12!' } }, undefined],
    'a label with a mark': ['labels = {"room!" = "b"}', { labels: { 'room!': 'b' } }, /'room!' is no name of a label/],
    'a label without a name': ['labels = {"" = "b"}', { labels: { '': 'b' } }, /'' is no name of a label/],
  };
  for (const [name, [lines, section, want]] of Object.entries(SAME_RULES))
    it(`${name} is ${want === undefined ? 'taken' : 'refused'} in both`, () => {
      const file = parsed(`user = "train"\n${lines}`);
      const job = resolveJob({ machines: section, command: { run: 'x' } });
      const texts = [file, job].map((read) => (read.ok ? '' : formatProblems(read.problems)));
      for (const text of texts)
        if (want === undefined) assert.equal(text, '');
        else assert.match(text, want);
    });
});
