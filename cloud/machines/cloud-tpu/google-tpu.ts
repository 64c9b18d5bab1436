import { messageOf } from '../../../domain/errors.js';
import { nodeRefs } from '../../../domain/machine-kinds/cloud-tpu/plan.js';
import type { CloudTpuPlan, CloudTpuRef } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import { requestNameOf } from '../../../domain/machines.js';
import type { Condition, CreateAnswer, Owner } from '../../../domain/slice.js';
import {
  type Claim,
  CloudRefused,
  CloudUnavailable,
  type GuestAttributes,
  type GuestAttributesPort,
  type Machines,
  type OnMissing,
  type OwnedResource,
  type RemoveAnswer,
  type WatchOptions,
} from '../port.js';
import { DEFAULT_LISTING_PERIODS, type ListingPeriods, SharedLister } from '../api-load.js';
import { apiErrorOf, Code, classifyCreateError, classifyDeleteError, failedCreate } from './classify-error.js';
import { adoptedCondition, type AdoptedHosts, AdoptedNodes } from './adopted-nodes.js';
import { conditionOfAll, type Observation, type Observations } from './condition.js';
import {
  createAlphaRequest,
  createNodeRequest,
  createQueuedResourceRequest,
  nodePath,
  queuedResourcePath,
  zonePath,
} from './create-request.js';
import { guestFacts } from './guest-attributes.js';
import {
  observedNode,
  observedQueuedResource,
  pathParts,
  ownedIn,
  type ObservedNode,
  type ObservedQueuedResource,
} from './observation.js';
import { type ApiSettings, CallFailed, type StartedOperation, TpuApi } from './tpu-api.js';
import { TpuConnection, type TpuEndpoint } from './tpu-connection.js';

export interface CloudTpuOptions extends Partial<ApiSettings> {
  /** Absent: Google's own address, with the application default credentials. */
  readonly endpoint?: TpuEndpoint;
  readonly periods?: ListingPeriods;
  /** Called at the first adoption. Absent: nothing is adopted here. */
  readonly adoptedHosts?: () => AdoptedHosts;
}

export const DEFAULT_API_SETTINGS: ApiSettings = {
  budget: { callsPerSecond: 5, burst: 20 },
  callTimeoutMs: 30_000,
  pageSize: 1000,
};

/** The Cloud TPU API through Google's own v2 client. Connects at the first call. */
export function createCloudTpu(options: CloudTpuOptions = {}): CloudTpuMachines {
  return new GoogleTpu(options);
}

export type CloudTpuMachines = Machines<'cloud-tpu'> & GuestAttributesPort;

class GoogleTpu implements CloudTpuMachines {
  readonly #connection: TpuConnection;
  readonly #api: TpuApi;
  readonly #adopted: AdoptedNodes;
  readonly #periods: ListingPeriods;
  /** Keyed by `projects/P/locations/ZONE`. */
  readonly #listers = new Map<string, ZoneLister>();
  #isClosed = false;

  constructor(options: CloudTpuOptions) {
    this.#connection = new TpuConnection(options.endpoint);
    this.#api = new TpuApi(this.#connection, { ...DEFAULT_API_SETTINGS, ...options });
    this.#adopted = new AdoptedNodes(this.#api, options.adoptedHosts);
    this.#periods = options.periods ?? DEFAULT_LISTING_PERIODS;
  }

  async create(plan: CloudTpuPlan): Promise<CreateAnswer> {
    if (plan.ref.adopts !== undefined) return this.#adopted.take(plan);
    try {
      const { name, error } = await this.#callCreate(plan);
      if (error) return failedCreate(error);
      return { kind: 'accepted', ...(name !== undefined && { operation: name }) };
    } catch (error) {
      // The ownership or the labels do not fit into a request: nothing was sent.
      if (error instanceof RangeError) return { kind: 'refused', scope: 'request', message: error.message };
      return classifyCreateError(failureOf(error));
    }
  }

