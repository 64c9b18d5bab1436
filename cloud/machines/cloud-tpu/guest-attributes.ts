import type { MachineRef } from '../../../domain/machines.js';
import type { ApiGuestAttributes } from './tpu-api.js';

/** What a node's VMs wrote about themselves in their guest attributes, by index. An agent in the VM writes them once it is up. */
export type GuestAttributes =
  | { readonly kind: 'read'; readonly hosts: readonly GuestFacts[] }
  /** Switched off for the VMs, or no right to read them. */
  | { readonly kind: 'disabled'; readonly message: string };
export interface GuestFacts {
  /** `ssh-ed25519 AAAA..`, `ecdsa-sha2-nistp256 AAAA..`. Empty: not written yet. */
  readonly hostKeys: readonly string[];
  /** The VM's own name, which IAP tunnels go by. */
  readonly hostname?: string;
}

/** What only Cloud TPU tells about its hosts. A ref of another kind has none of it. */
export interface GuestAttributesPort {
  /** One call for all VMs of the node. `read` without hosts if the node does not exist. @throws CloudUnavailable */
  readGuestAttributes(ref: MachineRef): Promise<GuestAttributes>;
  /** The metadata that the node was made with; empty if the node does not exist. @throws CloudUnavailable, CloudRefused */
  readNodeMetadata(ref: MachineRef): Promise<Readonly<Record<string, string>>>;
}

/** Namespaces and keys as the guest agent writes them and gcloud reads them (docs/facts.md, "Cloud TPU"). */
export function guestFacts({ queryValue }: ApiGuestAttributes): GuestFacts {
  const items = queryValue?.items ?? [];
  // A key without a value is not written yet.
  const hostKeys = items.flatMap(({ namespace, key, value }) =>
    namespace === 'hostkeys' && value?.trim() ? [`${key} ${value.trim()}`] : [],
  );
  const hostname = items.find(({ key }) => key === 'hostname')?.value;
  return { hostKeys, ...(hostname && { hostname }) };
}
