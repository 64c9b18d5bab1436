import type { Ownership, SliceObservation, SlicePlan, SliceRef } from '../../domain/slice.js';

/**
 * How a create request was answered. `unanswered` means that nobody knows: the request may have taken effect, and
 * whoever asked must go on looking (DESIGN.md 2, `create_settle`).
 */
export type CreateAnswer =
  /** `operation`: name of the long-running operation, for `observeSlice`; absent where the answer carried none. */
  | { readonly kind: 'accepted'; readonly operation?: string }
  /** A resource of that name is there; whose it is, an observation tells. */
  | { readonly kind: 'exists' }
  | { readonly kind: 'refused'; readonly reason: CreateRefusal; readonly message: string }
  | { readonly kind: 'unanswered'; readonly message: string };

/** `no-capacity` may pass (another zone, later); `quota` and the rest need a person. */
export type CreateRefusal = 'no-capacity' | 'quota' | 'permission' | 'bad-request';

/** `unanswered`: ask again; deleting is idempotent. `gone`: there was nothing of that name. */
export type DeleteAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unanswered'; readonly message: string };

export interface OwnedResource {
  readonly kind: 'queued-resource' | 'node';
  readonly ref: SliceRef;
  readonly ownership: Ownership;
  readonly state: string;
}

/** The Cloud TPU API as jobctl needs it. Every method rejects with `CloudUnavailable` or `CloudRefused`, never with gRPC's own errors. */
export interface TpuPort {
  /** One create call, never repeated inside. Missing credentials are a refusal. */
  createSlice(plan: SlicePlan): Promise<CreateAnswer>;
  /**
   * Reads the one queued resource and node directly.
   * @param operation of the create: asked about if its resource is not there (a create without capacity fails there only).
   */
  observeSlice(ref: SliceRef, operation?: string): Promise<SliceObservation>;
  /**
   * The same from the zone's next listing, begun after this call: one listing serves every slice of the zone, and they
   * begin a period apart (2 s while anybody `isUrgent`, else 10 s), so a loop over this call needs no pause of its own. A
   * resource missing from a listing is 'not-found' here; confirm with `observeSlice` before acting on it. Rejects with
   * the signal's reason when it is aborted.
   */
  watchSlice(
    ref: SliceRef,
    options: { readonly isUrgent: boolean; readonly signal: AbortSignal; readonly operation?: string },
  ): Promise<SliceObservation>;
  /**
   * Asks for the queued resource (with force) and its node to be deleted; returns before they are gone.
   * @param ownership whose they must be: what is of another owner, job or run is not deleted but `refused`.
   */
  deleteSlice(ref: SliceRef, ownership?: Ownership): Promise<DeleteAnswer>;
  /** Everything of `owner` in all zones (`locations/-`), resources that are being deleted included. */
  listOwned(googleProject: string, owner: string): Promise<readonly OwnedResource[]>;
  close(): Promise<void>;
}

/** What a node's VMs wrote about themselves in their guest attributes, by index. An agent in the VM writes them once it is up. */
export type GuestAttributes =
  | { readonly kind: 'read'; readonly hosts: readonly GuestFacts[] }
  /** Switched off for the VMs, or no right to read them. */
  | { readonly kind: 'disabled'; readonly message: string };
export interface GuestFacts {
  /** `ssh-ed25519 AAAA..`, `ecdsa-sha2-nistp256 AAAA..`; none = not written yet. */
  readonly hostKeys: readonly string[];
  /** The VM's own name, which IAP tunnels go by. */
  readonly hostname?: string;
}

export interface GuestAttributesPort {
  /** One call for all VMs of the node. `read` without hosts where there is no such node. @throws CloudUnavailable */
  readGuestAttributes(ref: SliceRef): Promise<GuestAttributes>;
  /** What the node was made with; nothing where there is no such node. @throws CloudUnavailable, CloudRefused */
  readNodeMetadata(ref: SliceRef): Promise<Readonly<Record<string, string>>>;
}

/** The call may be repeated: timeouts, UNAVAILABLE, rate limits. Says nothing about any resource's state. */
export class CloudUnavailable extends Error {
  override readonly name = 'CloudUnavailable';
}

/** The API refused for good: credentials, permissions, a project or API that is not there. */
export class CloudRefused extends Error {
  override readonly name = 'CloudRefused';
}
