import type { ServerResponse } from 'node:http';
import { type Draft, createObject } from './admission.js';
import { refusals, success, successWithCode } from './api-status.js';
import { beginDeletion, type DeleteOptions } from './deletion.js';
import { isDefined } from './discovery.js';
import { patchedPod } from './json-patch.js';
import type { Kubelet } from './kubelet.js';
import { pageOf } from './listing.js';
import type { KubeObject, Pod } from './objects.js';
import { isOver } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { serveLogs } from './pod-logs.js';
import { disruptedStatus } from './pod-status.js';
import { apiVersionOf, PODS, RESOURCES, type Resource } from './resources.js';
import { tableOf, wantsTable } from './tables.js';
import { serveWatch } from './watch.js';

export interface ApiParts {
  readonly store: ObjectStore;
  readonly kubelet: Kubelet;
  /** Resolves when all changes are on disk. */
  readonly save: () => Promise<void>;
}

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  /** The parsed body: a list for a JSON Patch. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly response: ServerResponse;
}

/** The object or list that a path names. */
export interface ApiTarget {
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** `undefined`: the response was sent already. */
type Answer = { readonly status: number; readonly body: object } | undefined;

const PATH = /^\/(?:api|apis\/([^/]+))\/v1(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

/** Undefined if the path is not a resource's. */
export function targetOf(path: string): ApiTarget | undefined {
  const own = /^\/api\/v1\/namespaces(?:\/([^/]+))?$/.exec(path);
  const [, group = '', namespace, plural = '', name, subresource] = own
    ? ['', '', undefined, 'namespaces', own[1], undefined]
    : (PATH.exec(path) ?? []);
  const resource = RESOURCES.find((each) => each.group === group && each.plural === plural);
  if (resource === undefined || (namespace !== undefined && !resource.isNamespaced)) return undefined;
  const [inNamespace, named] = [namespace, name].map((part) => part && decodeURIComponent(part));
  return {
    resource,
    ...(inNamespace && { namespace: inNamespace }),
    ...(named && { name: named }),
    ...(subresource && { subresource }),
  };
}

/** @throws ApiRefusal */
export async function answerCall(parts: ApiParts, call: ApiCall): Promise<Answer> {
  if (call.path === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews' && call.method === 'POST')
    // The one token may do everything.
    return { status: 201, body: { ...call.body, metadata: {}, status: { allowed: true } } };
  const target = targetOf(call.path);
  if (target === undefined || !isDefined(parts.store, target.resource)) throw refusals.noSuchResource();
  if (target.subresource !== undefined) return answerSubresource(parts, call, target);
  const { resource, namespace, name } = target;
  if (name === undefined) {
    if (call.method === 'GET') return listed(parts, call, target);
    if (call.method !== 'POST') throw refusals.notAllowed();
    if (resource.isNamespaced && namespace === undefined) throw refusals.notAllowed();
    const made = createObject(parts.store, resource, namespace ?? '', checkedDraft(resource, call.body));
    await parts.save();
    return { status: 201, body: made };
  }
  const object = parts.store.get(resource, namespace ?? '', name);
  if (object === undefined) throw refusals.notFound(resource, name);
  switch (call.method) {
    case 'GET':
      return { status: 200, body: shown(call, resource, object) };
    case 'DELETE':
      return deleted(parts, call, resource, object);
    case 'PATCH': {
      if (resource !== PODS) throw refusals.notAllowed();
      const patched = parts.store.put(PODS, patchedPod(object as Pod, call.body));
      await parts.save();
      return { status: 200, body: patched };
    }
    default:
      throw refusals.notAllowed();
  }
}

function listed({ store }: ApiParts, call: ApiCall, { resource, namespace }: ApiTarget): Answer {
  const isTable = wantsTable(call.accept);
  if (/^(1|true)$/.test(call.query.get('watch') ?? '')) {
    serveWatch(store, resource, namespace, call.query, { response: call.response, isTable });
    return undefined;
  }
  const { items, metadata } = pageOf(store, resource, namespace, call.query);
  if (isTable) return { status: 200, body: tableOf(resource, items, metadata) };
  const head = { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata };
  // Items of a list have neither apiVersion nor kind.
  return { status: 200, body: { ...head, items: items.map(({ apiVersion: _, kind: _kind, ...item }) => item) } };
}

const shown = ({ accept }: ApiCall, resource: Resource, object: KubeObject): object =>
  wantsTable(accept) ? tableOf(resource, [object], { resourceVersion: object.metadata.resourceVersion }) : object;

function checkedDraft(resource: Resource, body: ApiCall['body']): Draft {
  const [apiVersion, kind] = [body['apiVersion'] ?? apiVersionOf(resource), body['kind'] ?? resource.kind];
  if (apiVersion === apiVersionOf(resource) && kind === resource.kind) return body;
  throw refusals.badRequest(
    `the API version in the data (${String(apiVersion)}, kind ${String(kind)}) does not match the expected API version (${apiVersionOf(resource)}, kind ${resource.kind})`,
  );
}

async function deleted(
  { store, save }: ApiParts,
  call: ApiCall,
  resource: Resource,
  object: KubeObject,
): Promise<Answer> {
  const [grace, policy] = [call.query.get('gracePeriodSeconds'), call.query.get('propagationPolicy')];
  const options: DeleteOptions = {
    ...(grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(policy !== null && { propagationPolicy: policy }),
    ...(call.body as DeleteOptions),
  };
  const left = beginDeletion(store, resource, object, options);
  await save();
  const { name, uid } = object.metadata;
  // The API answers a pod's deletion with the pod, even if it is gone.
  if (left === undefined && resource !== PODS) return { status: 200, body: success(resource, name, uid) };
  return { status: 200, body: left ?? object };
}

// Subresources of pods -------------------------------------------------------------------------------------------------

async function answerSubresource(parts: ApiParts, call: ApiCall, target: ApiTarget): Promise<Answer> {
  const pod = podOf(parts.store, target);
  if (target.subresource === 'log' && call.method === 'GET') {
    await serveLogs(parts.kubelet, pod, call.query, call.response);
    return undefined;
  }
  if (target.subresource === 'eviction' && call.method === 'POST') {
    if (!isOver(pod)) {
      const status = disruptedStatus(pod, 'EvictionByEvictionAPI', 'Eviction API: evicting');
      const told = parts.store.put(PODS, { ...pod, status });
      beginDeletion(parts.store, PODS, told, call.body['deleteOptions'] ?? {});
    } else beginDeletion(parts.store, PODS, pod);
    await parts.save();
    return { status: 201, body: successWithCode(201) };
  }
  if (target.subresource === 'exec')
    throw refusals.badRequest('Upgrade request required: the rehearsal speaks WebSocket, not SPDY');
  throw refusals.noSuchResource();
}

/** @throws ApiRefusal 404 */
export function podOf(store: ObjectStore, { resource, namespace = '', name = '' }: ApiTarget): Pod {
  if (resource !== PODS) throw refusals.noSuchResource();
  const pod = store.get<Pod>(PODS, namespace, name);
  if (pod === undefined) throw refusals.notFound(PODS, name);
  return pod;
}
