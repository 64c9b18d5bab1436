import type {
  GpuFacts,
  KernelLine,
  MachineFacts,
  NvidiaFacts,
  PeerFact,
} from '../../domain/machine-kinds/machines/findings.js';

/** The answer of the runner's verb `examine`. @param asked epoch ms of this computer, before the call and after it */
export async function parseFacts(
  text: string,
  asked: { readonly from: number; readonly to: number },
): Promise<MachineFacts> {
  const of = sectionsOf(text);
  const nvidia = of.get('nvidia');
  const [time = '', synchronized] = of.get('clock') ?? [];
  const [cuda, container] = ['cuda ', 'container '].map((word) => startingWith(of.get('toolkit') ?? [], word));
  return {
    clock: {
      aheadMs: aheadOf(Number(time), asked),
      ...(synchronized === undefined || synchronized === '' ? {} : { isSynchronized: synchronized === 'yes' }),
    },
    disks: (of.get('disk') ?? []).flatMap(diskOf),
    ...(nvidia && { nvidia: await nvidiaOf(nvidia) }),
    ...(cuda !== undefined && { cudaToolkit: cuda }),
    ...(container !== undefined && { containerToolkit: container }),
    kernel: kernelOf(of.get('kernel') ?? []),
    peers: (of.get('peers') ?? []).flatMap(peerOf),
  };
}

const SECTION = /^jobctl-runner: section (\w+)$/;

/** Lines by section. What a login file prints before the first one is dropped. */
function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const [, name] = SECTION.exec(line) ?? [];
    if (name === undefined) lines.push(line);
    else sections.set(name, (lines = []));
  }
  return new Map([...sections].map(([name, each]) => [name, each.slice(0, lastText(each) + 1)]));
}

const lastText = (lines: readonly string[]): number => lines.findLastIndex((line) => line !== '');

const startingWith = (lines: readonly string[], word: string): string | undefined =>
  lines.find((line) => line.startsWith(word))?.slice(word.length);

/** The least by which its clock is ahead of this computer's: the call took a while. */
function aheadOf(time: number, { from, to }: { readonly from: number; readonly to: number }): number {
  if (time > to) return time - to;
  return time < from ? time - from : 0;
}

/** `/dev/nvme0n1p2 960379920 123456 787654321 14% /home` */
function diskOf(line: string): MachineFacts['disks'] {
  const [, size, , free, , ...path] = line.split(/ +/);
  return path.length === 0 ? [] : [{ path: path.join(' '), sizeKib: Number(size), freeKib: Number(free) }];
}

function peerOf(line: string): readonly PeerFact[] {
  const [address = '', port, answer] = line.split(' ');
  switch (answer) {
    case 'open':
    case 'refused':
    case 'silent':
    case 'unknown':
    case 'unreachable':
      return [{ address, port: Number(port), answer }];
    default:
      return [];
  }
}

/** `NVRM: Xid (PCI:0000:3b:00): 79, pid=1122, GPU has fallen off the bus.`, behind a time or the name of a host. */
const XID = /NVRM: Xid \((?:PCI:)?([^)]*)\): (\d+)/;
/** Driver 570 prints it without an Xid (NVIDIA/NVSentinel#155), others beside one. The GPU may be in the line before. */
const OFF_THE_BUS = 'fallen off the bus';
const PLACE = /\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-9a-f]\b/i;

function kernelOf(lines: readonly string[]): MachineFacts['kernel'] {
  if (lines[0] === 'unreadable') return 'unreadable';
  return lines.flatMap((line): readonly KernelLine[] => {
    const [, gpu = '', xid] = XID.exec(line) ?? [];
    if (xid !== undefined) return [{ gpu, xid: Number(xid) }];
    return line.includes(OFF_THE_BUS) ? [{ gpu: PLACE.exec(line)?.[1] ?? '', xid: 79 }] : [];
  });
}

const FAILED = 'failed: ';

