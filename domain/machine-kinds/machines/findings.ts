import { makerOf, type OwnMachine } from './words.js';

/** A machine's report about itself, for `jobctl doctor --machines` to judge. */
export interface MachineFacts {
  /** `aheadMs`: at least, by how much its clock is ahead of the worker's. */
  readonly clock: { readonly aheadMs: number; readonly isSynchronized?: boolean };
  readonly disks: readonly { readonly path: string; readonly sizeKib: number; readonly freeKib: number }[];
  /** Absent: it has neither NVIDIA's devices nor its driver. */
  readonly nvidia?: NvidiaFacts;
  /** Version of `nvcc`. */
  readonly cudaToolkit?: string;
  /** Version of `nvidia-ctk`, with which containers get GPUs. */
  readonly containerToolkit?: string;
  /** The lines of NVIDIA's driver since the boot. */
  readonly kernel: 'unreadable' | readonly KernelLine[];
  readonly peers: readonly PeerFact[];
}

export type NvidiaFacts =
  | { readonly failure: string }
  /** `cuda`: the newest version that the driver serves. */
  | { readonly driver: string; readonly cuda?: string; readonly gpus: readonly GpuFacts[] };

/** Absent values: the GPU does not support it, or does not say. */
export interface GpuFacts {
  readonly id: string;
  readonly name: string;
  readonly hasPersistence?: boolean;
  readonly hasEcc?: boolean;
  readonly hasMig: boolean;
  readonly isProhibited: boolean;
  /** Uncorrectable errors of memory since the driver was loaded. */
  readonly uncorrectable: number;
  /** A bad row or page waits for it, or the GPU itself. */
  readonly needsReset: boolean;
  readonly cannotRepair: boolean;
}

/** An error that the driver reported. `gpu`: its place, `0000:3b:00`; empty: the line does not say. */
export interface KernelLine {
  readonly gpu: string;
  readonly xid: number;
}

/** `refused`: nobody listens, so the way is open. */
export interface PeerFact {
  readonly address: string;
  readonly port: number;
  readonly answer: 'open' | 'refused' | 'silent' | 'unknown' | 'unreachable';
}

/** One result of a check of a machine. */
export interface MachineFinding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly what: string;
  readonly remedy?: string;
}

const ok = (check: string, what: string): MachineFinding => ({ check, state: 'ok', what });
const warning = (check: string, what: string, remedy: string): MachineFinding => ({
  check,
  state: 'warning',
  what,
  remedy,
});
const failed = (check: string, what: string, remedy: string): MachineFinding => ({
  check,
  state: 'failed',
  what,
  remedy,
});

/** Judges a machine, in the order in which a person would mend it. */
export function machineFindings(
  machine: Pick<OwnMachine, 'accelerators' | 'slot' | 'maker'>,
  facts: MachineFacts,
): readonly MachineFinding[] {
  return [...nvidiaFindings(machine, facts), ...diskFindings(facts), clockFinding(facts), ...peerFindings(facts)];
}

function nvidiaFindings(
  { accelerators, slot, maker }: Pick<OwnMachine, 'accelerators' | 'slot' | 'maker'>,
  facts: MachineFacts,
): readonly MachineFinding[] {
  const [[type, count] = []] = Object.entries(accelerators);
  const isNvidia = type !== undefined && (maker ?? makerOf(type)) === 'NVIDIA';
  const { nvidia } = facts;
  if (nvidia === undefined)
    return isNvidia ? [failed('driver', `it has no NVIDIA driver, and the pool file says ${type}`, INSTALL)] : [];
  if ('failure' in nvidia)
    return [failed('driver', nvidia.failure, driverRemedy(nvidia.failure)), kernelFinding(facts)];
  const declared = isNvidia ? (count ?? 0) * (slot?.of ?? 1) : undefined;
  return [
    driverFinding(nvidia, declared),
    toolkitFinding(nvidia.cuda, facts),
    ...gpuFindings(nvidia.gpus),
    kernelFinding(facts),
  ];
}

const INSTALL =
  'install it from your distribution (Ubuntu: sudo ubuntu-drivers install --gpgpu), and restart the machine';

/** A failure of nvidia-smi, by its own words, and what mends it. */
const DRIVER_REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/version mismatch/i, 'the driver was updated under the running kernel module: restart the machine'],
  [
    /communicate with the NVIDIA driver/i,
    `the kernel module is not loaded: sudo modprobe nvidia; after a new kernel: sudo dkms autoinstall. Else ${INSTALL}`,
  ],
  [
    /device handle|GPU is lost|fallen off|No devices were found/i,
    'a GPU does not answer: power the machine off and on; if it happens again, reseat or replace the card',
  ],
  [/does not answer/i, 'the driver hangs: restart the machine; if it happens again, look at the kernel log'],
];

