import { setTimeout as sleep } from 'node:timers/promises';
import { hostKeyObject } from '../../domain/store-layout.js';
import type { MachineRef } from '../../domain/machines.js';
import { objectPlace, type StorePort, StoreUnavailable } from '../store/port.js';
import { CloudUnavailable, type GuestAttributes, type GuestAttributesPort, type GuestFacts } from '../machines/port.js';
import {
  type ExpectedHostKey,
  type HostKeyPins,
  expectedOf,
  type HostKeyRecord,
  type HostKeySource,
  hostKeyText,
  readHostKey,
} from './host-key-record.js';
import { hostKeyPlace, HostKeyUnverified, HostUnreachable, type SshTarget } from './port.js';

/** `require-guest-attributes`: logs in to a host only if Google's API has named its key. */
export type HostKeyPolicy = 'allow-first-use' | 'require-guest-attributes';

interface StoredHostKeysOptions {
  readonly store: StorePort;
  readonly guest: GuestHostKeys;
  readonly policy: HostKeyPolicy;
}

/**
 * Host keys that outlive the worker. There is one object for each node id and index, written once under the precondition that it
 * does not exist, so that two workers cannot expect different keys of a host. Without an object the guest attributes are read.
 */
export class StoredHostKeys implements HostKeyPins {
  readonly #store: StorePort;
  readonly #guest: GuestHostKeys;
  readonly #isGuestRequired: boolean;
  readonly #known = new Map<string, HostKeyRecord>();

  constructor({ store, guest, policy }: StoredHostKeysOptions) {
    this.#store = store;
    this.#guest = guest;
    this.#isGuestRequired = policy === 'require-guest-attributes';
  }

  async expected(target: SshTarget): Promise<ExpectedHostKey | undefined> {
    const record = await this.#read(target);
    if (target.own) return expectedOf(record) ?? this.#declared(target.own.hostKey, target);
    return record && this.#isTrusted(record) ? expectedOf(record) : this.#posted(target);
  }

  async pin(target: SshTarget, publicKey: string, source: HostKeySource): Promise<HostKeyRecord> {
    const record = { publicKey, source, at: Date.now(), user: target.user };
    const { kind } = await this.#overStore(target, () =>
      this.#store.write(nameOf(target), hostKeyText(record), 'absent', 'application/json'),
    );
    if (kind === 'written') return this.#remember(target, record);
    const stands = await this.#read(target);
    // The conflict may come from our own write if its first answer was lost.
    if (!stands) throw new HostUnreachable(`${this.placeOf(target)}: the record of its host key went away; try again`);
    // A key that the cloud names overrides a key that a worker saw first.
    const isOutranked = stands.source === 'first-use' && source === 'guest-attributes';
    return isOutranked ? this.#replace(target, record) : stands;
  }

  async isReplaced(target: SshTarget, publicKey: string): Promise<boolean> {
    const wasKnown = this.#known.delete(nameOf(target));
    const record = await this.#read(target);
    // A person removed the record, or another worker replaced it.
    if (record === undefined && wasKnown) return true;
    if (record?.publicKey === publicKey && this.#isTrusted(record)) return true;
    if (target.own) return this.#isDeclaredAnew(target, publicKey);
    if (!target.ref) return false;
    const { hostKeys, isComplete } = await this.#guest.now(target.uid, target.ref);
    if (!hostKeys.includes(publicKey)) {
      if (record !== undefined || isComplete || hostKeys.length === 0) return false;
      throw new HostUnreachable(
        `host ${target.index} of node ${target.ref.name}: not all of its VMs have written their host keys; try again`,
      );
    }
    const user = record?.user;
    const letIn = user === undefined ? {} : { user };
    await this.#replace(target, { publicKey, source: 'guest-attributes', at: Date.now(), ...letIn });
    return true;
  }

  placeOf(target: SshTarget): string {
    return objectPlace(this.#store, nameOf(target));
  }

  #isTrusted({ source }: HostKeyRecord): boolean {
    return source === 'guest-attributes' || !this.#isGuestRequired;
  }

  #declared(hostKey: string | undefined, target: SshTarget): ExpectedHostKey | undefined {
    if (hostKey !== undefined) return { publicKeys: [hostKey], source: 'inventory' };
    if (!this.#isGuestRequired) return undefined;
    throw new HostKeyUnverified(
      `machine at ${target.address}: the pool file gives no host_key for it, and the worker's ssh.hostKeyPolicy does not trust a first sight`,
    );
  }

  /** The operator has written another key into the inventory, because the machine was installed anew. */
  async #isDeclaredAnew(target: SshTarget, publicKey: string): Promise<boolean> {
    if (target.own?.hostKey !== publicKey) return false;
    await this.#replace(target, { publicKey, source: 'inventory', at: Date.now(), user: target.user });
    return true;
  }

  async #posted(target: SshTarget): Promise<ExpectedHostKey | undefined> {
    const { uid, ref, index } = target;
    const answer = ref
      ? await this.#guest.of(uid, ref, index)
      : ({ kind: 'disabled', message: 'it is no VM of a node' } as const);
    if (answer.kind === 'known') return { publicKeys: answer.ofNode.hostKeys, source: 'guest-attributes' };
    if (!this.#isGuestRequired) return undefined;
    const message =
      `host ${index} of node ${ref?.name ?? uid}: its host key is not in its guest attributes (${answer.message}), ` +
      "and the worker's ssh.hostKeyPolicy requires it";
    if (answer.kind === 'unwritten') throw new HostUnreachable(message);
    throw new HostKeyUnverified(
      `${message}; nothing was sent to it. Enable guest attributes, or set 'allow-first-use'`,
    );
  }

  async #read(target: SshTarget): Promise<HostKeyRecord | undefined> {
    const known = this.#known.get(nameOf(target));
    if (known) return known;
    const record = await this.#overStore(target, () => readHostKey(this.#store, ...hostKeyPlace(target)));
    return record && this.#remember(target, record);
  }

  async #replace(target: SshTarget, record: HostKeyRecord): Promise<HostKeyRecord> {
    await this.#overStore(target, () => this.#store.replace(nameOf(target), hostKeyText(record), 'application/json'));
    return this.#remember(target, record);
  }

  #remember(target: SshTarget, record: HostKeyRecord): HostKeyRecord {
    this.#known.set(nameOf(target), record);
    return record;
  }

  /** While the store is away, the host counts as unreachable: both are tried again. */
  async #overStore<T>(target: SshTarget, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      throw new HostUnreachable(`${this.placeOf(target)}: the record of its host key: ${error.message}`, {
        cause: error,
      });
    }
  }
}