async function nvidiaOf(lines: readonly string[]): Promise<NvidiaFacts> {
  const [first = ''] = lines;
  if (first.startsWith(FAILED)) return { failure: first.slice(FAILED.length) };
  const { XMLParser, XMLValidator } = await import('fast-xml-parser');
  const text = lines.slice(lines.findIndex((line) => line.startsWith('<'))).join('\n');
  if (XMLValidator.validate(text) !== true) return { failure: `nvidia-smi -q -x says '${first.slice(0, 200)}'` };
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '', parseTagValue: false });
  const log: unknown = (parser.parse(text) as Tree)['nvidia_smi_log'];
  const gpus = listed(at(log, 'gpu')).map(gpuOf);
  if (gpus.length === 0) return { failure: 'nvidia-smi -q -x lists no GPU' };
  const [driver, cuda] = [known(at(log, 'driver_version')), known(at(log, 'cuda_version'))];
  return { driver: driver ?? '?', ...(cuda !== undefined && { cuda }), gpus };
}

type Tree = Readonly<Record<string, unknown>>;

const at = (tree: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (each, key) => (typeof each === 'object' && each !== null ? (each as Tree)[key] : undefined),
    tree,
  );

const listed = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly unknown[]) : [value];

/** A text that says something: drivers say N/A, [N/A], [Not Supported] or an error for what they do not know. */
function known(value: unknown): string | undefined {
  return typeof value !== 'string' || value === '' || /^\[?(?:N\/A|Not Supported|Unknown|.*Error|GPU)/.test(value)
    ? undefined
    : value;
}

function gpuOf(gpu: unknown): GpuFacts {
  const switched = (...path: readonly string[]): boolean | undefined => {
    const value = known(at(gpu, ...path));
    return value === undefined ? undefined : value === 'Enabled';
  };
  const [hasPersistence, hasEcc] = [switched('persistence_mode'), switched('ecc_mode', 'current_ecc')];
  const repairs = [
    at(gpu, 'remapped_rows', 'remapped_row_pending'),
    at(gpu, 'retired_pages', 'pending_retirement'),
    at(gpu, 'gpu_reset_status', 'reset_required'),
    at(gpu, 'ecc_errors', 'channel_repair_pending'),
  ];
  // Since driver 570: None, GPU Reset, Node Reboot, Drain P2P, Drain and Reset.
  const action = known(at(gpu, 'gpu_recovery_action')) ?? 'None';
  const lost = [at(gpu, 'remapped_rows', 'remapped_row_failure'), at(gpu, 'ecc_errors', 'unrepairable_memory')];
  return {
    id: String(at(gpu, 'id') ?? '?'),
    name: known(at(gpu, 'product_name')) ?? '?',
    ...(hasPersistence !== undefined && { hasPersistence }),
    ...(hasEcc !== undefined && { hasEcc }),
    hasMig: switched('mig_mode', 'current_mig') === true,
    isProhibited: at(gpu, 'compute_mode') === 'Prohibited',
    uncorrectable: uncorrectableOf(at(gpu, 'ecc_errors', 'volatile')),
    needsReset: action !== 'None' || repairs.includes('Yes'),
    cannotRepair: lost.includes('Yes'),
  };
}

/** Since the driver was loaded. Its form differs: v10's `double_bit/total`, v12's `sram_` and `dram_uncorrectable`, v13's `.._parity`. */
function uncorrectableOf(counts: unknown, isTotal = false): number {
  if (typeof counts !== 'object' || counts === null) return 0;
  return Object.entries(counts).reduce((sum, [key, value]) => {
    if (typeof value === 'object') return sum + uncorrectableOf(value, key === 'double_bit');
    const isCounted = isTotal ? key === 'total' : key.includes('uncorrectable');
    const count = isCounted ? Number(value) : 0;
    return sum + (Number.isFinite(count) ? count : 0);
  }, 0);
}
