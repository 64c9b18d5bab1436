import type { JsonObject, JsonValue } from '../json.js';
import { asObject, isObject } from '../json.js';

/** A version of the API: the package of its messages, its first path segment over REST. v1 has locations alone here. */
export const API_VERSIONS = ['v1', 'v2', 'v2alpha1'] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

export function isApiVersion(text: string): text is ApiVersion {
  return (API_VERSIONS as readonly string[]).includes(text);
}

/** A request in the canonical form, which is v2's: v2alpha1 calls multislice_params multi_node_params. */
export function toCanonical(request: JsonObject, version: ApiVersion): JsonObject {
  if (version !== 'v2alpha1' || !isObject(request['queuedResource'])) return request;
  return { ...request, queuedResource: renamed(request['queuedResource'], 'multiNodeParams', 'multisliceParams') };
}

/** A queued resource or a node as a version writes it. Anything else is returned as it is. */
export function fromCanonical(resource: JsonObject, version: ApiVersion): JsonObject {
  if (version !== 'v2alpha1') return resource;
  // Its protos have no V2; gcloud alpha leaves a node out whose version it cannot read.
  const known = resource['apiVersion'] === 'V2' ? { ...resource, apiVersion: 'V2_ALPHA1' } : resource;
  return renamed(known, 'multisliceParams', 'multiNodeParams');
}

function renamed(queuedResource: JsonObject, from: string, to: string): JsonObject {
  const tpu = asObject(queuedResource['tpu']);
  const specs = tpu['nodeSpec'];
  if (!Array.isArray(specs)) return queuedResource;
  const nodeSpec = specs.map((spec: JsonValue) => {
    const { [from]: params, ...rest } = asObject(spec);
    return params === undefined ? rest : { ...rest, [to]: params };
  });
  return { ...queuedResource, tpu: { ...tpu, nodeSpec } };
}
