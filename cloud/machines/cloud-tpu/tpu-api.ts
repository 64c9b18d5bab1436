import type { protos, v2 } from '@google-cloud/tpu';
import { refusalText } from '../../google-refusal.js';
import { GoogleCallFailed } from '../../google-project/port.js';
import {
  apiErrorOf,
  codeName,
  type ApiError,
  restFailure,
  classifyReadError,
  isCredentialProblem,
} from './classify-error.js';
import { CallBudget, type CallRate } from '../api-load.js';
import type { AlphaRequest } from './create-request.js';
import type { ApiNode, ApiQueuedResource } from './observation.js';
import { CloudRefused, CloudUnavailable, notReached, type OnMissing } from '../port.js';
import type { TpuConnection } from './tpu-connection.js';

/** A long-running operation as first answered: `error` is set if it had already failed. */
export interface StartedOperation {
  readonly name?: string;
  readonly error?: ApiError;
}

export interface ApiSettings {
  /** Limit over all calls to one Google project. */
  readonly budget: CallRate;
  /** Limit of each call, including the wait for a connection; milliseconds. */
  readonly callTimeoutMs: number;
  /** Resources per page of a listing, 1 to 1000. */
  readonly pageSize: number;
  /** Called at the end of each call, with the name of its gRPC code. */
  readonly onCall?: (method: string, code: string) => void;
}

export type ApiGuestAttributes = protos.google.cloud.tpu.v2.IGuestAttributes;
type RawOperation = protos.google.longrunning.IOperation;
type CreateNodeRequest = protos.google.cloud.tpu.v2.ICreateNodeRequest;
type CreateQueuedResourceRequest = protos.google.cloud.tpu.v2.ICreateQueuedResourceRequest;

/** Limit of pages, more than any zone has. It ends a listing if a server repeats its page tokens for ever. */
const MAX_PAGES = 1000;

/** A failed call with the server's error. Only `tpu-api` throws it and only `google-tpu` catches it. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly error: ApiError;
  /** Method and resource. */
  readonly what: string;

  constructor(error: ApiError, what: string) {
    super(`${what}: ${error.message}`);
    this.error = error;
    this.what = what;
  }
}

/**
 * The calls that jobctl makes, one method each. Every call has a deadline and counts against the Google project's budget. No
 * retries (TPU methods have none by default) and no waiting for operations. Resources are named by full path.
 */
export class TpuApi {
  readonly #connection: TpuConnection;
  readonly #rate: CallRate;
  readonly #pageSize: number;
  readonly #callOptions: { readonly timeout: number };
  readonly #onCall: (method: string, code: string) => void;
  readonly #budgets = new Map<string, CallBudget>();

  constructor(connection: TpuConnection, settings: ApiSettings) {
    this.#connection = connection;
    this.#rate = settings.budget;
    this.#pageSize = settings.pageSize;
    this.#callOptions = { timeout: settings.callTimeoutMs };
    this.#onCall = settings.onCall ?? (() => undefined);
  }

  createNode(request: CreateNodeRequest): Promise<StartedOperation> {
    return this.#call('CreateNode', request.parent, async (client) =>
      startedOperation(await client.createNode(request, this.#callOptions)),
    );
  }

  createQueuedResource(request: CreateQueuedResourceRequest): Promise<StartedOperation> {
    return this.#call('CreateQueuedResource', request.parent, async (client) =>
      startedOperation(await client.createQueuedResource(request, this.#callOptions)),
    );
  }

  /** Uses v2alpha1 over REST. @throws RangeError if its address is not configured */
  createAlphaQueuedResource({ parent, queuedResourceId, queuedResource }: AlphaRequest): Promise<StartedOperation> {
    const [, googleProject = ''] = parent.split('/');
    const path = `/v2alpha1/${parent}/queuedResources?queuedResourceId=${encodeURIComponent(queuedResourceId)}`;
    const rest = this.#connection.rest(googleProject);
    return this.#call('CreateQueuedResource', parent, async () => {
      const operation = await rest.post<RawOperation>('tpu', path, queuedResource).catch((error: unknown) => {
        throw error instanceof GoogleCallFailed ? restFailure(error.error) : error;
      });
      return startedOperation([{}, operation]);
    });
  }

