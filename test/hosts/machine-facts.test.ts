import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { SUBNET_OCTET } from '../../rehearsal/test/scratch.js';
import { firstOutput } from '../first-output.js';
import { parseFacts } from '../../cloud/hosts/machine-facts.js';
import { type MachineFinding, machineFindings } from '../../domain/machine-kinds/machines/findings.js';
import { withGpuHost } from './gpu-host.js';
import { A100_MIG, BLACKWELL, GEFORCE_410M, wellGpus } from './smi-recordings.js';

const MARK = 'jobctl-runner: section ';
interface Said {
  readonly nvidia?: string;
  readonly toolkit?: string;
  readonly kernel?: string;
  readonly disk?: string;
  readonly clock?: string;
  readonly peers?: string;
}
/** The answer of a machine in which all else is well. */
function answer({ nvidia = wellGpus(2), toolkit = '', kernel = '', ...more }: Said): string {
  const { disk = '/dev/nvme0n1p2 960379920 123456789 787654321 14% /home\ntmpfs 65811624 0 65811624 0% /dev/shm' } =
    more;
  const { clock = '1000\nyes', peers = '10.0.0.12 29400 refused\n10.0.0.12 45678 refused' } = more;
  const gpus =
    nvidia === ''
      ? []
      : [
          ['nvidia', nvidia],
          ['toolkit', toolkit],
          ['kernel', kernel],
        ];
  const sections = [['clock', clock], ['disk', disk], ...gpus, ['peers', peers], ['end', '']];
  return `Welcome to Ubuntu\n${sections.map(([name, text]) => `${MARK}${name}\n${text}\n`).join('')}`;
}
async function findings(said: Said, accelerators: Readonly<Record<string, number>> = { a100: 2 }) {
  return machineFindings({ accelerators }, await parseFacts(answer(said), { from: 900, to: 1_100 }));
}
/** Of a toolkit that is newer than the driver: the words of CUDA 12.8's, with another version. */
const NVCC = `nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Cuda compilation tools, release 13.0, V13.0.48
Build cuda_13.0.r13.0/compiler.36260728_0`;
const DMESG = `[    0.000000] Linux version 6.8.0-60-generic
[ 1843.308145] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 1843.308150] NVRM: Xid (PCI:0000:86:00): 48, pid=4711, An uncorrectable double bit error (DBE) has been detected`;

/** A port of this computer at which the kernel drops whoever comes, since the queue of its listener is full: as a firewall does. */
async function withDroppedPort(address: string, port: number, work: () => Promise<void>): Promise<void> {
  const script = `import socket, sys
one = socket.socket(); one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
one.bind(("${address}", ${port})); one.listen(0)
two = [socket.socket() for _ in range(4)]
for each in two: each.setblocking(False); each.connect_ex(("${address}", ${port}))
print("full", flush=True); sys.stdin.read()`;
  const holder = spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await firstOutput(holder);
    await work();
  } finally {
    holder.kill('SIGKILL');
  }
}

const shown = ({ check, state, what }: MachineFinding): string => `${check} ${state}: ${what}`;

