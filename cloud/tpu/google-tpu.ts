import { ownershipFrom } from '../../domain/identity.js';
import type { Ownership, SliceObservation, SlicePlan, SliceRef } from '../../domain/slice.js';
import { apiErrorOf, classifyCreateError, classifyDeleteError, Code } from './classify-error.js';
import {
  createNodeRequest,
  createQueuedResourceRequest,
  nodePath,
  queuedResourcePath,
  zonePath,
} from './create-request.js';
import { guestFacts } from './guest-facts.js';
import {
  observedNode,
  observedQueuedResource,
  pathParts,
  type ApiNode,
  type ApiQueuedResource,
} from './observation.js';
import {
  CloudRefused,
  CloudUnavailable,
  type CreateAnswer,
  type DeleteAnswer,
  type GuestAttributes,
  type GuestAttributesPort,
  type OwnedResource,
  type TpuPort,
} from './port.js';
import { CallFailed, TpuApi, type ApiSettings } from './tpu-api.js';
import { TpuConnection, type TpuEndpoint } from './tpu-connection.js';
import { DEFAULT_LISTING_PERIODS, ZoneLister, type ListingPeriods, type ZoneListing } from './zone-lister.js';

export interface TpuPortOptions extends Partial<ApiSettings> {
  /** Absent: Google's own address, with the application default credentials. */
  readonly endpoint?: TpuEndpoint;
  readonly periods?: ListingPeriods;
}

export const DEFAULT_API_SETTINGS: ApiSettings = {
  budget: { callsPerSecond: 5, burst: 20 },
  callTimeoutMs: 30_000,
  pageSize: 500,
};

/** The Cloud TPU API through Google's own v2 client. Connects at the first call. */
export function createTpuPort(options: TpuPortOptions = {}): TpuPort & GuestAttributesPort {
  return new GoogleTpu(options);
}

class GoogleTpu implements TpuPort, GuestAttributesPort {
  readonly #connection: TpuConnection;
  readonly #api: TpuApi;
  readonly #periods: ListingPeriods;
  /** By `projects/P/locations/ZONE`. */
  readonly #listers = new Map<string, ZoneLister>();
  #isClosed = false;

  constructor(options: TpuPortOptions) {
    this.#connection = new TpuConnection(options.endpoint);
    this.#api = new TpuApi(this.#connection, { ...DEFAULT_API_SETTINGS, ...options });
    this.#periods = options.periods ?? DEFAULT_LISTING_PERIODS;
  }

  async createSlice(plan: SlicePlan): Promise<CreateAnswer> {
    try {
      const { name, error } = await this.#create(plan);
      if (error) return classifyCreateError(error);
      return { kind: 'accepted', ...(name !== undefined && { operation: name }) };
    } catch (error) {
      // Ownership or labels that cannot be sent: nothing was.
      if (error instanceof RangeError) return { kind: 'refused', reason: 'bad-request', message: error.message };
      return classifyCreateError(failureOf(error));
    }
  }