  /** The given fields replace the node's; one update of a node runs at a time. There is no precondition to send (docs/adr/0179). */
  updateNode(node: ApiNode & { readonly name: string }, fields: readonly string[]): Promise<StartedOperation> {
    return this.#call('UpdateNode', node.name, async (client) =>
      startedOperation(await client.updateNode({ node, updateMask: { paths: [...fields] } }, this.#callOptions)),
    );
  }

  deleteNode(name: string): Promise<StartedOperation> {
    return this.#call('DeleteNode', name, async (client) =>
      startedOperation(await client.deleteNode({ name }, this.#callOptions)),
    );
  }

  /** With force the node is deleted too, and states that refuse an unforced delete are no obstacle. */
  deleteQueuedResource(name: string, force = true): Promise<StartedOperation> {
    return this.#call('DeleteQueuedResource', name, async (client) =>
      startedOperation(await client.deleteQueuedResource({ name, force }, this.#callOptions)),
    );
  }

  getNode(name: string): Promise<ApiNode | undefined> {
    return this.#read('GetNode', name, async (client) => (await client.getNode({ name }, this.#callOptions))[0]);
  }

  /** For all VMs of the node, in their order. */
  getGuestAttributes(name: string): Promise<readonly ApiGuestAttributes[] | undefined> {
    return this.#read(
      'GetGuestAttributes',
      name,
      async (client) => (await client.getGuestAttributes({ name }, this.#callOptions))[0].guestAttributes ?? [],
    );
  }

  getQueuedResource(name: string): Promise<ApiQueuedResource | undefined> {
    return this.#read(
      'GetQueuedResource',
      name,
      async (client) => (await client.getQueuedResource({ name }, this.#callOptions))[0],
    );
  }

  getOperation(name: string): Promise<RawOperation | undefined> {
    // The client's types want an instance of the message class, but it also sends a plain object.
    const request = { name } as protos.google.longrunning.GetOperationRequest;
    return this.#read(
      'GetOperation',
      name,
      async (client) => (await client.getOperation(request, this.#callOptions))[0],
    );
  }

  /** @param parent `projects/P/locations/ZONE`, or `-` for all zones. @param onMissing the same as for `Machines.listOwned` */
  listNodes(parent: string, onMissing?: OnMissing): Promise<readonly ApiNode[]> {
    return this.#list('ListNodes', parent, onMissing, async (client, request) => {
      const [items, , page] = await client.listNodes(request, { ...this.#callOptions, autoPaginate: false });
      return { items, ...page };
    });
  }

  /** Like `listNodes`. */
  listQueuedResources(parent: string, onMissing?: OnMissing): Promise<readonly ApiQueuedResource[]> {
    return this.#list('ListQueuedResources', parent, onMissing, async (client, request) => {
      const [items, , page] = await client.listQueuedResources(request, { ...this.#callOptions, autoPaginate: false });
      return { items, ...page };
    });
  }

  /** Joins the pages. If a zone could not be reached, the list is incomplete, and a resource missing in it is not gone. */
  async #list<T>(
    method: string,
    parent: string,
    onMissing: OnMissing | undefined,
    readPage: (client: v2.TpuClient, request: PageRequest) => Promise<Page<T>>,
  ): Promise<readonly T[]> {
    const all: T[] = [];
    let pageToken = '';
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const request = { parent, pageSize: this.#pageSize, pageToken };
      const page = await this.#call(method, parent, (client) => readPage(client, request)).catch(throwCloudError);
      notReached(page.unreachable ?? [], { call: `${method} ${parent}`, method, onMissing });
      for (const one of page.items) all.push(one);
      if (!page.nextPageToken) return all;
      pageToken = page.nextPageToken;
    }
    throw new CloudUnavailable(`${method} ${parent}: no end after ${MAX_PAGES} pages`);
  }

  /** @returns undefined if the API says that the resource does not exist */
  async #read<T>(method: string, name: string, run: (client: v2.TpuClient) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#call(method, name, run);
    } catch (error) {
      if (error instanceof CallFailed && classifyReadError(error.error) === 'not-found') return undefined;
      return throwCloudError(error);
    }
  }

  /** @throws CallFailed */
  async #call<T>(
    method: string,
    name: string | null | undefined,
    run: (client: v2.TpuClient) => Promise<T>,
  ): Promise<T> {
    await this.#budgetOf(name ?? '').take(method);
    const connected = this.#connection.client();
    try {
      const answer = await run(await connected);
      this.#onCall(method, 'OK');
      return answer;
    } catch (error) {
      const failure = apiErrorOf(error);
      this.#onCall(method, codeName(failure.code));
      if (isCredentialProblem(failure)) this.#connection.forget(connected);
      throw new CallFailed(failure, `${method} ${name}`);
    }
  }

  #budgetOf(name: string): CallBudget {
    const googleProject = name.split('/')[1] ?? '';
    const budget = this.#budgets.get(googleProject) ?? new CallBudget(this.#rate);
    this.#budgets.set(googleProject, budget);
    return budget;
  }
}

interface PageRequest {
  readonly parent: string;
  readonly pageSize: number;
  readonly pageToken: string;
}
interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken?: string | null;
  readonly unreachable?: readonly string[] | null;
}

function startedOperation([operation, raw]: readonly [
  { readonly name?: string },
  RawOperation | undefined,
  ...unknown[],
]): StartedOperation {
  const name = raw?.name ?? operation.name;
  return { ...(name ? { name } : {}), ...(raw?.error ? { error: apiErrorOf(raw.error) } : {}) };
}

/** Turns a failed call into the port's errors. For a list, `not-found` means a wrong project or zone. */
export function throwCloudError(error: unknown): never {
  if (!(error instanceof CallFailed)) throw error;
  const meaning = classifyReadError(error.error);
  if (meaning === 'unavailable') throw new CloudUnavailable(error.message, { cause: error });
  throw new CloudRefused(`${error.what}: ${refusalText(error.error)}`, { cause: error });
}
