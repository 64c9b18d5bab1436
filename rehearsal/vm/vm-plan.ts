import type { AuthorizedKey } from './authorized-keys.js';
import { parseAuthorizedKeys } from './authorized-keys.js';
import type { Confinement } from './confinement.js';
import type { Isolation } from './isolation.js';
import type { MetadataService, MetadataSource } from './metadata/server.js';

export interface VmPlan {
  /** The VM's folder: its disk (homes, /tmp), host key and boot record. Kept over restarts; absolute. */
  readonly dir: string;
  /** Loopback address of the VM, such as 127.77.0.1. */
  readonly address: string;
  readonly sshPort: number;
  readonly hostname: string;
  /** Lines of `user:ssh-ed25519 AAAA.. comment` as in the metadata item `ssh-keys`. A function returns those in force now. */
  readonly authorizedKeys: string | (() => string);
  /** All hosts of the slice, for /etc/hosts. */
  readonly slice: readonly { readonly hostname: string; readonly address: string }[];
  /** Further variables of every login, such as TPU_WORKER_ID. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder of commands that come first on every PATH; /opt/rehearsal/bin in the VM. */
  readonly tools?: string;
  /** The metadata item `startup-script`, which root runs once per boot. */
  readonly startupScript?: string | undefined;
  /** Absent: the VM has no metadata server. */
  readonly metadata?: { readonly service: MetadataService; readonly source: MetadataSource };
  /** Separation of VMs from each other, and from this computer; absent: what the kernel allows. */
  readonly isolation?: Isolation;
  readonly confinement?: Confinement;
  /** Current time for the expiry of keys, epoch ms; absent: this computer's. */
  readonly now?: () => number;
  /** Receives the VM's events, for the journal. */
  readonly record?: (kind: string, details: Readonly<Record<string, unknown>>) => void;
}

/** Keys in force now. */
export function keysInForce({ authorizedKeys }: Pick<VmPlan, 'authorizedKeys'>): readonly AuthorizedKey[] {
  return parseAuthorizedKeys(typeof authorizedKeys === 'string' ? authorizedKeys : authorizedKeys());
}
