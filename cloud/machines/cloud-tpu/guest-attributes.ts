import type { MachineRef } from '../../../domain/machines.js';
import type { ApiGuestAttributes } from './tpu-api.js';

/** The guest attributes of a node's VMs, by index. An agent in the VM writes them once it is up. */
export type GuestAttributes =
  | { readonly kind: 'read'; readonly hosts: readonly GuestFacts[] }
  /** Guest attributes are switched off for the VMs, or there is no right to read them. */
  | { readonly kind: 'disabled'; readonly message: string };
export interface GuestFacts {
  /** `ssh-ed25519 AAAA..`, `ecdsa-sha2-nistp256 AAAA..`. Empty until the agent has written them. */
  readonly hostKeys: readonly string[];
  /** The VM's own name, which IAP tunnels use. */
  readonly hostname?: string;
}

/** Facts about hosts that only Google's VMs provide. A ref of another kind has none of them. */
export interface GuestAttributesPort {
  /** One call for all VMs of the node. `read` without hosts if the node does not exist. @throws CloudUnavailable */
  readGuestAttributes(ref: MachineRef): Promise<GuestAttributes>;
  /** The metadata that the node was made with; empty if the node does not exist. @throws CloudUnavailable, CloudRefused */
  readNodeMetadata(ref: MachineRef): Promise<Readonly<Record<string, string>>>;
}

/** Reads the namespaces and keys that the guest agent writes and gcloud reads (docs/facts.md, "Cloud TPU"). */
export function guestFacts({ queryValue }: ApiGuestAttributes): GuestFacts {
  const items = queryValue?.items ?? [];
  // A key without a value has not been written yet.
  const hostKeys = items.flatMap(({ namespace, key, value }) =>
    namespace === 'hostkeys' && value?.trim() ? [`${key} ${value.trim()}`] : [],
  );
  const hostname = items.find(({ key }) => key === 'hostname')?.value;
  return { hostKeys, ...(hostname && { hostname }) };
}
