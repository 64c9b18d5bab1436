import type { AuthorizedKey } from './authorized-keys.js';
import { parseAuthorizedKeys } from './authorized-keys.js';
import type { Confinement } from './confinement.js';
import type { Isolation } from './isolation.js';
import type { MetadataService, MetadataSource } from './metadata/server.js';

export interface VmPlan {
  /** The VM's folder: its disk (homes, /tmp), host key and boot record. Kept over restarts; absolute. */
  readonly dir: string;
  /** The VM's own loopback address, such as 127.77.0.1. */
  readonly address: string;
  readonly sshPort: number;
  readonly hostname: string;
  /** Lines of `user:ssh-ed25519 AAAA.. comment` as in the metadata item `ssh-keys`: those in force whenever it is asked. */
  readonly authorizedKeys: string | (() => string);
  /** All hosts of the slice, for /etc/hosts. */
  readonly slice: readonly { readonly hostname: string; readonly address: string }[];
  /** More of every login's environment, such as TPU_WORKER_ID. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder of commands that come first on every PATH, /opt/rehearsal/bin in the VM. */
  readonly tools?: string;
  /** The metadata item `startup-script`: run once per boot, by root. */
  readonly startupScript?: string | undefined;
  /** Without it the VM has no metadata server. */
  readonly metadata?: { readonly service: MetadataService; readonly source: MetadataSource };
  /** How VMs are kept apart, and from this computer; what the kernel allows if not given. */
  readonly isolation?: Isolation;
  readonly confinement?: Confinement;
  /** Epoch ms, against which keys expire; the computer's if not given. */
  readonly now?: () => number;
  /** Told of what happens in the VM, for the journal. */
  readonly record?: (kind: string, details: Readonly<Record<string, unknown>>) => void;
}

/** Those in force now. */
export function keysInForce({ authorizedKeys }: Pick<VmPlan, 'authorizedKeys'>): readonly AuthorizedKey[] {
  return parseAuthorizedKeys(typeof authorizedKeys === 'string' ? authorizedKeys : authorizedKeys());
}
