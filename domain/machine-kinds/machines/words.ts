import type { Ownership } from '../../slice.js';
import type { EpochMs } from '../../units.js';

/** What quota calls a machine of one's own that has no accelerator. */
export const MACHINE = 'machine';

/** `zone` of every ref: a pool's own machines are one place. */
export const OWN_PLACE = 'own-machines';

/** The `machines` section of a job file after defaults and checks: the machines of one slice, all alike. */
export interface MachinesRequest {
  /** The pool in whose file the machines are named. */
  readonly pool: string;
  /** Machines of one slice, 1 or more; each serves this slice alone. */
  readonly hosts: number;
  /** What each of them has. Absent: machines without an accelerator. */
  readonly accelerator?: { readonly type: string; readonly perHost: number };
  /** Labels that each of them has. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The section itself, as a job's spec has it. */
export interface MachinesSection {
  readonly machines: MachinesRequest;
}

/** Machines of a pool that one slice holds, known by the claim on each of them (docs/adr/0070). */
export interface MachinesRef {
  readonly kind: 'machines';
  readonly pool: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  /** Never given: each slice is asked for alone. */
  readonly slices?: number;
  readonly request?: string;
}

export interface MachinesPlan {
  readonly ref: MachinesRef;
  readonly ownership: Ownership;
  readonly machines: Omit<MachinesRequest, 'pool'>;
}

/** One machine of a pool file's inventory. */
export interface OwnMachine {
  /** Unique in its pool. */
  readonly name: string;
  /** A name or an IP address: hosts of a job reach each other here, and so does the worker. */
  readonly address: string;
  /** Of its SSH server. */
  readonly port: number;
  readonly user: string;
  /** Units by type, such as `h100: 8`; empty: none. */
  readonly accelerators: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** `secret:NAME` of the private key that connects. Absent: the installation's own. */
  readonly key?: string;
  /** `ssh-ed25519 AAAA..`: its SSH server's key. Absent: the first one that it shows is kept. */
  readonly hostKey?: string;
  /** A script of the operator's that must end with 0 before each use. */
  readonly check?: string;
}

/** Whether a machine is what a job asks for. A job takes whole machines, so that the number on each must be exact. */
export function isWanted(
  { accelerators, labels }: Pick<OwnMachine, 'accelerators' | 'labels'>,
  wanted: Omit<MachinesRequest, 'pool' | 'hosts'>,
): boolean {
  const has = Object.entries(accelerators);
  const isSameAccelerator = wanted.accelerator
    ? accelerators[wanted.accelerator.type] === wanted.accelerator.perHost
    : has.length === 0;
  return isSameAccelerator && Object.entries(wanted.labels).every(([key, value]) => labels[key] === value);
}

/** What is remembered of a machine beside its claim. */
export interface MachineRecord {
  /** Uses in a row before which it did not answer, or was not as it should be; that somebody else used it is not counted. */
  readonly failures: number;
  /** What its last inspection found. Absent: nothing. */
  readonly lastProblem?: { readonly at: EpochMs; readonly text: string };
  /** What is odd, and keeps nobody from using it, by its last inspection. */
  readonly warning?: string;
  /** It is not used until somebody has it checked. */
  readonly aside?: { readonly at: EpochMs; readonly reason: string };
  /** Its slice may end its work; no other begins. */
  readonly drained?: { readonly at: EpochMs; readonly by: string; readonly reason?: string };
  /** A person says that it is off or wiped: what it held before is not waited for. */
  readonly forgotten?: { readonly at: EpochMs; readonly by: string };
}
