import { RehearsalClock } from '../clock.js';
import type { JsonObject } from '../json.js';
import { Random } from '../random.js';
import { TpuCloud } from '../tpu/cloud.js';
import type { NodeRecord, Operation, QueuedResourceRecord } from '../tpu/model.js';
import type { Settings } from '../tpu/settings.js';
import { DEFAULT_SETTINGS } from '../tpu/settings.js';
import { emptyState } from '../tpu/state.js';

export const ZONE = 'us-central1-a';
export const PARENT = `projects/p/locations/${ZONE}`;

export interface RecordedEvent {
  readonly at: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** When the story begins, epoch ms. */
export const START = 1_700_000_000_000;

/**
 * The state machine alone: a frozen clock that the test steps, no wire, no process; VMs boot at once unless `isBooting`
 * says otherwise.
 */
export class PureCloud {
  readonly cloud: TpuCloud;
  readonly clock: RehearsalClock;
  readonly events: RecordedEvent[] = [];
  isBooting = true;

  constructor(settings: Partial<Settings> = {}, seed = 1) {
    const state = emptyState({ ...DEFAULT_SETTINGS, ...settings }, { seed, wallNow: START });
    state.clock.frozen = true;
    this.clock = new RehearsalClock(state.clock, () => START);
    this.cloud = new TpuCloud(state, {
      now: () => this.clock.now(),
      atInstant: (instant, run) => this.clock.atInstant(instant, run),
      random: new Random(state.random),
      subnetOctet: 77,
      record: (kind, subject, details) => {
        this.events.push({ at: this.clock.now(), kind, subject, details: structuredClone(details) });
      },
    });
  }

  /** Moves the clock on and does what is due, VMs included. */
  step(ms = 0): this {
    this.clock.step(ms);
    this.cloud.lifecycle.advance();
    if (this.isBooting) this.boot();
    return this;
  }

  /** Every VM answers. */
  boot(): this {
    for (const { resource, isBooted } of Object.values(this.cloud.state.nodes)) {
      if (!isBooted) this.cloud.markBooted(resource.name, resource.id);
    }
    this.cloud.lifecycle.advance();
    return this;
  }

  /** @param more of the queued resource; `node` of its node, `count` of nodes. */
  queue(
    id: string,
    { node = {}, count = 1, ...more }: JsonObject & { node?: JsonObject; count?: number } = {},
  ): Operation {
    const which = count > 1 ? { multisliceParams: { nodeCount: count } } : { nodeId: id };
    const tpu = { nodeSpec: [{ parent: PARENT, ...which, node: { ...nodeBody(), ...node } }] };
    return this.cloud.createQueuedResource(PARENT, id, { spot: {}, tpu, ...more });
  }

  create(id: string, node: JsonObject = {}): Operation {
    return this.cloud.createNode(PARENT, id, { ...nodeBody(), ...node });
  }

  /** Goes on until nothing more comes by time alone: an hour of it at most. */
  settle(): this {
    for (let minutes = 0; minutes < 60; minutes += 1) this.step(60_000);
    return this;
  }

  request(id: string): QueuedResourceRecord | undefined {
    return this.cloud.state.queuedResources[`${PARENT}/queuedResources/${id}`];
  }

  node(id: string): NodeRecord {
    const node = this.cloud.state.nodes[`${PARENT}/nodes/${id}`];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }

  stateOf(id: string): string {
    return this.request(id)?.resource.state.state ?? 'gone';
  }

  nodeState(id: string): string {
    return this.cloud.state.nodes[`${PARENT}/nodes/${id}`]?.resource.state ?? 'gone';
  }

  /** How it ended: `open`, `ok` or its error. */
  outcome({ name }: Operation): string {
    const { error, result } = this.cloud.state.operations[name] ?? {};
    return error === undefined ? (result === undefined ? 'open' : 'ok') : `${error.code} ${error.message}`;
  }
}

export function nodeBody(): JsonObject {
  return { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };
}

export function nodeName(id: string): string {
  return `${PARENT}/nodes/${id}`;
}

export function requestName(id: string): string {
  return `${PARENT}/queuedResources/${id}`;
}
