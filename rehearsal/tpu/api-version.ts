import type { JsonObject, JsonValue } from '../json.js';
import { asObject, isObject } from '../json.js';

/** A version of the API: the package of its messages, and its first path segment over REST. Of v1 only locations are here. */
export const API_VERSIONS = ['v1', 'v2', 'v2alpha1'] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

/** Converts a request to the canonical form, which is v2's: v2alpha1 calls multislice_params multi_node_params. */
export function toCanonical(request: JsonObject, version: ApiVersion): JsonObject {
  const queuedResource = request['queuedResource'];
  if (version !== 'v2alpha1' || !isObject(queuedResource)) return request;
  const tpu = asObject(queuedResource['tpu']);
  const specs = tpu['nodeSpec'];
  if (!Array.isArray(specs)) return request;
  const nodeSpec = specs.map((spec: JsonValue) => {
    const { multiNodeParams: multisliceParams, ...rest } = asObject(spec);
    return multisliceParams === undefined ? rest : { ...rest, multisliceParams };
  });
  return { ...request, queuedResource: { ...queuedResource, tpu: { ...tpu, nodeSpec } } };
}

/**
 * Converts a resource to a version's form. There is less to do than in the other direction, because a multislice has become nodes
 * with ids by then. v2alpha1's protos have no V2, and gcloud alpha leaves out a node whose version it cannot read.
 */
export function fromCanonical(resource: JsonObject, version: ApiVersion): JsonObject {
  const isUnknown = version === 'v2alpha1' && resource['apiVersion'] === 'V2';
  return isUnknown ? { ...resource, apiVersion: 'V2_ALPHA1' } : resource;
}
