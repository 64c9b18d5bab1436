import type { MachineRecord, OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import type { MachineKindName, PlanOf, RefOf } from '../../domain/machines.js';
import type { Condition, CreateAnswer, Owner, Ownership } from '../../domain/slice.js';

/** `tellAfterMs` of states that a request which is granted at once passes within seconds. */
export const TELL_AFTER_MS = 10_000;

/** A slice that somebody asks about. */
export interface Claim<Ref> {
  readonly ref: Ref;
  /**
   * Whose the machines must be. With an `Ownership`, machines of another generation or spec are `foreign` too; with an
   * `Owner`, the job alone counts.
   */
  readonly ownership: Owner | Ownership;
  /** As the create request was answered: with it, a create that was accepted and then failed is `lost` with its reason. */
  readonly operation?: string;
}

export interface WatchOptions {
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
}

/** `unanswered`: ask again; removing may be repeated. `gone`: nothing of that name existed. */
export type RemoveAnswer =
  /** `operation`: for `removal`. Absent: the machines were being deleted already. */
  | { readonly kind: 'accepted'; readonly operation?: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unanswered'; readonly message: string };

/** Something at the provider that carries our owner label. One slice may be several of them. */
export interface OwnedResource<Ref> {
  readonly ref: Ref;
  readonly ownership: Ownership;
}

/**
 * The machines of one kind, at their provider (docs/adr/0036). No method rejects with an SDK's own error: a call that says
 * nothing about the machines rejects with `CloudUnavailable` or `CloudRefused`, so that "unknown" is never read as "gone".
 */
export interface Machines<K extends MachineKindName = MachineKindName> {
  /** One create call, never repeated inside. Missing credentials are a refusal. Never rejects for what the provider said. */
  create(plan: PlanOf<K>): Promise<CreateAnswer>;
  /** Asks the provider about this one slice, directly. */
  observe(claim: Claim<RefOf<K>>): Promise<Condition>;
  /**
   * The same from a listing that begins after this call and serves all who watch. Listings are a period apart (2 s while
   * anybody `isUrgent`, else 10 s), so a loop over this call needs no pause. A listing lags behind: confirm `missing` with
   * `observe` before acting on it. Rejects with the signal's reason when it is aborted.
   */
  watch(claim: Claim<RefOf<K>>, options: WatchOptions): Promise<Condition>;
  /**
   * Asks for everything of that name to be deleted, and resolves before it is gone. It looks first, since it is called without
   * a look before it: machines of another owner, job or run are not deleted (`refused`), nor are those that are being deleted.
   */
  remove(ref: RefOf<K>, owner: Owner): Promise<RemoveAnswer>;
  /**
   * The provider's own word of what became of a removal: with it one `missing` is evidence (docs/adr/0051). `unknown`: it failed,
   * or the provider has forgotten it.
   */
  removal(operation: string): Promise<'under way' | 'done' | 'unknown'>;
  /**
   * Everything of `owner` in one account (`MachineKind.account`), resources that are being deleted included.
   * @param onMissing hears each zone that the provider could not list: whether something of ours is there is unknown
   * @throws CloudUnavailable without `onMissing` also if only a part could be listed
   */
  listOwned(account: string, owner: string, onMissing?: OnMissing): Promise<readonly OwnedResource<RefOf<K>>[]>;
  /** Of a provider whose machines come back: nothing more begins on this one until it was checked. Repeating is safe. */
  putAside?(
    machine: { readonly ref: RefOf<K>; readonly uid: string; readonly host: number },
    reason: string,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Hears a part of an account, such as `us-central1-a`, that could not be listed, and why. It may hear it more than once. */
export type OnMissing = (place: string, why: string) => void;

/**
 * Parts of a listing were not reached. What is missing in it is not gone: without a listener it is no list.
 * @param places as the provider names them: `projects/P/locations/ZONE`, `zones/ZONE`
 * @param call whose listing it is, for the error and for the listener
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

/** The adapter of each kind. */
export type MachineAdapters = { readonly [K in MachineKindName]: Machines<K> };

/** Finds the adapter for a ref's kind. A ref, plan or claim must go to the adapter of its own kind. */
export type MachinesOf = (kind: MachineKindName) => Machines;

export const machinesOf =
  (adapters: MachineAdapters): MachinesOf =>
  (kind) =>
    adapters[kind];

/** The call may be repeated: timeouts, UNAVAILABLE, rate limits. Says nothing about any resource's state. */
export class CloudUnavailable extends Error {
  override readonly name = 'CloudUnavailable';
}

/** The provider refused for good: credentials, permissions, a project or API that does not exist. */
export class CloudRefused extends Error {
  override readonly name = 'CloudRefused';
}

/** A machine as it is: what is remembered of it, and what was seen just now. */
export interface MachineLook {
  readonly machine: OwnMachine;
  readonly record: MachineRecord;
  /** By the pool's record. */
  readonly slice?: { readonly name: string; readonly job: string };
  readonly seen:
    | { readonly kind: 'free' }
    | { readonly kind: 'held' }
    | { readonly kind: 'foreign'; readonly message: string }
    | { readonly kind: 'silent'; readonly message: string };
}

/** What an operator sees and does of a pool's own machines (docs/own-machines.md). @throws CloudUnavailable, CloudRefused */
export interface MachinesOperator {
  look(pool: string, machines: readonly OwnMachine[]): Promise<readonly MachineLook[]>;
  /** Inspects machines that no slice holds, and uses those again that are well. A claim that no record knows is removed first. */
  check(pool: string, machines: readonly OwnMachine[]): Promise<void>;
  drain(pool: string, machines: readonly OwnMachine[], by: string, reason?: string): Promise<void>;
  undrain(pool: string, machines: readonly OwnMachine[]): Promise<void>;
  /** What a machine held before is not waited for any more. It is used again after a check only, which ends what it still runs. */
  forget(pool: string, machines: readonly OwnMachine[], by: string): Promise<void>;
  /**
   * Ends what runs on a machine under a claim that nobody looks after, and removes the claim.
   * @returns why it was not done; undefined: it was
   */
  release(pool: string, machine: OwnMachine, claim: string): Promise<string | undefined>;
}
