import { conditionOf } from '../../cloud/machines/cloud-tpu/condition.js';
import type { Condition, Ownership } from '../../domain/slice.js';
import { PARENT, PureCloud } from '../../rehearsal/test/pure-cloud.js';
import { labelsOf, ownershipFrom } from '../../domain/identity.js';
import type { Operation } from '../../rehearsal/tpu/model.js';
import type { CloudEvent } from '../oracle/evidence.js';

/** State of a VM, as its metadata server and its system report it; undefined: the VM is gone. */
export type VmState = 'up' | 'stopping' | 'preempted' | undefined;
/** `notice`: the guest is told, then shuts down. `signal`: it shuts down. `silence`: it is gone, and the API says so late. */
export type PreemptionKind = 'notice' | 'signal' | 'silence' | 'vanish';

const SHUTDOWN_MS = { notice: 30_000, signal: 10_000 } as const;

interface Seen {
  readonly at: number;
  readonly condition: Condition;
  /** The resource that the condition was read from. The cloud makes a new object for each change. */
  readonly of: unknown;
}

/** The rehearsal's state machine on a clock that is stepped. It has VMs as far as decisions see them, and an API that lags. */
export class VirtualCloud {
  readonly events: CloudEvent[] = [];
  readonly #pure: PureCloud;
  readonly #vms = new Map<string, VmState>();
  readonly #seen = new Map<string, Seen[]>();
  readonly #owners = new Map<string, Ownership>();
  readonly #later: { readonly at: number; readonly run: () => void }[] = [];
  readonly #lagMs: number;
  readonly #operations = new Map<string, string>();
  #read = 0;
  isDown = false;

  constructor(seed: number, lagMs: number) {
    this.#lagMs = lagMs;
    const span = { min: 1_000, max: 20_000 };
    this.#pure = new PureCloud({ queueMs: span, provisioningMs: span, deletingMs: span }, seed);
  }

  get now(): number {
    return this.#pure.clock.now();
  }

  step(ms: number): void {
    this.#pure.step(ms);
    const due = this.#later.filter(({ at }) => at <= this.now);
    for (const each of due) {
      this.#later.splice(this.#later.indexOf(each), 1);
      each.run();
    }
    this.#takeEvents();
    for (const [name, seen] of this.#seen) this.#watch(name, seen);
  }

  /** @param chips 4 or 8 on one host, or 16 on four hosts */
  create(name: string, chips: number, ownership: Ownership): void {
    const node = {
      acceleratorType: `v5litepod-${chips}`,
      labels: labelsOf(ownership),
      schedulingConfig: { spot: true },
    };
    this.#operations.set(name, this.#pure.create(name, node).name);
    this.#owners.set(name, ownership);
    const condition: Condition = { kind: 'waiting', detail: 'CREATING' };
    this.#seen.set(name, [{ at: this.now, condition, of: 'not looked at' }]);
    this.#takeEvents();
  }

  remove(name: string): void {
    this.#note('api-call', name, { method: 'DeleteNode', code: 'OK' });
    if (this.#pure.nodeState(name) !== 'gone') this.#pure.cloud.deleteNode(`${PARENT}/nodes/${name}`);
    this.#vms.set(name, undefined);
    this.#takeEvents();
  }

  isGone(name: string): boolean {
    return this.#pure.nodeState(name) === 'gone';
  }

  /** The API's answer now, which shows the state of a while ago. Undefined: it does not answer. */
  look(name: string): Condition | undefined {
    return this.isDown ? undefined : this.#seen.get(name)?.[0]?.condition;
  }

  vm(name: string): VmState {
    return this.#vms.has(name) ? this.#vms.get(name) : this.#pure.nodeState(name) === 'READY' ? 'up' : undefined;
  }

  ready(): readonly string[] {
    return [...this.#seen.keys()].filter((name) => this.#pure.nodeState(name) === 'READY' && this.vm(name) === 'up');
  }

  /** @param silentMs time until the API knows of a `silence` or a `vanish` */
  preempt(name: string, kind: PreemptionKind, silentMs: number): void {
    const mode = kind === 'vanish' ? 'vanish' : 'preempted';
    const take = (): void => {
      this.#cutPower(name);
      if (this.#pure.nodeState(name) === 'READY') this.#pure.cloud.preempt(this.#pure.node(name), mode);
    };
    if (kind === 'notice' || kind === 'signal') {
      this.#vms.set(name, kind === 'notice' ? 'preempted' : 'stopping');
      this.#later.push({ at: this.now + SHUTDOWN_MS[kind], run: take });
    } else {
      this.#cutPower(name);
      this.#later.push({ at: this.now + silentMs, run: take });
    }
  }

  #cutPower(name: string): void {
    if (this.vm(name) !== undefined) this.#note('vm-power', name, { power: 'off' });
    this.#vms.set(name, undefined);
  }

  /** Sets the units of the zone; undefined: no limit. */
  capacity(chips: number | undefined): void {
    this.#pure.cloud.configure({ capacity: chips === undefined ? {} : { 'us-central1-a/v5litepod': chips } });
  }

  after(ms: number, run: () => void): void {
    this.#later.push({ at: this.now + ms, run });
  }

  /** Notes a new condition, and drops those that a later one has replaced in the API's answers. */
  #watch(name: string, seen: Seen[]): void {
    const { nodes, operations } = this.#pure.cloud.state;
    const of =
      nodes[`${PARENT}/nodes/${name}`]?.resource ?? `gone ${isEnded(operations[this.#operations.get(name) ?? ''])}`;
    if (seen.at(-1)?.of !== of) seen.push({ at: this.now, condition: this.#conditionNow(name), of });
    while (seen.length > 1 && (seen[1]?.at ?? Infinity) <= this.now - this.#lagMs) seen.shift();
  }

  #conditionNow(name: string): Condition {
    const ownership = this.#owners.get(name);
    if (ownership === undefined) throw new Error(`no node ${name} was ever asked for`);
    const { nodes, operations } = this.#pure.cloud.state;
    const resource = nodes[`${PARENT}/nodes/${name}`]?.resource;
    const operation = operations[this.#operations.get(name) ?? ''];
    const found = resource && ownershipFrom(resource.labels as Record<string, string>);
    const hosts = (resource?.networkEndpoints ?? []) as readonly { readonly ipAddress?: string }[];
    return conditionOf(
      {
        at: this.now,
        queuedResource: 'unused',
        node:
          resource === undefined
            ? 'not-found'
            : {
                state: resource.state,
                health: 'HEALTHY',
                nodeId: resource.id,
                hosts: hosts.map(({ ipAddress = '' }, index) => ({ reach: 'ssh', index, internalIp: ipAddress })),
                ...(found && { ownership: found }),
              },
        ...(operation && {
          operation: { isDone: isEnded(operation), ...(operation.error && { error: operation.error }) },
        }),
      },
      ownership,
    );
  }

  #takeEvents(): void {
    const { events } = this.#pure;
    for (; this.#read < events.length; this.#read++) {
      const event = events[this.#read];
      if (event?.kind === 'node-state') this.#note(event.kind, event.subject, event.details, event.at);
    }
  }

  #note(kind: string, subject: string, details: CloudEvent['details'], wall = this.now): void {
    this.events.push({ seq: this.events.length + 1, wall, kind, subject, details });
  }
}

const isEnded = (operation: Operation | undefined): boolean =>
  operation?.error !== undefined || operation?.result !== undefined;
