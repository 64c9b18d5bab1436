import assert from 'node:assert/strict';
import type { RunRequest } from '../../cloud/hosts/port.js';
import { until } from '../until.js';
import { withGpuHost } from './gpu-host.js';
import { ended, NOTICE, request } from './run.js';
import { never } from './session.js';

const H100 = { accelerator: { type: 'h100', count: 1 } };
const WELL = { problems: [], warnings: [], model: 'NVIDIA H100 80GB HBM3', listed: ['GPU-0'] };
const PERSISTENCED = 'exec 3< /dev/nvidia0; exec -a /usr/bin/nvidia-persistenced sleep 300';
const NO_OUTPUT = { onStdout: () => undefined, onStderr: () => undefined, signal: never };
const onGpu = (waitMs = 60_000): Partial<RunRequest> => ({
  accelerator: { devices: ['/dev/nvidia[0-9]*'], lockFiles: [], waitMs },
});

describe('who uses the GPUs of a host', () => {
  it('is who computes, by the word of the driver: a daemon that has the device open is nobody', () =>
    withGpuHost(1, async ({ inspect, connection, runs, computes }) => {
      await runs('persistenced', PERSISTENCED);
      assert.deepEqual(await inspect(H100), WELL);
      await connection.startRun(request('echo mine', onGpu(100)));
      assert.equal((await ended(connection)).code, 0);
      const pid = await runs('colleague', 'exec -a python3 sleep 301');
      computes(`${pid}, python3\n${pid}, python3\n`);
      assert.deepEqual(await inspect(H100), {
        ...WELL,
        busy: `accelerator devices are in use by process ${pid} (python3 301)`,
      });
    }));

  const answers: Record<string, { lines: string; want: string | undefined }> = {
    'with a name that the driver hides': {
      lines: '99999, [Insufficient Permissions]',
      want: '99999 ([Insufficient Permissions])',
    },
    'of a container, whose pid is nobody’s here': { lines: '99999, [Not Found]', want: '99999 ([Not Found])' },
    'of another PID namespace, whose pid is another’s here': { lines: '1, /opt/train', want: '1 (/opt/train)' },
    'two of them': { lines: '99998, a\n99999, b', want: '99998 (a), 99999 (b)' },
    'a client of MPS, and not its server': {
      lines: '99998, nvidia-cuda-mps-server\n99999, /usr/bin/python3',
      want: '99999 (/usr/bin/python3)',
    },
    'nobody, with a warning of the driver': {
      lines: 'WARNING: infoROM is corrupted at gpu 0000:3B:00.0',
      want: undefined,
    },
  };
  it('is understood from each answer of the driver', () =>
    withGpuHost(1, async ({ inspect, computes }) => {
      for (const [name, { lines, want }] of Object.entries(answers)) {
        computes(`${lines}\n`);
        const { busy } = await inspect(H100);
        assert.equal(busy, want && `accelerator devices are in use by process ${want}`, name);
      }
    }));

  const failures: Record<string, { script: string; want: RegExp }> = {
    'of an error': {
      script: "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
      want: /nvidia-smi ended with code 18: Failed to initialize NVML: Driver\/library version mismatch$/,
    },
    'of a word instead': { script: "echo '[Not Supported]'", want: /nvidia-smi says '\[Not Supported\]' where it is/ },
    'of a GPU that is lost': { script: "echo '[GPU is lost]'", want: /nvidia-smi says '\[GPU is lost\]'/ },
  };
  it('is not nobody where the driver does not say', () =>
    withGpuHost(1, async ({ inspect, connection, answers: answer }) => {
      for (const [name, { script, want }] of Object.entries(failures)) {
        answer(`case "$*" in -L) echo 'GPU 0: H100 (UUID: GPU-0)' ;; *) ${script} ;; esac`);
        const { problems } = await inspect(H100);
        assert.match(problems.join(), new RegExp(`it cannot be seen who uses its accelerators: ${want.source}`), name);
        const status = await connection.startRun(request('echo mine', onGpu(100)));
        assert.ok(status.kind === 'blocked', `${name}: ${JSON.stringify(status)}`);
        assert.match(status.message, /^accelerator devices \(\/dev\/nvidia0\) cannot be looked at: nvidia-smi /);
      }
    }));

  it('is said while a command waits for it, and the command starts when they have gone', () =>
    withGpuHost(1, async ({ connection, another, runs, computes }) => {
      const pid = await runs('colleague', 'exec -a hold.py sleep 300');
      computes(`${pid}, hold.py\n`);
      const first = await (await another()).startRun(request('echo mine', onGpu()));
      assert.deepEqual(first, { kind: 'starting', waitsFor: `${pid} (hold.py 300)` });
      const again = await (await another()).startRun(request('echo mine', onGpu()));
      assert.deepEqual(again, first);
      computes('');
      await until('the command', async () => (await connection.runStatus('train-x1-a1')).kind === 'exited');
      assert.equal((await ended(connection)).code, 0);
    }));

  it('is waited for until a stop', () =>
    withGpuHost(1, async ({ connection, another, computes }) => {
      computes('99999, python3\n');
      const waiting = await another();
      assert.equal((await waiting.startRun(request('echo mine', onGpu()))).kind, 'starting');
      assert.deepEqual(await connection.stopRun('train-x1-a1', 100, NOTICE), { kind: 'absent' });
      assert.deepEqual(await waiting.startRun(request('echo mine', onGpu())), { kind: 'absent' });
    }));

  it('may be what a job left, out of its session and environment: it is ended with the claim, and nothing older', () =>
    withGpuHost(
      1,
      async ({ connection, machine, runs, answers: answer }) => {
        answer(
          `case "$*" in -L) echo 'GPU 0: H100 (UUID: GPU-0)' ;; *) for p in $(pgrep '^hold'); do echo "$p, hold"; done ;; esac`,
        );
        const holds = (name: string): string => `exec 7< /dev/nvidia0; exec -a ${name} ~/hold 300`;
        await runs('prepare', 'cp /bin/sleep ~/hold; sleep 300');
        await until('a copy', async () => (await connection.exec('test -x ~/hold', NO_OUTPUT)).code === 0);
        const older = await runs('older', holds('older'));
        await until('another second', async () => (await machine.inspect(H100)).busy !== undefined);
        await connection.exec('sleep 2', NO_OUTPUT);
        await machine.claim('claim-1', 'claim-1\nrest\n', 'train');
        const leaks = `(setsid env -i HOME="$HOME" bash -c '${holds('leaked')}' &); sleep 300`;
        await connection.startRun(request(leaks, onGpu(0)));
        await until('two', async () => (await machine.inspect(H100)).busy?.includes(', '));
        const named = await machine.vacate('claim-1', 100);
        assert.ok(
          named.some((text) => /^process \d+ \(leaked 300\) of user 4242$/.test(text)),
          named.join(),
        );
        assert.ok(!named.join().includes('older'), named.join());
        const { busy } = await machine.inspect(H100);
        assert.equal(busy, `accelerator devices are in use by process ${older} (hold)`);
      },
      // Of root nobody can tell whose a process is, so nothing is ended there: the login user is another.
      4242,
    ));

  it('of a slot is who computes on its own GPUs, before a use and before a command', () =>
    withGpuHost(4, async ({ inspect, connection, answers: answer }) => {
      const gpus = ['GPU-5d1b', 'GPU-77aa', 'GPU-0c3e', 'GPU-91f0'];
      const computes = (lines: string): void =>
        answer(`case "$*" in
          -L) ${gpus.map((uuid, index) => `echo 'GPU ${index}: NVIDIA H100 80GB HBM3 (UUID: ${uuid})'`).join('; ')} ;;
          *query-gpu=index,uuid*) ${gpus.map((uuid, index) => `echo '${index}, ${uuid}'`).join('; ')} ;;
          *query-compute-apps=gpu_uuid,pid,process_name*) printf '%s' '${lines}' ;;
          *) exit 2 ;; esac`);
      const slot = { number: 1, of: 2, gpus: [2, 3] };
      const half = { accelerator: { type: 'h100', count: 4 }, slot };
      const onSlot = { accelerator: { devices: ['/dev/nvidia[0-9]*'], lockFiles: [], waitMs: 100, gpus: slot.gpus } };
      computes('GPU-5d1b, 99997, /opt/a, b\nGPU-77aa, 99998, python3\n');
      assert.deepEqual(await inspect(half), { ...WELL, listed: gpus });
      await connection.startRun(request('echo mine', onSlot));
      assert.equal((await ended(connection)).code, 0);
      computes('GPU-5d1b, 99997, python3\nGPU-91f0, 99999, train, all\n');
      assert.equal((await inspect(half)).busy, 'accelerator devices are in use by process 99999 (train, all)');
      const blocked = await connection.startRun({ ...request('echo mine', onSlot), runId: 'train-x1-a2', epoch: 2 });
      assert.ok(blocked.kind === 'blocked' && blocked.message.endsWith('99999 (train, all)'), JSON.stringify(blocked));
      const missing = { ...half, slot: { ...slot, gpus: [3, 4] } };
      assert.match((await inspect(missing)).problems.join(), /it cannot be seen who .*: nvidia-smi has no GPU 4$/);
      assert.match(
        (await inspect({ ...half, accelerator: { type: 'h100', count: 8 } })).problems.join(),
        /it has 4 NVIDIA devices .* the pool file says 8/,
      );
    }));

  it('warns of another model than the pool file says, and of GPUs that it does not name', () =>
    withGpuHost(2, async ({ inspect }) => {
      const { warnings } = await inspect({ accelerator: { type: 'a100', count: 2 } });
      assert.deepEqual(warnings, ['the pool file says a100, and nvidia-smi -L lists NVIDIA H100 80GB HBM3']);
      const bare = await inspect({});
      assert.deepEqual(bare.problems, []);
      assert.match(
        bare.warnings.join(),
        /^it has 2 NVIDIA devices \(\/dev\/nvidia0 \/dev\/nvidia1\), and the pool file/,
      );
      const tpu = await inspect({ accelerator: { type: 'v5litepod', count: 2 } });
      assert.match(tpu.problems.join(), /it has 0 TPU devices/);
    }));
});