describe('jobctl doctor --machines', () => {
  it('says of a machine that is well what it has', async () => {
    assert.deepEqual((await findings({ toolkit: 'cuda 12.1\ncontainer 1.17.4' })).map(shown), [
      'driver ok: 535.54.03, for CUDA up to 12.2; 2 GPUs: NVIDIA A100-SXM4-80GB',
      'toolkit ok: CUDA 12.1; nvidia-container-toolkit 1.17.4',
      'persistence ok: on',
      'ECC ok: on, no uncorrectable error since the driver was loaded',
      'kernel log ok: no Xid since the boot',
      'disk ok: 751.2 GiB of 915.9 GiB free on /home',
      'shared memory ok: 62.8 GiB of 62.8 GiB free on /dev/shm',
      'clock ok: right, and kept so by a time service',
      'ports ok: reach 10.0.0.12',
    ]);
  });

  /** Each line from the place that is named, and what is wrong by it. */
  const CASES: Readonly<Record<string, { said: Said; want: string; remedy: RegExp; has?: Record<string, number> }>> = {
    'MIG (telegraf, an A100 by driver 535)': {
      said: { nvidia: A100_MIG },
      has: { a100: 1 },
      want: 'MIG warning: on for 1 of 1 GPUs (00000000:01:00.0): jobs get whole GPUs, and a CUDA program sees one MIG device alone',
      remedy: /nvidia-smi -mig 0/,
    },
    'persistence mode off (the same)': {
      said: { nvidia: A100_MIG },
      has: { a100: 1 },
      want: 'persistence warning: off on 1 of 1 GPUs (00000000:01:00.0): each start of a program loads the driver for seconds',
      remedy: /enable --now nvidia-persistenced/,
    },
    'ECC switched off (telegraf, a Blackwell by driver 590)': {
      said: { nvidia: BLACKWELL },
      has: { 'rtx-pro-6000': 1 },
      want: 'ECC warning: off on 1 of 1 GPUs (00000000:61:00.0): an error of memory changes results and nobody is told',
      remedy: /nvidia-smi -e 1/,
    },
    'uncorrectable errors, of driver 550 and later': {
      said: {
        nvidia: wellGpus(2, (gpu, index) =>
          index === 0
            ? gpu
            : gpu.replace(
                '<sram_uncorrectable>0</sram_uncorrectable>\n\t\t\t\t<dram',
                '<sram_uncorrectable_parity>3</sram_uncorrectable_parity>\n\t\t\t\t<dram',
              ),
        ),
      },
      want: 'ECC failed: uncorrectable errors on 1 of 2 GPUs (00000000:01:00.0)',
      remedy: /nvidia-smi -q -d ECC,ROW_REMAPPER/,
    },
    'a row that waits for a reset': {
      said: {
        nvidia: wellGpus(2, (gpu) =>
          gpu.replace('<remapped_rows>N/A', '<remapped_rows><remapped_row_pending>Yes</remapped_row_pending>'),
        ),
      },
      want: 'ECC warning: 2 of 2 GPUs (00000000:00:00.0, 00000000:01:00.0) must be reset before bad memory is repaired',
      remedy: /drain the machine/,
    },
    'memory that cannot be repaired': {
      said: {
        nvidia: wellGpus(2, (gpu) =>
          gpu.replace('<remapped_rows>N/A', '<remapped_rows><remapped_row_failure>Yes</remapped_row_failure>'),
        ),
      },
      want: 'ECC failed: bad memory cannot be repaired on 2 of 2 GPUs (00000000:00:00.0, 00000000:01:00.0)',
      remedy: /have the card replaced/,
    },
    'a compute mode that lets nobody in': {
      said: { nvidia: wellGpus(2, (gpu) => gpu.replace('<compute_mode>Default', '<compute_mode>Prohibited')) },
      want: 'compute mode failed: Prohibited on 2 of 2 GPUs (00000000:00:00.0, 00000000:01:00.0): no program can use it',
      remedy: /-c DEFAULT/,
    },
    'a GPU that is missing': {
      said: {},
      has: { a100: 8 },
      want: 'driver failed: 535.54.03, for CUDA up to 12.2; 2 GPUs: NVIDIA A100-SXM4-80GB; the pool file says 8',
      remedy: /lspci/,
    },
    'no driver at all': {
      said: { nvidia: '' },
      want: 'driver failed: it has no NVIDIA driver, and the pool file says a100',
      remedy: /install it/,
    },
    'a driver that is not loaded (NVIDIA/nvidia-docker#988)': {
      said: {
        nvidia:
          "failed: nvidia-smi ended with code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
      },
      want: "driver failed: nvidia-smi ended with code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
      remedy: /modprobe nvidia/,
    },
    'a driver that was updated (findings of one H100, 2026-11-26)': {
      said: {
        nvidia: 'failed: nvidia-smi ended with code 18: Failed to initialize NVML: Driver/library version mismatch',
      },
      want: 'driver failed: nvidia-smi ended with code 18: Failed to initialize NVML: Driver/library version mismatch',
      remedy: /^the driver was updated under the running kernel module: restart the machine$/,
    },
    'a GPU that is lost (NVIDIA/nvidia-docker#1553)': {
      said: {
        nvidia:
          'failed: nvidia-smi ended with code 255: Unable to determine the device handle for GPU 0000:09:00.0: Unknown Error',
      },
      want: 'driver failed: nvidia-smi ended with code 255: Unable to determine the device handle for GPU 0000:09:00.0: Unknown Error',
      remedy: /power the machine off and on/,
    },
    'an answer that breaks off': {
      said: { nvidia: wellGpus(2).slice(0, 900) },
      want: `driver failed: nvidia-smi -q -x says '<?xml version="1.0" ?>'`,
      remedy: /install it/,
    },
    'an Xid of the machine (a Xubuntu user’s journal)': {
      said: {
        kernel:
          'Okt 06 17:59:27 balrog kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1122, GPU has fallen off the bus.\nOkt 06 17:59:27 balrog kernel: NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.',
      },
      want: 'kernel log failed: since the boot: Xid 79 (GPU has fallen off the bus) of GPU 0000:01:00',
      remedy: /its cable or its power/,
    },
    'one off the bus without an Xid (NVIDIA/NVSentinel#155)': {
      said: { kernel: '               NVRM: fallen off the bus and is not responding to commands.' },
      want: 'kernel log failed: since the boot: Xid 79 (GPU has fallen off the bus) of a GPU',
      remedy: /drain the machine/,
    },
    'a kernel log that is closed': {
      said: { kernel: 'unreadable' },
      want: 'kernel log warning: could not look: it is closed to the login user',
      remedy: /usermod -aG adm/,
    },
    'a toolkit newer than the driver': {
      said: { toolkit: 'cuda 13.0' },
      want: 'toolkit warning: CUDA 13.0, and the driver serves CUDA up to 12.2: what nvcc compiles does not start',
      remedy: /update the driver/,
    },
    'a full disk': {
      said: { disk: '/dev/sda1 41151808 40000000 524288 99% /home/my user' },
      want: 'disk failed: 0.5 GiB of 39.2 GiB free on /home/my user: jobctl uses no machine with less than 1 GiB',
      remedy: /du -xsh/,
    },
    'little shared memory, as docker gives': {
      said: { disk: 'shm 65536 0 65536 0% /dev/shm' },
      want: 'shared memory warning: 0.1 GiB of 0.1 GiB free on /dev/shm',
      remedy: /remount,size=50%/,
    },
    'a clock that is behind': {
      said: { clock: '-120000\nno' },
      want: "clock failed: 120.9 s behind the worker's clock",
      remedy: /set-ntp true/,
    },
    'a clock that nobody keeps': {
      said: { clock: '1000\nno' },
      want: 'clock warning: right now, and no time service keeps it so',
      remedy: /chrony/,
    },
    'a firewall between machines': {
      said: { peers: '10.0.0.12 29400 silent\n10.0.0.12 45678 silent\nrack-3 29400 unknown' },
      want: 'ports failed: 10.0.0.12, port 29400, does not answer: a firewall drops it; 10.0.0.12, port 45678, does not answer: a firewall drops it; rack-3, port 29400, has a name that this machine does not know',
      remedy: /ufw allow from/,
    },
  };
  for (const [name, { said, want, remedy, has }] of Object.entries(CASES))
    it(`tells ${name}, and what to do`, async () => {
      const all = await findings(said, has);
      const found = all.find((each) => shown(each) === want);
      assert.ok(found, all.map(shown).join('\n'));
      assert.match(found.remedy ?? '', remedy);
    });

  it('is content with what a card does not support, in each driver’s words (enkore/i3pystatus#776)', async () => {
    for (const word of ['N/A', '[N/A]', '[Not Supported]', '[Unknown Error]']) {
      const said = { nvidia: GEFORCE_410M.replaceAll('N/A', word) };
      const all = await findings(said, { 'geforce-410m': 1 });
      assert.ok(all.map(shown).includes('ECC ok: not supported'), word);
      assert.ok(!all.some(({ state }) => state === 'failed'), word);
    }
  });

  it('counts Xids that programs cause as theirs', async () => {
    const kernel =
      '[ 12.5] NVRM: Xid (PCI:0000:00:06): 31, pid=79749, name=exe, Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2';
    assert.ok(
      (await findings({ kernel })).map(shown).includes('kernel log ok: Xid 31 since the boot, as programs cause them'),
    );
  });

  const dropped = `127.${SUBNET_OCTET}.0.77`;
  it('finds all of it on a machine where all is wrong, by its own programs', () =>
    withGpuHost(2, async ({ machine, answers, has }) => {
      const worn = wellGpus(2, (gpu) =>
        gpu
          .replace('<persistence_mode>Enabled', '<persistence_mode>Disabled')
          .replace('<current_ecc>Enabled', '<current_ecc>Disabled'),
      );
      const printing = (text: string): string => `cat <<'END'\n${text}\nEND`;
      answers(`case "$*" in '-q -x') ${printing(worn)}\n;; *) exit 2 ;; esac`);
      has('nvcc', printing(NVCC));
      has(
        'nvidia-ctk',
        printing('NVIDIA Container Toolkit CLI version 1.17.4\ncommit: 9b69590c7428470a72f2ae05f826412976af1395'),
      );
      has('dmesg', printing(DMESG));
      has('journalctl', 'exit 1');
      has(
        'df',
        printing('Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 41151808 40000000 524288 99% /'),
      );
      has('date', 'case "$*" in +%s%3N) echo 1000 ;; *) exec /bin/date "$@" ;; esac');
      has('timedatectl', 'echo no');
      await withDroppedPort(dropped, 29_400, async () => {
        const found = machineFindings({ accelerators: { a100: 4 } }, await machine.examine([dropped]));
        const [clock] = found.filter(({ check }) => check === 'clock');
        assert.match(clock?.what ?? '', /^\d+\.\d s behind the worker's clock$/);
        assert.deepEqual(found.filter(({ check }) => check !== 'clock').map(shown), [
          'driver failed: 535.54.03, for CUDA up to 12.2; 2 GPUs: NVIDIA A100-SXM4-80GB; the pool file says 4',
          'toolkit warning: CUDA 13.0, and the driver serves CUDA up to 12.2: what nvcc compiles does not start',
          'persistence warning: off on 2 of 2 GPUs (00000000:00:00.0, 00000000:01:00.0): each start of a program loads the driver for seconds',
          'ECC warning: off on 2 of 2 GPUs (00000000:00:00.0, 00000000:01:00.0): an error of memory changes results and nobody is told',
          'kernel log failed: since the boot: Xid 79 (GPU has fallen off the bus) of GPU 0000:3b:00; Xid 48 (uncorrectable ECC error) of GPU 0000:86:00',
          'disk failed: 0.5 GiB of 39.2 GiB free on /: jobctl uses no machine with less than 1 GiB',
          `ports failed: ${dropped}, port 29400, does not answer: a firewall drops it`,
        ]);
        assert.ok(
          found.every(({ remedy = '' }) => remedy !== ''),
          'each has a remedy',
        );
      });
    }));

  it('reads a machine with a driver over SSH, a job or none, and says whom it reaches', () =>
    withGpuHost(2, async ({ machine, answers }) => {
      const xml = wellGpus(2).replace(
        '</nvidia_smi_log>',
        '<supported_clocks>\n<value>1</value>\n</supported_clocks>\n</nvidia_smi_log>',
      );
      answers(`case "$*" in '-q -x') cat <<'END'\n${xml}\nEND\n;; *) exit 2 ;; esac`);
      const facts = await machine.examine(['127.0.0.1', 'no-such-machine.invalid']);
      const { clock, disks, nvidia, peers } = facts;
      assert.equal(clock.aheadMs, 0);
      assert.ok(disks.some(({ freeKib }) => freeKib > 0));
      assert.ok(nvidia !== undefined && 'gpus' in nvidia && nvidia.gpus.length === 2, JSON.stringify(nvidia));
      assert.deepEqual(
        peers.map(({ address, port, answer: word }) => `${address} ${port} ${word}`).toSorted(),
        [29_400, 45_678]
          .flatMap((port) => [`127.0.0.1 ${port} refused`, `no-such-machine.invalid ${port} unknown`])
          .toSorted(),
      );
      answers("echo 'NVIDIA-SMI has failed'; exit 9");
      const broken = (await machine.examine([])).nvidia;
      assert.deepEqual(broken, { failure: 'nvidia-smi ended with code 9: NVIDIA-SMI has failed' });
    }));
});
