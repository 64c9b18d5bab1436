import { createRequire } from 'node:module';
import type { protobuf as Protobuf, serializer as Serializer } from 'google-gax';
import { messageOf } from '../../../domain/error-words.js';
import type { OnExchange } from '../../exchange.js';

/** The parts that are read or changed here of the object that grpc-js gives to a function that may change a call. */
export interface GrpcCall {
  readonly metadata: { set(name: string, value: string): void };
  readonly methodDefinition: {
    readonly path: string;
    readonly requestSerialize: (message: unknown) => Buffer;
    readonly responseDeserialize: (bytes: Buffer) => unknown;
  };
  readonly callback: (error: GrpcFailure | null, message?: unknown) => void;
}

interface GrpcFailure {
  readonly code: number;
  readonly details: string;
  readonly metadata?: { get(name: string): readonly unknown[] };
}

type Codec = Pick<MessageReader, 'read' | 'unknownFields' | 'typesOf'>;

/** Reports each call. Its bytes are decoded by the published protos, independently of the client, which reads them as always. */
export async function hearCalls(onExchange: OnExchange): Promise<(call: GrpcCall) => GrpcCall> {
  const { protobuf, serializer } = await import('google-gax');
  const codec = new MessageReader(protobuf, serializer);
  return (call) => heard(call, codec, onExchange);
}

function heard(call: GrpcCall, codec: Codec, onExchange: OnExchange): GrpcCall {
  const { methodDefinition: definition, callback } = call;
  const method = definition.path.slice(1);
  const types = codec.typesOf(method);
  let request: unknown = null;
  let answered: { readonly answer: unknown; readonly unknownFields?: readonly string[] } = { answer: null };
  const methodDefinition: GrpcCall['methodDefinition'] = {
    ...definition,
    requestSerialize: (message) => {
      const bytes = definition.requestSerialize(message);
      request = codec.read(types.request, bytes);
      return bytes;
    },
    responseDeserialize: (bytes) => {
      const unknownFields = codec.unknownFields(types.response, bytes);
      answered = { answer: codec.read(types.response, bytes), ...(unknownFields.length > 0 && { unknownFields }) };
      return definition.responseDeserialize(bytes);
    },
  };
  const told: GrpcCall['callback'] = (error, message) => {
    const end = error === null ? { code: 0, ...answered } : { code: error.code, answer: statusIn(error, codec) };
    onExchange({ wire: 'grpc', method, request, ...end });
    callback(error, message);
  };
  return { ...call, methodDefinition, callback: told };
}

/** google.rpc.Status, with its details if the server sent them. */
function statusIn({ code, details, metadata }: GrpcFailure, codec: Codec): unknown {
  const [bytes] = metadata?.get('grpc-status-details-bin') ?? [];
  return Buffer.isBuffer(bytes) ? codec.read('google.rpc.Status', bytes) : { code, message: details };
}

const require = createRequire(import.meta.url);

/** Messages of Cloud TPU, of its operations and of Google's errors, from bytes to proto3 JSON. */
class MessageReader {
  readonly #protobuf: typeof Protobuf;
  readonly #serializer: typeof Serializer;
  readonly #root: Protobuf.Root;

  constructor(protobuf: typeof Protobuf, serializer: typeof Serializer) {
    this.#protobuf = protobuf;
    this.#serializer = serializer;
    this.#root = new protobuf.Root();
    // Status first: the client's own protos contain it without the types of its details, and an existing type is not replaced.
    for (const file of ['google-gax/build/protos/status.json', '@google-cloud/tpu/build/protos/protos.json'])
      addMissing(this.#root, require(file) as Protobuf.INamespace, this.#protobuf);
    this.#root.resolveAll();
  }

  /** @param method `google.cloud.tpu.v2.Tpu/GetNode` */
  typesOf(method: string): { readonly request: string; readonly response: string } {
    const [service = '', name = ''] = method.split('/');
    const found = this.#root.lookupService(service).methods[name];
    found?.resolve();
    return {
      request: found?.resolvedRequestType?.fullName ?? name,
      response: found?.resolvedResponseType?.fullName ?? name,
    };
  }

  read(typeName: string, bytes: Uint8Array): unknown {
    try {
      return this.#serializer.toProto3JSON(this.#root.lookupType(typeName).decode(bytes));
    } catch (error) {
      // Without the bytes themselves, whose content would be unknown.
      return {
        undecoded: `${typeName}, ${bytes.length} bytes: ${messageOf(error)}`,
      };
    }
  }

  /** Paths of fields that the protos do not have, with their numbers. */
  unknownFields(typeName: string, bytes: Uint8Array): readonly string[] {
    const type = this.#root.lookupType(typeName);
    return [...new Set(this.#unknownIn(type, this.#protobuf.Reader.create(bytes), ''))];
  }

  *#unknownIn(type: Protobuf.Type, reader: Protobuf.Reader, path: string): Generator<string> {
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const field = type.fieldsById[tag >>> 3];
      const at = path === '' ? '' : `${path}.`;
      if (field === undefined) yield `${at}${tag >>> 3}`;
      const within = field instanceof this.#protobuf.MapField ? null : field?.resolvedType;
      if (field !== undefined && within instanceof this.#protobuf.Type && (tag & 7) === LENGTH_DELIMITED)
        yield* this.#unknownIn(within, this.#protobuf.Reader.create(reader.bytes()), `${at}${field.name}`);
      else reader.skipType(tag & 7);
    }
  }
}

const LENGTH_DELIMITED = 2;

/** Adds the types of `json` in the package `path` to the root; existing types of the root stay. */
function addMissing(
  root: Protobuf.Root,
  json: Protobuf.INamespace,
  protobuf: typeof Protobuf,
  path: readonly string[] = [],
): void {
  const source = path.reduce((at: Protobuf.INamespace, name) => at.nested?.[name] as Protobuf.INamespace, json);
  const target = path.length === 0 ? root : root.define([...path]);
  for (const [name, nested] of Object.entries(source.nested ?? {})) {
    const there = target.get(name);
    if (there === null) target.addJSON({ [name]: nested });
    else if (there.constructor === protobuf.Namespace) addMissing(root, json, protobuf, [...path, name]);
  }
}
