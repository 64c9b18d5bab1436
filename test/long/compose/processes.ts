import type { Engine } from './engine.js';

/** What the kernel says a process may do: proc(5). */
interface Confinement {
  readonly command: string;
  readonly uid: number;
  readonly inheritable: string;
  readonly permitted: string;
  readonly effective: string;
  readonly bounding: string;
  readonly ambient: string;
  readonly noNewPrivileges: string;
  readonly systemCalls: string;
}

const NONE = '0'.repeat(16);

/** No capability, none to be had, and Docker's filter of system calls. */
export const DROPPED: Omit<Confinement, 'command' | 'uid'> = {
  inheritable: NONE,
  permitted: NONE,
  effective: NONE,
  bounding: NONE,
  ambient: NONE,
  noNewPrivileges: '1',
  systemCalls: '2',
};

/** Of those that are still there. */
export function confinementsOf(engine: Engine, pids: readonly number[]): readonly Confinement[] {
  const files = pids.map((pid) => `/proc/${pid}/status`).join(' ');
  const texts = engine.inside('sh', '-c', `for file in ${files}; do cat $file 2>/dev/null || :; echo; done`);
  return texts
    .split('\n\n')
    .filter((text) => text.trim() !== '')
    .map(confinementIn);
}

function confinementIn(status: string): Confinement {
  const fields = new Map(status.split('\n').map((line) => line.split(':\t') as [string, string | undefined]));
  const of = (name: string): string => fields.get(name)?.trim() ?? 'unknown';
  return {
    command: of('Name'),
    uid: Number(of('Uid').split('\t')[1]),
    inheritable: of('CapInh'),
    permitted: of('CapPrm'),
    effective: of('CapEff'),
    bounding: of('CapBnd'),
    ambient: of('CapAmb'),
    noNewPrivileges: of('NoNewPrivs'),
    systemCalls: of('Seccomp'),
  };
}

export interface Listener {
  readonly address: string;
  readonly port: number;
  readonly isLoopback: boolean;
}

/** Who listens for TCP in the network of a process, or in the daemon's own: there published ports are. */
export function listenersIn(engine: Engine, pid: number | 'daemon'): readonly Listener[] {
  const folder = `/proc/${pid === 'daemon' ? 1 : pid}/net`;
  return engine
    .inside('cat', `${folder}/tcp`, `${folder}/tcp6`)
    .split('\n')
    .map((line) => line.trim().split(/\s+/u))
    .filter(([, , , state]) => state === LISTEN)
    .map(([, local = '']) => listenerAt(local));
}

const LISTEN = '0A';

/** `0100007F:1C41`: four bytes from the last to the first in each word, and the port. */
function listenerAt(local: string): Listener {
  const [address = '', port = ''] = local.split(':');
  const bytes = address.match(/.{2}/gu)?.map((byte) => Number.parseInt(byte, 16)) ?? [];
  const isIpv4 = bytes.length === 4;
  const text = isIpv4 ? bytes.toReversed().join('.') : `[${address}]`;
  const isLoopback = isIpv4 ? text.startsWith('127.') : /^0{24}01000000$/u.test(address);
  return { address: text, port: Number.parseInt(port, 16), isLoopback };
}
