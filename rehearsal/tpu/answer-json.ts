import type { JsonObject, JsonValue } from '../json.js';
import { asObject } from '../json.js';
import type { ApiVersion } from './api-version.js';
import { fromCanonical } from './api-version.js';
import type { Answer } from './methods.js';
import type { Operation } from './model.js';

/** An answer in proto3 JSON, as one API version writes it. */
export function answerJson(answer: Answer, version: ApiVersion): JsonObject {
  switch (answer.kind) {
    case 'message':
      return messageJson(answer.message, version);
    case 'operation':
      return operationJson(answer.operation);
    case 'operations': {
      const operations = answer.operations.map(operationJson);
      return { operations, ...(answer.nextPageToken !== '' && { nextPageToken: answer.nextPageToken }) };
    }
  }
}

/** A resource, or a page of nodes. */
function messageJson(message: JsonObject, version: ApiVersion): JsonObject {
  const { nodes } = message;
  if (!Array.isArray(nodes)) return fromCanonical(message, version);
  return { ...message, nodes: nodes.map((node: JsonValue) => fromCanonical(asObject(node), version)) };
}

/**
 * A google.longrunning.Operation with the metadata and result types of the version of its first call, whatever version asks for
 * it later: clients decode the result by the version that they called.
 */
export function operationJson(operation: Operation): JsonObject {
  const { target, verb, createTime, endTime, error, result, cancelRequested, apiVersion: version = 'v2' } = operation;
  const type = (name: string): string => `type.googleapis.com/google.cloud.tpu.${version}.${name}`;
  const metadata = {
    '@type': type('OperationMetadata'),
    createTime,
    ...(endTime !== undefined && { endTime }),
    target,
    verb,
    ...(cancelRequested === true && { cancelRequested }),
    apiVersion: version,
  };
  const base = { name: operation.name, metadata, done: error !== undefined || result !== undefined };
  if (error !== undefined) return { ...base, error: { ...error } };
  if (result === undefined) return base;
  // v2alpha1's DeleteQueuedResource declares a QueuedResource, but the real answer does not unpack as one
  // (GoogleCloudPlatform/python-docs-samples#12716, java-docs-samples#9600). An Empty, as in v2, is our reading of that.
  if (result.type === 'Empty') return { ...base, response: { '@type': 'type.googleapis.com/google.protobuf.Empty' } };
  return { ...base, response: { '@type': type(result.type), ...fromCanonical(result.value, version) } };
}
