import { createRequire } from 'node:module';
import { toProto3JSON, fromProto3JSON } from 'proto3-json-serializer';
import protobuf from 'protobufjs';
import type { JsonObject } from '../json.js';
import { conform } from './message-json.js';

const require = createRequire(import.meta.url);

let loaded: protobuf.Root | undefined;

/** The protos of Google's own clients, in one root: TPU, google.longrunning, google.cloud.location, google.rpc. */
export function protoRoot(): protobuf.Root {
  if (loaded === undefined) {
    loaded = new protobuf.Root();
    // Status comes first, with the types of its details: the TPU client has Status alone, and existing types are not replaced.
    addMissing(loaded, require('google-gax/build/protos/status.json') as protobuf.INamespace, 'google.rpc');
    addMissing(
      loaded,
      require('google-gax/build/protos/locations.json') as protobuf.INamespace,
      'google.cloud.location',
    );
    addMissing(loaded, require('@google-cloud/tpu/build/protos/protos.json') as protobuf.INamespace, '');
    loaded.resolveAll();
  }
  return loaded;
}

/** Adds the types of package `path` in `json` to the root. Types that the root has already stay. */
function addMissing(root: protobuf.Root, json: protobuf.INamespace, path: string): void {
  const names = path === '' ? [] : path.split('.');
  const source = names.reduce((at: protobuf.INamespace, name) => at.nested?.[name] as protobuf.INamespace, json);
  const target = path === '' ? root : root.define(path);
  for (const [name, nested] of Object.entries(source.nested ?? {})) {
    const there = target.get(name);
    if (there === null) target.addJSON({ [name]: nested });
    else if (there.constructor === protobuf.Namespace) addMissing(root, json, [...names, name].join('.'));
  }
}

/** Encodes a message from its proto3 JSON. Fields that the protos lack are left out: gRPC cannot carry them. */
export function encode(type: protobuf.Type, json: JsonObject): Buffer {
  const known = conform(protoRoot(), type, json, { unknown: 'drop', enums: 'names', form: 'serializer' });
  // The serializer's types come from another copy of protobufjs; at run time the classes are the same to it.
  const message = fromProto3JSON(type as never, known.json as never);
  if (message === null) throw new TypeError(`${type.fullName}: cannot be made from ${JSON.stringify(json)}`);
  return Buffer.from(type.encode(message as never).finish());
}

/** Decodes a message to proto3 JSON. */
export function decode(type: protobuf.Type, bytes: Uint8Array): JsonObject {
  return toProto3JSON(type.decode(bytes) as never) as JsonObject;
}