  async #create(plan: SlicePlan) {
    return plan.ref.mode === 'tpu-vm'
      ? this.#api.createNode(createNodeRequest(plan))
      : this.#api.createQueuedResource(createQueuedResourceRequest(plan));
  }

  async observeSlice(ref: SliceRef, operation?: string): Promise<SliceObservation> {
    const at = Date.now();
    const isQueued = ref.mode === 'queued-resources';
    const [queuedResource, node] = await Promise.all([
      isQueued ? this.#api.getQueuedResource(queuedResourcePath(ref)) : undefined,
      this.#api.getNode(nodePath(ref)),
    ]);
    return this.#explain(operation, ref, {
      at,
      queuedResource: isQueued ? (queuedResource ? observedQueuedResource(queuedResource) : 'not-found') : 'unused',
      node: node ? observedNode(node) : 'not-found',
    });
  }

  async watchSlice(
    ref: SliceRef,
    options: { readonly isUrgent: boolean; readonly signal: AbortSignal; readonly operation?: string },
  ): Promise<SliceObservation> {
    const isQueued = ref.mode === 'queued-resources';
    const { isUrgent, signal, operation } = options;
    const listing = await this.#listerOf(ref).next({ isUrgent, signal, needsQueuedResources: isQueued });
    return this.#explain(operation, ref, {
      at: listing.at,
      queuedResource: isQueued ? (listing.queuedResources.get(ref.name) ?? 'not-found') : 'unused',
      node: listing.nodes.get(ref.name) ?? 'not-found',
    });
  }

  /** Adds the create operation's end where what it should have made is not there; no call where it is. */
  async #explain(operation: string | undefined, ref: SliceRef, seen: SliceObservation): Promise<SliceObservation> {
    const made = ref.mode === 'queued-resources' ? seen.queuedResource : seen.node;
    if (operation === undefined || made !== 'not-found') return seen;
    const found = await this.#api.getOperation(operation).catch((error: unknown) => {
      // Who may not read operations still sees the resources: only the reason is missing.
      if (error instanceof CloudRefused) return undefined;
      throw error;
    });
    if (found === undefined) return seen;
    const { code, message } = found.error ?? {};
    const error = found.error ? { error: { code: code ?? Code.Unknown, message: message ?? '' } } : {};
    return { ...seen, operation: { isDone: found.done === true, ...error } };
  }

  #listerOf({ googleProject, zone }: SliceRef): ZoneLister {
    if (this.#isClosed) throw new CloudUnavailable('the TPU client was closed');
    const parent = zonePath(googleProject, zone);
    const lister =
      this.#listers.get(parent) ?? new ZoneLister((withQueued) => this.#listZone(parent, withQueued), this.#periods);
    this.#listers.set(parent, lister);
    return lister;
  }

  async #listZone(parent: string, withQueuedResources: boolean): Promise<ZoneListing> {
    const at = Date.now();
    const [nodes, queuedResources] = await Promise.all([
      this.#api.listNodes(parent),
      withQueuedResources ? this.#api.listQueuedResources(parent) : [],
    ]);
    return {
      at,
      nodes: new Map(nodes.map((node) => [pathParts(node.name).name, observedNode(node)])),
      queuedResources: new Map(
        queuedResources.map((queued) => [pathParts(queued.name).name, observedQueuedResource(queued)]),
      ),
    };
  }

  async deleteSlice(ref: SliceRef, ownership?: Ownership): Promise<DeleteAnswer> {
    try {
      const foreign = ownership && foreignPart(await this.observeSlice(ref), ownership);
      if (foreign)
        return {
          kind: 'refused',
          message: `${ref.name}: its ${foreign} is not of owner ${ownership.owner}, job ${ownership.job}, run ${ownership.run}`,
        };
    } catch (error) {
      const kind = error instanceof CloudUnavailable ? 'unanswered' : 'refused';
      return { kind, message: error instanceof Error ? error.message : String(error) };
    }
    // A node may outlive its queued resource (deleted by hand, or half a forced delete): then it is deleted by itself.
    if (ref.mode === 'queued-resources') {
      const answer = await answerOfDelete(() => this.#api.deleteQueuedResource(queuedResourcePath(ref)));
      if (answer.kind !== 'gone') return answer;
    }
    return answerOfDelete(() => this.#api.deleteNode(nodePath(ref)));
  }

  async listOwned(googleProject: string, owner: string): Promise<readonly OwnedResource[]> {
    const everywhere = zonePath(googleProject, '-');
    const [nodes, queuedResources] = await Promise.all([
      this.#api.listNodes(everywhere),
      this.#api.listQueuedResources(everywhere),
    ]);
    const all = [...queuedResources.map(ownedQueuedResource), ...nodes.map(ownedNode)];
    return all.filter((resource): resource is OwnedResource => resource?.ownership.owner === owner);
  }

  async readGuestAttributes(ref: SliceRef): Promise<GuestAttributes> {
    try {
      const answered = await this.#api.getGuestAttributes(nodePath(ref));
      return { kind: 'read', hosts: (answered ?? []).map(guestFacts) };
    } catch (error) {
      if (error instanceof CloudRefused) return { kind: 'disabled', message: error.message };
      throw error;
    }
  }

  async readNodeMetadata(ref: SliceRef): Promise<Readonly<Record<string, string>>> {
    return (await this.#api.getNode(nodePath(ref)))?.metadata ?? {};
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lister of this.#listers.values()) lister.close();
    await this.#connection.close();
  }
}

const failureOf = (error: unknown) => (error instanceof CallFailed ? error.error : apiErrorOf(error));

async function answerOfDelete(call: () => Promise<void>): Promise<DeleteAnswer> {
  try {
    await call();
    return { kind: 'accepted' };
  } catch (error) {
    const answer = classifyDeleteError(failureOf(error));
    return answer.kind === 'deleting' ? { kind: 'accepted' } : answer;
  }
}

/** The part of the slice that is there and not of this owner, job and run. Generation and spec are no matter: the name is. */
function foreignPart(seen: SliceObservation, wanted: Ownership): 'queued resource' | 'node' | undefined {
  const isForeign = (part: SliceObservation['node'] | SliceObservation['queuedResource']): boolean => {
    if (typeof part === 'string') return false;
    const found = part.ownership;
    return found?.owner !== wanted.owner || found.job !== wanted.job || found.run !== wanted.run;
  };
  if (isForeign(seen.queuedResource)) return 'queued resource';
  return isForeign(seen.node) ? 'node' : undefined;
}

function ownedQueuedResource(resource: ApiQueuedResource): OwnedResource | undefined {
  const { state, ownership } = observedQueuedResource(resource);
  const ref = { ...pathParts(resource.name), mode: 'queued-resources' } as const;
  return ownership && { kind: 'queued-resource', ref, ownership, state };
}

/** A node of a queued resource is a slice of that mode: it is deleted through its queued resource. */
function ownedNode(node: ApiNode): OwnedResource | undefined {
  const ownership = ownershipFrom(node.labels);
  const mode = node.queuedResource ? 'queued-resources' : 'tpu-vm';
  const ref = { ...pathParts(node.name), mode } as const;
  return ownership && { kind: 'node', ref, ownership, state: observedNode(node).state };
}