const driverRemedy = (failure: string): string =>
  DRIVER_REMEDIES.find(([words]) => words.test(failure))?.[1] ?? INSTALL;

function driverFinding(
  { driver, cuda, gpus }: Extract<NvidiaFacts, { driver: string }>,
  declared: number | undefined,
): MachineFinding {
  const names = [...new Set(gpus.map(({ name }) => name))].join(', ');
  const what = `${driver}${cuda === undefined ? '' : `, for CUDA up to ${cuda}`}; ${gpus.length} GPUs: ${names}`;
  if (declared === undefined || declared === gpus.length) return ok('driver', what);
  return failed(
    'driver',
    `${what}; the pool file says ${declared}`,
    'correct accelerators in the pool file, or look for the missing GPU: lspci | grep -i nvidia',
  );
}

/** A program of a newer major version of CUDA than the driver's does not start; minor versions are compatible. */
function toolkitFinding(cuda: string | undefined, { cudaToolkit, containerToolkit }: MachineFacts): MachineFinding {
  const container =
    containerToolkit === undefined
      ? 'no nvidia-container-toolkit, which containers with GPUs need'
      : `nvidia-container-toolkit ${containerToolkit}`;
  if (cudaToolkit === undefined)
    return ok('toolkit', `no CUDA toolkit: wheels of PyTorch and JAX bring theirs; ${container}`);
  if (cuda !== undefined && Number.parseInt(cudaToolkit, 10) > Number.parseInt(cuda, 10))
    return warning(
      'toolkit',
      `CUDA ${cudaToolkit}, and the driver serves CUDA up to ${cuda}: what nvcc compiles does not start`,
      'update the driver, or install an older toolkit',
    );
  return ok('toolkit', `CUDA ${cudaToolkit}; ${container}`);
}

/** The GPUs of which something is so, `2 of 8 GPUs (00000000:01:00.0, ..)`; undefined: none. */
function some(gpus: readonly GpuFacts[], is: (gpu: GpuFacts) => boolean): string | undefined {
  const ids = gpus.filter(is).map(({ id }) => id);
  if (ids.length === 0) return undefined;
  const shown = [...ids.slice(0, 3), ...(ids.length > 3 ? ['..'] : [])].join(', ');
  return `${ids.length} of ${gpus.length} GPUs (${shown})`;
}

function gpuFindings(gpus: readonly GpuFacts[]): readonly MachineFinding[] {
  const found: MachineFinding[] = [];
  const idle = some(gpus, ({ hasPersistence }) => hasPersistence === false);
  found.push(
    idle === undefined
      ? ok('persistence', gpus.some(({ hasPersistence }) => hasPersistence) ? 'on' : 'not supported')
      : warning(
          'persistence',
          `off on ${idle}: each start of a program loads the driver for seconds`,
          'sudo systemctl enable --now nvidia-persistenced',
        ),
  );
  found.push(...eccFindings(gpus));
  const parted = some(gpus, ({ hasMig }) => hasMig);
  if (parted !== undefined)
    found.push(
      warning(
        'MIG',
        `on for ${parted}: jobs get whole GPUs, and a CUDA program sees one MIG device alone`,
        'sudo nvidia-smi -mig 0, with nothing running',
      ),
    );
  const closed = some(gpus, ({ isProhibited }) => isProhibited);
  if (closed !== undefined)
    found.push(failed('compute mode', `Prohibited on ${closed}: no program can use it`, 'sudo nvidia-smi -c DEFAULT'));
  return found;
}

function eccFindings(gpus: readonly GpuFacts[]): readonly MachineFinding[] {
  const broken = some(gpus, ({ cannotRepair }) => cannotRepair);
  if (broken !== undefined)
    return [
      failed(
        'ECC',
        `bad memory cannot be repaired on ${broken}`,
        'drain the machine (jobctl machines drain NAME) and have the card replaced',
      ),
    ];
  const wrong = some(gpus, ({ uncorrectable }) => uncorrectable > 0);
  if (wrong !== undefined)
    return [
      failed(
        'ECC',
        `uncorrectable errors on ${wrong}`,
        'restart the machine, which repairs bad rows; if errors return, have the card replaced: nvidia-smi -q -d ECC,ROW_REMAPPER',
      ),
    ];
  const waiting = some(gpus, ({ needsReset }) => needsReset);
  if (waiting !== undefined)
    return [
      warning(
        'ECC',
        `${waiting} must be reset before bad memory is repaired`,
        'drain the machine, then restart it (or sudo nvidia-smi --gpu-reset)',
      ),
    ];
  const off = some(gpus, ({ hasEcc }) => hasEcc === false);
  if (off !== undefined)
    return [
      warning(
        'ECC',
        `off on ${off}: an error of memory changes results and nobody is told`,
        'sudo nvidia-smi -e 1, and restart the machine',
      ),
    ];
  return [
    ok(
      'ECC',
      gpus.some(({ hasEcc }) => hasEcc) ? 'on, no uncorrectable error since the driver was loaded' : 'not supported',
    ),
  ];
}

