import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineRef } from '../../domain/machines.js';
import { CloudUnavailable, type GuestAttributes, type GuestAttributesPort, type GuestFacts } from '../machines/port.js';
import type { SshTarget } from './port.js';

/** The guest attributes of one VM. `unwritten`: its agent has written nothing in time, or the API did not answer. */
export type GuestAnswer =
  | { readonly kind: 'known'; readonly facts: GuestFacts; readonly ofNode: NodeKeys }
  | { readonly kind: 'disabled'; readonly message: string }
  | { readonly kind: 'unwritten'; readonly message: string };

/** Host keys of all VMs of a node. A list of VMs may be in another order than their addresses (docs/adr/0047). */
export interface NodeKeys {
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
