import { createRequire } from 'node:module';
import { toProto3JSON, fromProto3JSON } from 'proto3-json-serializer';
import protobuf from 'protobufjs';
import type { JsonObject } from '../json.js';
import type { Operation } from './model.js';

/** A version of the API: the package of its messages and services. v2alpha1 will be another. */
export type ApiVersion = 'v2';

const require = createRequire(import.meta.url);

let loaded: protobuf.Root | undefined;

/** The protos that Google's own client carries: TPU, google.longrunning and google.rpc in one root. */
export function protoRoot(): protobuf.Root {
  if (loaded === undefined) {
    const json = require('@google-cloud/tpu/build/protos/protos.json') as protobuf.INamespace;
    loaded = protobuf.Root.fromJSON(json);
    loaded.resolveAll();
  }
  return loaded;
}

/** Bytes of a message from its proto3 JSON. Fields that the protos do not have are left out: gRPC cannot carry them. */
export function encode(type: protobuf.Type, json: JsonObject): Buffer {
  const known = onlyKnown(type, json);
  // The serializer is typed against another copy of protobufjs; the classes are the same to it.
  const message = fromProto3JSON(type as never, known as never);
  if (message === null) throw new TypeError(`${type.fullName}: cannot be made from ${JSON.stringify(json)}`);
  return Buffer.from(type.encode(message as never).finish());
}

/** The message's proto3 JSON. */
export function decode(type: protobuf.Type, bytes: Uint8Array): JsonObject {
  return toProto3JSON(type.decode(bytes) as never) as JsonObject;
}

/** google.longrunning.Operation in proto3 JSON, with the metadata and result types of one API version. */
export function operationJson(operation: Operation, version: ApiVersion): JsonObject {
  const type = (name: string): string => `type.googleapis.com/google.cloud.tpu.${version}.${name}`;
  const { target, verb, createTime, endTime, error, result } = operation;
  const ended = endTime === undefined ? {} : { endTime };
  const metadata = { '@type': type('OperationMetadata'), createTime, target, verb, apiVersion: version, ...ended };
  const base = { name: operation.name, metadata, done: error !== undefined || result !== undefined };
  if (error !== undefined) return { ...base, error: { ...error } };
  if (result === undefined) return base;
  const empty = { '@type': 'type.googleapis.com/google.protobuf.Empty', value: {} };
  return { ...base, response: result.type === 'Empty' ? empty : { '@type': type(result.type), ...result.value } };
}

function onlyKnown(type: protobuf.Type, json: JsonObject): JsonObject {
  if (type.fullName.startsWith('.google.protobuf.')) return prunedAny(json);
  const entries = Object.entries(json).flatMap(([key, value]) => {
    const field = type.fields[key];
    if (field === undefined || value === undefined) return [];
    return [[key, field.resolvedType instanceof protobuf.Type ? prune(field, field.resolvedType, value) : value]];
  });
  return Object.fromEntries(entries) as JsonObject;
}

function prune(field: protobuf.Field, type: protobuf.Type, value: unknown): unknown {
  if (field.map) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => prune(field, type, item));
  return typeof value === 'object' && value !== null ? onlyKnown(type, value as JsonObject) : value;
}

function prunedAny(json: JsonObject): JsonObject {
  const url = json['@type'];
  if (typeof url !== 'string' || url.endsWith('.Empty')) return json;
  const inner = protoRoot().lookupType(url.slice(url.lastIndexOf('/') + 1));
  return { '@type': url, ...onlyKnown(inner, json) };
}