/** Xids of the machine, not of a program. https://docs.nvidia.com/deploy/xid-errors/ (2026-11) */
const XIDS: Readonly<Record<number, string>> = {
  48: 'uncorrectable ECC error',
  61: 'internal microcontroller',
  62: 'internal microcontroller',
  64: 'bad memory could not be recorded',
  74: 'NVLink error',
  79: 'GPU has fallen off the bus',
  92: 'many single-bit ECC errors',
  94: 'contained ECC error',
  95: 'uncontained ECC error',
  119: 'GPU System Processor does not answer',
  120: 'GPU System Processor error',
  140: 'unrecovered ECC error',
};

function kernelFinding({ kernel }: MachineFacts): MachineFinding {
  if (kernel === 'unreadable')
    return warning(
      'kernel log',
      'could not look: it is closed to the login user',
      'sudo usermod -aG adm USER, or sudo without a password, or kernel.dmesg_restrict=0',
    );
  const grave = kernel.filter(({ xid }) => xid in XIDS);
  const texts = [
    ...new Set(grave.map(({ gpu, xid }) => `Xid ${xid} (${XIDS[xid]}) of ${gpu === '' ? 'a GPU' : `GPU ${gpu}`}`)),
  ];
  if (texts.length > 0)
    return failed(
      'kernel log',
      `since the boot: ${texts.slice(0, 4).join('; ')}${texts.length > 4 ? '; ..' : ''}`,
      'drain the machine and restart it; if it happens again, have the card, its cable or its power looked at',
    );
  const codes = [...new Set(kernel.map(({ xid }) => xid))];
  return ok(
    'kernel log',
    codes.length === 0 ? 'no Xid since the boot' : `Xid ${codes.join(', ')} since the boot, as programs cause them`,
  );
}

const KIB_PER_GIB = 1024 ** 2;
const gib = (kib: number): string => `${(kib / KIB_PER_GIB).toFixed(1)} GiB`;

function diskFindings({ disks }: MachineFacts): readonly MachineFinding[] {
  return disks.map(({ path, sizeKib, freeKib }) => {
    const what = `${gib(freeKib)} of ${gib(sizeKib)} free on ${path}`;
    if (path === '/dev/shm')
      return sizeKib < KIB_PER_GIB
        ? warning(
            'shared memory',
            what,
            "PyTorch's DataLoader and NCCL need more: sudo mount -o remount,size=50% /dev/shm",
          )
        : ok('shared memory', what);
    if (freeKib < KIB_PER_GIB)
      return failed(
        'disk',
        `${what}: jobctl uses no machine with less than 1 GiB`,
        'remove files; du -xsh ~/* shows the largest',
      );
    return freeKib < 20 * KIB_PER_GIB
      ? warning('disk', what, 'checkpoints and environments need room')
      : ok('disk', what);
  });
}

const CLOCK_MS = { warning: 2_000, failed: 60_000 };

function clockFinding({ clock: { aheadMs, isSynchronized } }: MachineFacts): MachineFinding {
  const off = Math.abs(aheadMs);
  const remedy = 'sudo timedatectl set-ntp true, or install chrony';
  const what = `${(off / 1_000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the worker's clock`;
  if (off > CLOCK_MS.failed) return failed('clock', what, remedy);
  if (off > CLOCK_MS.warning) return warning('clock', what, remedy);
  if (isSynchronized === false) return warning('clock', 'right now, and no time service keeps it so', remedy);
  return ok('clock', isSynchronized ? 'right, and kept so by a time service' : 'right');
}

const UNREACHED: Readonly<Record<Exclude<PeerFact['answer'], 'open' | 'refused'>, string>> = {
  silent: 'does not answer: a firewall drops it',
  unknown: 'has a name that this machine does not know',
  unreachable: 'cannot be reached',
};

function peerFindings({ peers }: MachineFacts): readonly MachineFinding[] {
  const shut = peers.flatMap(({ address, port, answer }) =>
    answer === 'open' || answer === 'refused' ? [] : [`${address}, port ${port}, ${UNREACHED[answer]}`],
  );
  if (peers.length === 0) return [];
  if (shut.length === 0) return [ok('ports', `reach ${[...new Set(peers.map(({ address }) => address))].join(', ')}`)];
  const remedy =
    'let the machines reach one another on all TCP ports, of which NCCL takes any: sudo ufw allow from ADDRESS; a name: /etc/hosts, or an IP address in the pool file';
  return [failed('ports', shut.slice(0, 4).join('; '), remedy)];
}
