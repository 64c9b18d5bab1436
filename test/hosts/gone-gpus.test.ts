import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { RunRequest } from '../../cloud/hosts/port.js';
import { signIn } from '../../domain/recovery/broken-machine.js';
import { until } from '../until.js';
import { type GpuHost, withGpuHost } from './gpu-host.js';
import { ended, NOTICE, outputOf, request } from './run.js';
import { never } from './session.js';

const NO_OUTPUT = { onStdout: () => undefined, onStderr: () => undefined, signal: never };
const MINE = ['GPU-5d1b', 'GPU-77aa'];
const onMine = (waitMs = 100): Partial<RunRequest> => ({
  accelerator: { devices: ['/dev/nvidia[0-9]*'], lockFiles: [], waitMs, gpus: MINE, claimed: MINE },
});

/** A driver whose list of UUIDs is this shell script. */
const smi = (list: string, one = 'exit 6'): string => `case "$*" in
  '--query-gpu=uuid --format=csv,noheader') ${list} ;;
  *query-compute-apps=gpu_uuid*) ;;
  '-i '*) ${one} ;;
  *) exit 2 ;; esac`;
const listing = (...uuids: readonly string[]): string => smi(uuids.map((uuid) => `echo ${uuid}`).join('; '));
const BOTH = listing('GPU-0c3e', ...MINE);
const LOST = "echo 'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error'; exit 255";
const oneLost = smi(LOST, `case $2 in GPU-77aa) ${LOST} ;; *) echo $2 ;; esac`);

describe('GPUs of a claim that the driver has lost', () => {
  const on = (work: (host: GpuHost) => Promise<void>) => withGpuHost(3, work);
  const output = ({ read }: GpuHost): string => read('.jobctl/runs/train-x1-a1/output');
  const told = (gone: string, why: string): string => `jobctl: GPUs of this job are gone: ${gone} (${why})\n`;

  it('keep its command from starting, which is said in the log by words that put the machine aside', () =>
    on(async (host) => {
      host.answers(listing('GPU-0c3e', 'GPU-5d1b'));
      await host.connection.startRun(request('echo mine', onMine()));
      const { code } = await ended(host.connection);
      assert.equal(code, 125);
      assert.equal(output(host), told('GPU-77aa', 'nvidia-smi does not list it'));
      assert.equal(signIn(output(host)), 'jobctl: GPUs of this job are gone: ');
    }));

  it('may come back while it waits, as after a boot', () =>
    on(async (host) => {
      host.answers(listing('GPU-5d1b'));
      const starting = await (await host.another()).startRun(request('echo mine', onMine(60_000)));
      const waitsFor = 'GPU GPU-77aa is gone: nvidia-smi does not list it';
      assert.deepEqual(starting, { kind: 'starting', waitsFor });
      host.answers(BOTH);
      await until('the command', async () => (await host.connection.runStatus('train-x1-a1')).kind === 'exited');
      assert.equal(output(host), 'mine\n');
    }));

  const AT_END: Readonly<Record<string, { driver: string; want: string | undefined; script?: string }>> = {
    'the list is without one': { driver: listing('GPU-77aa'), want: told('GPU-5d1b', 'nvidia-smi does not list it') },
    'one makes the whole list fail': {
      driver: oneLost,
      want: told(
        'GPU-77aa',
        'nvidia-smi ended with code 255: Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error',
      ),
    },
    'only another’s is lost': { driver: smi(LOST, 'echo $2'), want: undefined },
    'the driver fails for a reason of its own': {
      driver: smi('echo insufficient rights; exit 4', 'echo insufficient rights; exit 4'),
      want: undefined,
    },
    'all are there': { driver: BOTH, want: undefined },
    'the command ended well': { driver: listing(), want: undefined, script: 'exit 0' },
  };
  it('are told of after a command that failed, and not for other failures', () =>
    on(async ({ connection, answers, read }) => {
      for (const [index, [name, { driver, want = '', script = 'exit 1' }]] of Object.entries(AT_END).entries()) {
        const runId = `train-x1-a${index + 1}`;
        answers(BOTH);
        const waiting = `until [ -e ~/go-${index} ]; do sleep 0.02; done; ${script}`;
        await connection.startRun(request(waiting, { ...onMine(), runId, epoch: index + 1 }));
        await until(`${name} runs`, async () => (await connection.runStatus(runId)).kind === 'running');
        answers(driver);
        await connection.exec(`touch ~/go-${index}`, NO_OUTPUT);
        await ended(connection, runId);
        assert.equal(read(`.jobctl/runs/${runId}/output`), want, name);
      }
    }));

  it('are not asked for after a stop', () =>
    on(async (host) => {
      host.answers(BOTH);
      await host.connection.startRun(request('exec sleep 600', onMine()));
      host.answers(listing());
      await host.connection.stopRun('train-x1-a1', 100, NOTICE);
      assert.equal(output(host), '');
    }));

  it('have numbers of this boot by the documented line, for a program that takes nothing else', () =>
    on(async ({ connection }) => {
      const page = readFileSync(new URL('../../docs/own-machines.md', import.meta.url), 'utf8');
      const line = /```sh\n(export CUDA_VISIBLE_DEVICES=[^]*?)\n```/.exec(page)?.[1];
      assert.ok(line);
      const driver = "nvidia-smi() { printf '0, GPU-77aa\\n1, GPU-0c3e\\n2, GPU-5d1b\\n'; }";
      const script = `${driver}\nexport CUDA_VISIBLE_DEVICES=${MINE.join(',')}\n${line}\necho "$CUDA_VISIBLE_DEVICES"`;
      assert.equal(await outputOf(connection, script), '0,2\n');
    }));
});
