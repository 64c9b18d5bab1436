import type { MachineFinding } from '../../domain/machine-kinds/machines/findings.js';
import type { MachineRecord, OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import type { MachineKindName, MachineRef, PlanOf, RefOf } from '../../domain/machines.js';
import type { Condition, CreateAnswer, Owner, Ownership } from '../../domain/slice.js';

/** Value of `tellAfterMs` for states that last only seconds if a request is granted at once. */
export const TELL_AFTER_MS = 10_000;

/** The slice that a call is about. */
export interface Claim<Ref> {
  readonly ref: Ref;
  /**
   * The owner that the machines must have. With an `Ownership`, machines of another generation or spec are `foreign` too; with an
   * `Owner`, only the job counts.
   */
  readonly ownership: Owner | Ownership;
  /** The operation that the create call returned. With it, an accepted create that failed later is `lost` with its reason. */
  readonly operation?: string;
}

export interface WatchOptions {
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
}

/** `unanswered`: ask again; a removal may be repeated. `gone`: nothing of that name existed. */
export type RemoveAnswer =
  /** `operation`: for `removal`. Absent: the machines were already being deleted. */
  | { readonly kind: 'accepted'; readonly operation?: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unanswered'; readonly message: string };

/** A resource at the provider with our owner label. One slice may be several of them. */
export interface OwnedResource<Ref> {
  readonly ref: Ref;
  readonly ownership: Ownership;
}

/** The guest attributes of a node's VMs, by index. An agent in the VM writes them once it is up. */
export type GuestAttributes =
  | { readonly kind: 'read'; readonly hosts: readonly GuestFacts[] }
  /** Guest attributes are switched off for the VMs, there is no right to read them, or the provider has none. */
  | { readonly kind: 'disabled'; readonly message: string };
export interface GuestFacts {
  /** `ssh-ed25519 AAAA..`, `ecdsa-sha2-nistp256 AAAA..`. Empty until the agent has written them. */
  readonly hostKeys: readonly string[];
  /** The VM's own name, which IAP tunnels use. */
  readonly hostname?: string;
}

/** Facts about hosts that only some providers tell. */
export interface GuestAttributesPort {
  /** One call for all VMs of the node. `read` without hosts if the node does not exist. @throws CloudUnavailable */
  readGuestAttributes(ref: MachineRef): Promise<GuestAttributes>;
  /** The metadata that the node was made with; empty if the node does not exist. @throws CloudUnavailable, CloudRefused */
  readNodeMetadata(ref: MachineRef): Promise<Readonly<Record<string, string>>>;
}

/**
 * The machines of one kind, at their provider (docs/adr/0036). No method rejects with an SDK's error: a call without evidence
 * about the machines rejects with `CloudUnavailable` or `CloudRefused`, so that "unknown" is never read as "gone".
 */
export interface Machines<K extends MachineKindName = MachineKindName> extends Partial<GuestAttributesPort> {
  /** Makes one create call and never repeats it. Missing credentials are a refusal. Never rejects for the provider's answer. */
  create(plan: PlanOf<K>): Promise<CreateAnswer>;
  /** Asks the provider directly about this one slice. */
  observe(claim: Claim<RefOf<K>>): Promise<Condition>;
  /**
   * Returns the same as `observe`, from a listing that begins after this call and serves all watchers. Listings are a period
   * apart (2 s while any watcher `isUrgent`, else 10 s), so a loop over this call needs no pause. A listing may be outdated:
   * confirm `missing` with `observe` before acting on it. Rejects with the signal's reason when it is aborted.
   */
  watch(claim: Claim<RefOf<K>>, options: WatchOptions): Promise<Condition>;
  /**
   * Asks for everything of that name to be deleted, and resolves before that is gone. Callers need not look before: machines of
   * another owner, job or run are not deleted (`refused`), nor are machines that are already being deleted.
   */
  remove(ref: RefOf<K>, owner: Owner): Promise<RemoveAnswer>;
  /**
   * The provider's own result of a removal: with it one `missing` is evidence (docs/adr/0051). `unknown`: it failed, or the
   * provider has forgotten it.
   */
  removal(operation: string): Promise<'under way' | 'done' | 'unknown'>;
  /**
   * Lists everything of `owner` in one account (`MachineKind.account`), including resources that are being deleted.
   * @param onMissing is called with each zone that the provider could not list: our resources there are unknown
   * @throws CloudUnavailable; without `onMissing` also if only a part could be listed
   */
  listOwned(account: string, owner: string, onMissing?: OnMissing): Promise<readonly OwnedResource<RefOf<K>>[]>;
  /** For providers whose machines return: puts a machine aside, unused until it was checked. Repeating is safe. */
  putAside?(
    machine: { readonly ref: RefOf<K>; readonly uid: string; readonly host: number },
    reason: string,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Called with a part of an account, such as `us-central1-a`, that could not be listed, and the reason; maybe repeatedly. */
export type OnMissing = (place: string, why: string) => void;

/**
 * Handles parts of a listing that were not reached. A resource missing in such a listing is not gone, so without a listener it
 * throws.
 * @param places the places by the provider's names: `projects/P/locations/ZONE`, `zones/ZONE`
 * @param call the listing's call, for the error and for the listener
 * @throws CloudUnavailable
 */
export function notReached(
  places: readonly string[],
  {
    call,
    method,
    onMissing,
  }: { readonly call: string; readonly method: string; readonly onMissing?: OnMissing | undefined },
): void {
  if (places.length === 0) return;
  if (!onMissing) throw new CloudUnavailable(`${call}: could not reach ${places.join(', ')}`);
  for (const place of places) onMissing(place.split('/').at(-1) ?? place, `${method}: unreachable`);
}

export type MachineAdapters = { readonly [K in MachineKindName]: Machines<K> };

/** Finds the adapter for a ref's kind. A ref, plan or claim must go to the adapter of its own kind. */
export type MachinesOf = (kind: MachineKindName) => Machines;

/** The call may be repeated: timeouts, UNAVAILABLE, rate limits. It says nothing about the state of any resource. */
export class CloudUnavailable extends Error {
  override readonly name = 'CloudUnavailable';
}

/** The provider refused for good: credentials, permissions, a project or API that does not exist. */
export class CloudRefused extends Error {
  override readonly name = 'CloudRefused';
}

/** The present state of a machine: its record, and the result of a look at it. */
export interface MachineLook {
  readonly machine: OwnMachine;
  readonly record: MachineRecord;
  /** The slice in the pool's record. */
  readonly slice?: { readonly name: string; readonly job: string };
  readonly seen:
    | { readonly kind: 'free' }
    | { readonly kind: 'held' }
    | { readonly kind: 'foreign'; readonly message: string }
    | { readonly kind: 'silent'; readonly message: string };
}

export interface Examined {
  /** The first of several slots, which are one machine. */
  readonly machine: OwnMachine;
  readonly findings: readonly MachineFinding[];
}

/** An operator's views and actions on a pool's own machines (docs/own-machines.md). @throws CloudUnavailable, CloudRefused */
export interface MachinesOperator {
  look(pool: string, machines: readonly OwnMachine[]): Promise<readonly MachineLook[]>;
  /**
   * Inspects machines that no slice holds, and makes healthy ones usable again. First removes claims that no record knows.
   * @param inventory all machines of the pool. Absent: those are all
   */
  check(pool: string, machines: readonly OwnMachine[], inventory?: readonly OwnMachine[]): Promise<void>;
  /** Reads what `jobctl doctor --machines` judges, of held machines too. Changes nothing. */
  examine(pool: string, machines: readonly OwnMachine[]): Promise<readonly Examined[]>;
  drain(pool: string, machines: readonly OwnMachine[], by: string, reason?: string): Promise<void>;
  undrain(pool: string, machines: readonly OwnMachine[]): Promise<void>;
  /** Stops waiting for claims on a machine. It is used again only after a check, which ends processes that still run there. */
  forget(pool: string, machines: readonly OwnMachine[], by: string): Promise<void>;
  /**
   * Ends the processes under a claim that no slice looks after, and removes the claim.
   * @returns the reason why it was not done, or undefined if it was
   */
  release(pool: string, machine: OwnMachine, claim: string): Promise<string | undefined>;
}