  async #callCreate(plan: CloudTpuPlan) {
    const alpha = createAlphaRequest(plan);
    if (alpha !== undefined) return this.#api.createAlphaQueuedResource(alpha);
    return plan.ref.mode === 'tpu-vm'
      ? this.#api.createNode(createNodeRequest(plan))
      : this.#api.createQueuedResource(createQueuedResourceRequest(plan));
  }

  async observe({ ref, ownership, operation }: Claim<CloudTpuRef>): Promise<Condition> {
    if (ref.adopts !== undefined) return adoptedCondition(ref, ownership, await this.#lookAtNode(ref));
    return conditionOfAll(await this.#look(ref, operation), ownership);
  }

  /**
   * Makes a call for the queued resource and one for each node. Reads several nodes only if the queued resource says too little.
   */
  async #look(ref: CloudTpuRef, operation?: string): Promise<Observations> {
    const at = Date.now();
    const request = this.#lookAtRequest(ref);
    const nodesOf = async (seen?: Observation['queuedResource']): Promise<Looked['nodes']> =>
      saysAll(seen)
        ? nodeRefs(ref).map(() => 'not-found')
        : Promise.all(nodeRefs(ref).map((node) => this.#lookAtNode(node)));
    const [queuedResource, nodes] = await Promise.all([
      request,
      ref.slices === undefined ? nodesOf() : request.then(nodesOf),
    ]);
    return this.#explain(operation, ref, { at, queuedResource, nodes });
  }

  async #lookAtRequest(ref: CloudTpuRef): Promise<Observation['queuedResource']> {
    if (ref.mode === 'tpu-vm') return 'unused';
    const found = await this.#api.getQueuedResource(queuedResourcePath(ref));
    return found ? observedQueuedResource(found) : 'not-found';
  }

  async #lookAtNode(ref: CloudTpuRef): Promise<Observation['node']> {
    const found = await this.#api.getNode(nodePath(ref));
    return found ? observedNode(found) : 'not-found';
  }

  async watch(
    { ref, ownership, operation }: Claim<CloudTpuRef>,
    { isUrgent, signal }: WatchOptions,
  ): Promise<Condition> {
    const isQueued = ref.mode === 'queued-resources';
    const listing = await this.#listerOf(ref).next({ isUrgent, signal, needsQueuedResources: isQueued });
    if (ref.adopts !== undefined) return adoptedCondition(ref, ownership, listing.nodes.get(ref.adopts) ?? 'not-found');
    const seen = await this.#explain(operation, ref, {
      at: listing.at,
      queuedResource: isQueued ? (listing.queuedResources.get(requestNameOf(ref)) ?? 'not-found') : 'unused',
      nodes: nodeRefs(ref).map(({ name }) => listing.nodes.get(name) ?? 'not-found'),
    });
    return conditionOfAll(seen, ownership);
  }

  /** Makes one observation per node. Reads the create operation only if its resource does not exist. */
  async #explain(operation: string | undefined, ref: CloudTpuRef, looked: Looked): Promise<Observations> {
    const { at, queuedResource, nodes } = looked;
    const seen = nodes.map((node): Observation => ({ at, queuedResource, node })) as unknown as Observations;
    const made = ref.mode === 'queued-resources' ? queuedResource : seen[0].node;
    if (operation === undefined || made !== 'not-found') return seen;
    const found = await this.#api.getOperation(operation).catch((error: unknown) => {
      // An account that may not read operations still sees the resources: only the reason is missing.
      if (error instanceof CloudRefused) return undefined;
      throw error;
    });
    if (found === undefined) return seen;
    const { code, message } = found.error ?? {};
    const error = found.error ? { error: { code: code ?? Code.Unknown, message: message ?? '' } } : {};
    const ended = { operation: { isDone: found.done === true, ...error } };
    return seen.map((each) => ({ ...each, ...ended })) as unknown as Observations;
  }

  #listerOf({ googleProject, zone }: CloudTpuRef): ZoneLister {
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

  /**
   * Deletes only parts that the same call's reading has shown to be the owner's, each part separately. The API has no etag or
   * precondition on deletes, so a resource made under the name between reading and delete cannot be told apart (docs/adr/0044). A
   * resource that is being deleted is not deleted again.
   */
  async remove(ref: CloudTpuRef, { owner, job, run }: Owner): Promise<RemoveAnswer> {
    if (ref.adopts !== undefined) return this.#adopted.giveBack(ref, { owner, job, run });
    let seen: Observations;
    try {
      seen = await this.#look(ref);
    } catch (error) {
      const kind = error instanceof CloudUnavailable ? 'unanswered' : 'refused';
      return { kind, message: messageOf(error) };
    }
    const foreign = foreignPart(seen, { owner, job, run });
    const [{ queuedResource }] = seen;
    if (foreign === undefined && typeof queuedResource === 'object') {
      if (queuedResource.state === 'DELETING') return IN_DELETION;
      const answer = await answerOfDelete(() => this.#api.deleteQueuedResource(queuedResourcePath(ref)));
      if (answer.kind !== 'gone') return answer;
    }
    // A node may outlive its queued resource (deleted by hand, or a forced delete that did half): then it is deleted separately.
    // The same is done if another node of the request is foreign, because it is undocumented which nodes a forced delete takes.
    const left = nodeRefs(ref).flatMap((node, index) => {
      const found = seen[index]?.node;
      return typeof found === 'object' && isOwn(found, { owner, job, run }) ? [this.#removeNode(node, found)] : [];
    });
    const answers = await Promise.all(left);
    if (foreign !== undefined) {
      const message = `${ref.name}: its ${foreign} is not of owner ${owner}, job ${job}, run ${run}`;
      return { kind: 'refused', message };
    }
    return answerOfAll(answers);
  }

  async #removeNode(ref: CloudTpuRef, { state }: Exclude<Observation['node'], string>): Promise<RemoveAnswer> {
    return state === 'DELETING' ? IN_DELETION : answerOfDelete(() => this.#api.deleteNode(nodePath(ref)));
  }

  async removal(operation: string): Promise<'under way' | 'done' | 'unknown'> {
    const found = await this.#api.getOperation(operation);
    if (found?.done !== true) return found === undefined ? 'unknown' : 'under way';
    return found.error ? 'unknown' : 'done';
  }

  async listOwned(
    googleProject: string,
    owner: string,
    onMissing?: OnMissing,
  ): Promise<readonly OwnedResource<CloudTpuRef>[]> {
    const everywhere = zonePath(googleProject, '-');
    const [nodes, queuedResources] = await Promise.all([
      this.#api.listNodes(everywhere, onMissing),
      this.#api.listQueuedResources(everywhere, onMissing),
    ]);
    return ownedIn(queuedResources, nodes).filter(({ ownership }) => ownership.owner === owner);
  }

  async readGuestAttributes(ref: CloudTpuRef): Promise<GuestAttributes> {
    try {
      const answered = await this.#api.getGuestAttributes(nodePath(ref));
      return { kind: 'read', hosts: (answered ?? []).map(guestFacts) };
    } catch (error) {
      if (error instanceof CloudRefused) return { kind: 'disabled', message: error.message };
      throw error;
    }
  }

  async readNodeMetadata(ref: CloudTpuRef): Promise<Readonly<Record<string, string>>> {
    return (await this.#api.getNode(nodePath(ref)))?.metadata ?? {};
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lister of this.#listers.values()) lister.close();
    await this.#connection.close();
  }
}

const failureOf = (error: unknown) => (error instanceof CallFailed ? error.error : apiErrorOf(error));

async function answerOfDelete(call: () => Promise<StartedOperation>): Promise<RemoveAnswer> {
  const { name, error } = await call().catch((thrown: unknown) => ({ name: undefined, error: failureOf(thrown) }));
  if (error === undefined) return { kind: 'accepted', ...(name !== undefined && { operation: name }) };
  const answer = classifyDeleteError(error);
  return answer.kind === 'deleting' ? { kind: 'accepted' } : answer;
}

/** Deleted by an earlier call or by another party. */
const IN_DELETION: RemoveAnswer = { kind: 'accepted' };

/** Joins the answers of several deletions. One that failed decides. If several were accepted, no single operation covers them. */
function answerOfAll(answers: readonly RemoveAnswer[]): RemoveAnswer {
  const undone = answers.find(({ kind }) => kind === 'refused' || kind === 'unanswered');
  const accepted = answers.filter(({ kind }) => kind === 'accepted');
  return undone ?? (accepted.length > 1 ? { kind: 'accepted' } : accepted[0]) ?? { kind: 'gone' };
}

/** The queued resource has no node yet, or its nodes are deleted with it. */
const saysAll = (seen?: Observation['queuedResource']): boolean =>
  typeof seen === 'object' && ['CREATING', 'ACCEPTED', 'WAITING_FOR_RESOURCES', 'DELETING'].includes(seen.state);

type Part = Observation['node'] | Observation['queuedResource'];

/** Returns whether the part exists and is of this owner, job and run. Generation and spec do not count, because the name does. */
function isOwn(part: Part, wanted: Owner): boolean {
  if (typeof part === 'string') return false;
  const found = part.ownership;
  return found?.owner === wanted.owner && found.job === wanted.job && found.run === wanted.run;
}

/** The part that exists and belongs to another owner. */
function foreignPart(seen: Observations, wanted: Owner): 'queued resource' | 'node' | undefined {
  const isForeign = (part: Part): boolean => typeof part === 'object' && !isOwn(part, wanted);
  if (isForeign(seen[0].queuedResource)) return 'queued resource';
  return seen.some(({ node }) => isForeign(node)) ? 'node' : undefined;
}

interface Looked extends Pick<Observation, 'at' | 'queuedResource'> {
  readonly nodes: readonly Observation['node'][];
}

/** The resources of a zone; keys are names without their path. */
export interface ZoneListing {
  /** The time at which the listing began. */
  readonly at: number;
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** Empty if no watcher needs them. */
  readonly queuedResources: ReadonlyMap<string, ObservedQueuedResource>;
}

export interface ZoneWatch {
  readonly isUrgent: boolean;
  readonly needsQueuedResources: boolean;
  readonly signal: AbortSignal;
}

/** Lists one zone for all watchers of slices in it. */
export class ZoneLister extends SharedLister<ZoneWatch, ZoneListing> {
  constructor(list: (withQueuedResources: boolean) => Promise<ZoneListing>, periods: ListingPeriods) {
    super((watchers) => list(watchers.some(({ needsQueuedResources }) => needsQueuedResources)), periods);
  }

  override close(): void {
    super.close('the TPU client');
  }
}
