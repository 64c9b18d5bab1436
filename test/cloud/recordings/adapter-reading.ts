import { createCloudTpu } from '../../../cloud/machines/cloud-tpu/google-tpu.js';
import { pathParts } from '../../../cloud/machines/cloud-tpu/observation.js';
import { labelsOf } from '../../../domain/identity.js';
import type { Condition, CreateAnswer } from '../../../domain/slice.js';
import type { AllocationMode, CloudTpuRef } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import type { JsonObject, JsonValue } from '../../../rehearsal/json.js';
import { asString, isObject } from '../../../rehearsal/json.js';
import { ApiError, apiErrors, type ErrorDetail, findStatus } from '../../../rehearsal/tpu/api-error.js';
import { type GrpcServer, startGrpcServer } from '../../../rehearsal/tpu/grpc-server.js';
import { ownership, slicePlan } from '../cloud-tpu-plan.js';
import type { RecordedCall } from './recorded-call.js';

/** A server that gives recorded answers, and the real adapter in front of it: bytes, trailers and all. */
export class RecordedCloud {
  #server: GrpcServer | undefined;
  #adapter: ReturnType<typeof createCloudTpu> | undefined;
  /** By RPC. What is not here does not exist. */
  #answers: Readonly<Record<string, () => JsonObject>> = {};

  async start(): Promise<void> {
    const gateway = async (_via: unknown, method: string) =>
      ({ kind: 'message', message: this.#answer(method) }) as const;
    this.#server = await startGrpcServer(gateway, 0, { hostNames: [] });
    const endpoint = { host: '127.0.0.1', port: this.#server.port, insecure: true };
    this.#adapter = createCloudTpu({ endpoint, budget: { callsPerSecond: 10_000, burst: 10_000 } });
  }

  async stop(): Promise<void> {
    await this.#adapter?.close();
    this.#server?.close();
  }

  /** What the adapter makes of the answer, in one line; undefined where it makes no such call. */
  async reading(call: RecordedCall): Promise<string | undefined> {
    const read = READERS[call.method];
    if (read === undefined || this.#adapter === undefined) return undefined;
    this.#answers = { ...read.before?.(call), [call.method]: () => answered(call) };
    return read.read(this.#adapter, call).catch((error: Error) => error.name);
  }

  #answer(method: string): JsonObject {
    const answer = this.#answers[method];
    if (answer !== undefined) return answer();
    if (method.startsWith('List')) return {};
    throw apiErrors.notFound(`of a recording that says nothing of ${method}`);
  }
}

function answered({ code, answer }: RecordedCall): JsonObject {
  if (code === 0) return withOwnLabels(answer);
  const details = (answer['details'] ?? []) as unknown as readonly ErrorDetail[];
  throw new ApiError(findStatus(code) ?? 'UNKNOWN', asString(answer['message']), undefined, details);
}

type Adapter = ReturnType<typeof createCloudTpu>;
interface Reader {
  readonly read: (adapter: Adapter, call: RecordedCall) => Promise<string>;
  /** Other answers that the adapter's call needs. */
  readonly before?: (call: RecordedCall) => Readonly<Record<string, () => JsonObject>>;
}

const OWN_LABELS = labelsOf(ownership());

const READERS: Readonly<Record<string, Reader>> = {
  GetQueuedResource: { read: (adapter, call) => looked(adapter, call, 'queued-resources') },
  GetNode: { read: (adapter, call) => looked(adapter, call, 'tpu-vm') },
  ListNodes: { read: listed },
  ListQueuedResources: { read: listed },
  CreateQueuedResource: { read: (adapter, call) => created(adapter, call, 'queued-resources') },
  CreateNode: { read: (adapter, call) => created(adapter, call, 'tpu-vm') },
  DeleteQueuedResource: {
    read: (adapter, call) => removed(adapter, call, 'queued-resources'),
    before: ({ request }) => ({
      GetQueuedResource: () => ({
        name: request['name'] ?? '',
        state: { state: 'ACTIVE' },
        tpu: { nodeSpec: [{ node: { labels: OWN_LABELS } }] },
      }),
    }),
  },
  DeleteNode: {
    read: (adapter, call) => removed(adapter, call, 'tpu-vm'),
    before: ({ request }) => ({ GetNode: () => ({ name: request['name'] ?? '', state: 'READY', labels: OWN_LABELS }) }),
  },
  GetOperation: {
    read: async (adapter, { request, answer }) => {
      const operation = asString(request['name']);
      if (answer['error'] === undefined) return adapter.removal(operation);
      const { ref } = slicePlan('recorded', 'queued-resources');
      return conditionText(await adapter.observe({ ref, ownership: ownership(), operation }));
    },
  },
};

function refOf(name: string, mode: AllocationMode): CloudTpuRef {
  return { kind: 'cloud-tpu', mode, ...pathParts(name) };
}

async function looked(adapter: Adapter, { request }: RecordedCall, mode: AllocationMode): Promise<string> {
  return conditionText(await adapter.observe({ ref: refOf(asString(request['name']), mode), ownership: ownership() }));
}

async function listed(adapter: Adapter, { request }: RecordedCall): Promise<string> {
  const [, project = ''] = asString(request['parent']).split('/');
  return `${(await adapter.listOwned(project, ownership().owner)).length} owned`;
}

async function created(adapter: Adapter, _call: RecordedCall, mode: AllocationMode): Promise<string> {
  const answer: CreateAnswer = await adapter.create(slicePlan('recorded', mode));
  return answer.kind === 'refused' ? `refused (${answer.scope})` : answer.kind;
}

async function removed(adapter: Adapter, { request }: RecordedCall, mode: AllocationMode): Promise<string> {
  return (await adapter.remove(refOf(asString(request['name']), mode), ownership())).kind;
}

function conditionText(condition: Condition): string {
  switch (condition.kind) {
    case 'lost':
      return `lost (${condition.cause}${condition.cause === 'refused' ? `, ${condition.scope}` : ''})`;
    case 'ready':
      return `ready (${condition.hosts.length} hosts${condition.warning === undefined ? '' : `, ${condition.warning}`})`;
    case 'missing':
      return condition.isRequestLeft ? 'missing, the request is left' : 'missing';
    default:
      return condition.kind;
  }
}

/** Somebody else's slice is foreign and read no further: each node of an answer gets the labels of our job. */
function withOwnLabels(value: JsonObject): JsonObject {
  const fields = Object.entries(value).map(([key, child]) => [key, labelled(child)] as const);
  const isNode = 'acceleratorType' in value || 'acceleratorConfig' in value;
  return Object.fromEntries(isNode ? [...fields, ['labels', OWN_LABELS] as const] : fields);
}

function labelled(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item: JsonValue) => labelled(item) ?? null);
  return isObject(value) ? withOwnLabels(value) : value;
}
