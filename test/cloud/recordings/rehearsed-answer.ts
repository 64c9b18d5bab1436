import type { JsonObject, JsonValue } from '../../../rehearsal/json.js';
import { asObject, asString } from '../../../rehearsal/json.js';
import { lastSegment, parentOf } from '../../../rehearsal/tpu/resource-name.js';
import type { Settings } from '../../../rehearsal/tpu/settings.js';
import { SteppedRehearsal } from '../../../rehearsal/test/stepped-rehearsal.js';
import type { RecordedCall } from './recorded-call.js';

export type Rehearsed = { readonly code: number; readonly answer: JsonObject } | { readonly stuck: string };

/** Each phase lasts a second of the cloud's clock, so that a step is a phase. */
const SECOND_EACH: Partial<Settings> = {
  ...{ creatingMs: 1000, queueMs: 1000, provisioningMs: 1000, suspendingMs: 1000, deletingMs: 1000 },
};
const MOST_STEPS = 12;

/** A rehearsal that is brought to what a recording shows, and asked the same. One for all exchanges of one slice's life. */
export class RehearsedStory {
  readonly #cloud: SteppedRehearsal;
  /** Names of operations: the recorded one, and the rehearsal's. */
  readonly #operations = new Map<string, string>();
  #hasDeleted = false;

  constructor(folder: string) {
    this.#cloud = new SteppedRehearsal(folder, { settings: SECOND_EACH });
  }

  async answer(call: RecordedCall): Promise<Rehearsed> {
    for (const { verb, body } of call.file.stage ?? []) this.#admin(verb, body);
    const stuck = await this.#bringTo(call);
    if (stuck !== undefined) return { stuck };
    const given = await this.#cloud.exchange(call.method, this.#renamed(call.request));
    this.#hasDeleted ||= call.method.startsWith('Delete');
    const [recorded, own] = [call.answer['name'], given.answer['name']];
    if (asString(recorded).includes('/operations/')) this.#operations.set(asString(recorded), asString(own));
    return given;
  }