const nameOf = (target: SshTarget): string => hostKeyObject(...hostKeyPlace(target));

/** The guest attributes of one VM. `unwritten`: its agent has written nothing in time, or the API did not answer. */
type GuestAnswer =
  | { readonly kind: 'known'; readonly facts: GuestFacts; readonly ofNode: NodeKeys }
  | { readonly kind: 'disabled'; readonly message: string }
  | { readonly kind: 'unwritten'; readonly message: string };

/** Host keys of all VMs of a node. A list of VMs may be in another order than their addresses (docs/adr/0047). */
interface NodeKeys {
  readonly hostKeys: readonly string[];
  /** Whether each VM has written its key. */
  readonly isComplete: boolean;
}

const POLL_MS = 2_000;

/** Reads guest attributes for many VMs at once: one call per node for all callers, and at most one every 2 s. */
export class GuestHostKeys {
  readonly #api: GuestAttributesPort;
  readonly #waitMs: number;
  /** Keyed by node id. Never emptied: a worker sees some thousand nodes in its life. */
  readonly #nodes = new Map<string, NodeWatch>();

  /** @param waitMs limit for the wait for a node's VMs, from the first question about the node on */
  constructor(api: GuestAttributesPort, waitMs: number) {
    this.#api = api;
    this.#waitMs = waitMs;
  }

  /** Waits for the VM's agent. */
  async of(uid: string, ref: MachineRef, index: number): Promise<GuestAnswer> {
    const node = this.#nodes.get(uid) ?? { deadline: Date.now() + this.#waitMs };
    this.#nodes.set(uid, node);
    for (;;) {
      const answer = await this.#read(node, ref);
      if ('kind' in answer && answer.kind === 'disabled') return answer;
      const facts = 'hosts' in answer ? answer.hosts[index] : undefined;
      if (facts && facts.hostKeys.length > 0) return { kind: 'known', facts, ofNode: nodeKeys(answer) };
      if (Date.now() >= node.deadline) {
        const why = 'error' in answer ? answer.error : 'its agent has written no host key';
        return { kind: 'unwritten', message: `${why} within ${this.#waitMs / 1000} s` };
      }
      await sleep(Math.max(0, Math.min(POLL_MS, node.deadline - Date.now())));
    }
  }

  /** The VM's own name, once its agent has written it. */
  async hostnameOf({ uid, ref, index }: SshTarget): Promise<string | undefined> {
    if (!ref) return undefined;
    const answer = await this.of(uid, ref, index);
    return answer.kind === 'known' ? answer.facts.hostname : undefined;
  }

  /** Reads the present keys, for a host that shows another key than before. */
  async now(uid: string, ref: MachineRef): Promise<NodeKeys> {
    this.#nodes.delete(uid);
    const answer = await this.#read({ deadline: 0 }, ref);
    return nodeKeys(answer);
  }

  /** Makes one call per node at a time. An answer is valid for a poll's time, a complete one for good. */
  #read(node: NodeWatch, ref: MachineRef): Promise<Answer> {
    const isStale = node.isComplete !== true && Date.now() - (node.askedAt ?? 0) >= POLL_MS;
    if (node.answer && !isStale) return node.answer;
    node.askedAt = Date.now();
    node.answer = this.#api.readGuestAttributes(ref).then(
      (answer) => {
        node.isComplete = nodeKeys(answer).isComplete;
        return answer;
      },
      (error: unknown) => {
        if (error instanceof CloudUnavailable) return { error: error.message };
        throw error;
      },
    );
    return node.answer;
  }
}

type Answer = GuestAttributes | { readonly error: string };

function nodeKeys(answer: Answer): NodeKeys {
  const hosts = 'hosts' in answer ? answer.hosts : [];
  return {
    hostKeys: hosts.flatMap(({ hostKeys }) => hostKeys),
    isComplete: 'hosts' in answer && hosts.every(({ hostKeys }) => hostKeys.length > 0),
  };
}

interface NodeWatch {
  readonly deadline: number;
  askedAt?: number;
  answer?: Promise<Answer>;
  isComplete?: boolean;
}