  #admin(verb: string, body: object): void {
    const { status, text } = this.#cloud.admin(verb, body);
    if (status !== 200) throw new Error(`/admin/${verb} ${JSON.stringify(body)}: ${status} ${text}`);
  }

  #renamed(request: JsonObject): JsonObject {
    const name = this.#operations.get(asString(request['name']));
    return name === undefined ? request : { ...request, name };
  }

  /** @returns why the rehearsal cannot say what was recorded */
  async #bringTo({ method, request, code, answer, file }: RecordedCall): Promise<string | undefined> {
    const list = (name: string): readonly JsonObject[] => (answer[name] ?? []) as unknown as readonly JsonObject[];
    if (code === 6 && method.startsWith('Create')) return this.#twice(method, request);
    if (code === 5 && method.startsWith('Get')) return this.#untilGone(method, request);
    if (code === 9 && method === 'DeleteQueuedResource') return this.#inStateOf(asString(answer['message']), request);
    if (code !== 0) return undefined;
    switch (method) {
      case 'GetQueuedResource':
        return this.#bringRequest(answer, file.from);
      case 'GetNode':
        return this.#bringNode(answer);
      case 'GetOperation':
        return this.#bringOperation(answer);
      case 'ListQueuedResources':
      case 'ListNodes': {
        const zones = list('unreachable').map((name) => lastSegment(String(name)));
        if (zones.length > 0) this.#admin('configure', { unreachableZones: zones });
        const brought: (string | undefined)[] = [];
        for (const request of list('queuedResources')) brought.push(await this.#bringRequest(request));
        for (const node of list('nodes')) brought.push(await this.#bringNode(node));
        return brought.find((stuck) => stuck !== undefined);
      }
      default:
        return undefined;
    }
  }

  async #twice(method: string, request: JsonObject): Promise<undefined> {
    await this.#cloud.exchange(method, request);
    return undefined;
  }

  /** The request is in the state in which its deletion is refused. */
  #inStateOf(refusal: string, { name = '' }: JsonObject): Promise<string | undefined> {
    const [, state = ''] = /state is ([A-Z_]+)/.exec(refusal) ?? [];
    const parent = parentOf(asString(name));
    const tpu = { nodeSpec: [{ parent, nodeId: lastSegment(asString(name)), node: NODE }] };
    return this.#bringRequest({ name, tpu, spot: {}, state: { state } });
  }

  async #untilGone(method: string, request: JsonObject): Promise<string | undefined> {
    // Before a deletion it is simply not there yet.
    for (let steps = 0; this.#hasDeleted && steps < MOST_STEPS; steps++) {
      if ((await this.#cloud.exchange(method, request)).code === 5) return undefined;
      this.#cloud.step(1000);
    }
    return undefined;
  }

  /** @param from the state in which the service gave it up, where that is known */
  async #bringRequest(resource: JsonObject, from?: string): Promise<string | undefined> {
    const name = asString(resource['name']);
    const state = asObject(resource['state']);
    const wanted = asString(state['state']);
    if (wanted === 'ACCEPTED') this.#admin('configure', { queuedState: 'ACCEPTED' });
    await this.#ensure('GetQueuedResource', name, 'CreateQueuedResource', () => ({
      ...{ parent: parentOf(name), queuedResourceId: lastSegment(name) },
      queuedResource: without(resource, ['name', 'state', 'createTime']),
    }));
    const seen = (): Promise<string> => this.#stateOf('GetQueuedResource', name);
    if (wanted === 'FAILED' || from !== undefined) {
      await this.#step(seen, from === undefined ? ['WAITING_FOR_RESOURCES', 'PROVISIONING', 'FAILED'] : [from, wanted]);
      const { code = 13, message } = asObject(asObject(state['failedData'])['error']);
      if ((await seen()) !== wanted)
        this.#admin('fail-request', { name, code, ...(message !== undefined && { message }) });
    } else if (wanted === 'SUSPENDING' || wanted === 'SUSPENDED') await this.#suspend(name, seen);
    return this.#step(seen, [wanted]);
  }

  /** Its node is taken, once it has one. */
  async #suspend(name: string, seen: () => Promise<string>): Promise<void> {
    if ((await seen()).startsWith('SUSPEND')) return;
    await this.#step(seen, ['ACTIVE', 'SUSPENDING', 'SUSPENDED']);
    this.#admin('preempt', { name });
  }

  async #bringNode(node: JsonObject): Promise<string | undefined> {
    const name = asString(node['name']);
    const wanted = asString(node['state']);
    await this.#ensureNode(name, asString(node['queuedResource']), without(node, OUTPUTS_OF_NODE));
    const seen = (): Promise<string> => this.#stateOf('GetNode', name);
    if (wanted === 'PREEMPTED') {
      await this.#step(seen, ['READY', 'PREEMPTED']);
      if ((await seen()) === 'READY') this.#admin('preempt', { name });
    }
    return this.#step(seen, [wanted]);
  }

  /** By itself, or by its queued resource. */
  #ensureNode(name: string, queuedResource: string, node: JsonObject): Promise<void> {
    const [parent, nodeId] = [parentOf(name), lastSegment(name)];
    if (queuedResource === '') return this.#ensure('GetNode', name, 'CreateNode', () => ({ parent, nodeId, node }));
    const { schedulingConfig, ...spec } = node;
    const tier = asObject(schedulingConfig)['spot'] === true ? { spot: {} } : {};
    const request = { tpu: { nodeSpec: [{ parent, nodeId, node: spec }] }, ...tier };
    return this.#ensure('GetQueuedResource', queuedResource, 'CreateQueuedResource', () => ({
      ...{ parent, queuedResourceId: lastSegment(queuedResource), queuedResource: request },
    }));
  }

  /** Of a story: the operation that a call of it began. Else one that comes to what was recorded. */
  async #bringOperation(answer: JsonObject): Promise<string | undefined> {
    const recorded = asString(answer['name']);
    const { code, message } = asObject(answer['error']);
    if (!this.#operations.has(recorded)) {
      const target = asString(asObject(answer['metadata'])['target']);
      const parent = parentOf(target);
      if (code !== undefined)
        this.#admin('refuse', { method: 'CreateQueuedResource', code, message, as: 'operation', times: 1 });
      const tpu = { nodeSpec: [{ parent, nodeId: lastSegment(target), node: NODE }] };
      const request = { parent, queuedResourceId: lastSegment(target), queuedResource: { tpu, spot: {} } };
      const { answer: begun } = await this.#cloud.exchange('CreateQueuedResource', request);
      this.#operations.set(recorded, asString(begun['name']));
    }
    const name = this.#operations.get(recorded) ?? '';
    const seen = async (): Promise<string> =>
      String((await this.#cloud.exchange('GetOperation', { name })).answer['done'] ?? false);
    return this.#step(seen, [String(answer['done'] ?? false)]);
  }

  async #ensure(get: string, name: string, create: string, request: () => JsonObject): Promise<void> {
    if ((await this.#cloud.exchange(get, { name })).code !== 5) return;
    const made = await this.#cloud.exchange(create, request());
    if (made.code !== 0) throw new Error(`the rehearsal refuses ${name}: ${String(made.answer['message'])}`);
  }

  async #stateOf(method: string, name: string): Promise<string> {
    const { answer } = await this.#cloud.exchange(method, { name });
    return asString(method === 'GetNode' ? answer['state'] : asObject(answer['state'])['state']);
  }

  /** Moves the clock on, a phase at a time, until the state is one of `wanted`. @returns why it does not come to that */
  async #step(seen: () => Promise<string>, wanted: readonly string[]): Promise<string | undefined> {
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      if (wanted.includes(await seen())) return undefined;
      this.#cloud.step(1000);
    }
    return `stays ${(await seen()) || 'not there'}, and was recorded as ${wanted.join(' or ')}`;
  }
}

const NODE = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };
/** What a service writes, in the order of the protos; of a node alone, whose queued resource is not recorded. */
const OUTPUTS_OF_NODE = [
  ...['name', 'state', 'healthDescription', 'createTime', 'networkEndpoints', 'health', 'id', 'apiVersion', 'symptoms'],
  ...['queuedResource', 'multisliceNode', 'acceleratorConfig'],
];

function without(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !names.includes(key))) as Readonly<
    Record<string, JsonValue>
  >;
}
