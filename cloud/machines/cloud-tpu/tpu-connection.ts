import { createRequire } from 'node:module';
import type { v2 } from '@google-cloud/tpu';
import type { ClientOptions, protobuf as Protobuf, serializer as Serializer } from 'google-gax';
import { messageOf } from '../../../domain/errors.js';
import { tokenInFile } from '../../access-token.js';
import type { OnExchange } from '../../exchange.js';
import { GoogleRest } from '../../google-project/rest.js';
import { NO_CREDENTIALS } from '../../google-refusal.js';
import { Code, type ApiError } from './classify-error.js';

/** The address of the Cloud TPU API if it is not Google's own. */
export interface TpuEndpoint {
  readonly host: string;
  readonly port: number;
  /** No TLS, and no credentials except the token in `accessTokenFile`. */
  readonly insecure: boolean;
  readonly accessTokenFile?: string;
  /** The REST address of the same API, for fields that the client's protos do not have. */
  readonly rest?: string;
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** gRPC's default of up to two minutes between attempts would leave a worker blind too long after an outage of the API. */
const CHANNEL_OPTIONS = { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 10_000 };

/**
 * The official v2 client, created at the first call and kept. (The package's root export is v1.) Without credentials the creation
 * fails with an `ApiError` and is tried again at the next call, because a person may have logged in.
 */
export class TpuConnection {
  readonly #endpoint: TpuEndpoint | undefined;
  readonly #onExchange: OnExchange | undefined;
  #client: Promise<v2.TpuClient> | undefined;

  /** @param onExchange receives each call over gRPC as it crossed the wire */
  constructor(endpoint: TpuEndpoint | undefined, onExchange?: OnExchange) {
    this.#endpoint = endpoint;
    this.#onExchange = onExchange;
  }

  client(): Promise<v2.TpuClient> {
    this.#client ??= connect(this.#endpoint, this.#onExchange).catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  /**
   * Drops a client whose credentials were refused. The next call reads the login anew, since a person may have logged in again
   * and the library reads a login only once.
   */
  forget(refused: Promise<v2.TpuClient>): void {
    if (this.#client !== refused) return;
    this.#client = undefined;
    // Calls in progress on it finish: gRPC closes a channel in this way.
    void refused.then((client) => client.close()).catch(() => undefined);
  }

  /** @throws RangeError if the API is not Google's and its REST address is unknown, because then no request may go to Google */
  rest(googleProject: string): GoogleRest {
    const { rest: apiEndpoint, accessTokenFile } = this.#endpoint ?? {};
    if (this.#endpoint !== undefined && apiEndpoint === undefined)
      throw new RangeError('pricing: flex-start is asked for over REST, and tpuRestEndpoint of the worker is not set');
    return new GoogleRest({
      googleProject,
      ...(apiEndpoint !== undefined && { apiEndpoint }),
      ...(accessTokenFile !== undefined && { accessTokenFile }),
    });
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
  }
}

async function connect(endpoint: TpuEndpoint | undefined, onExchange: OnExchange | undefined): Promise<v2.TpuClient> {
  const { v2 } = await import('@google-cloud/tpu');
  const address = endpoint && { apiEndpoint: endpoint.host, port: endpoint.port };
  const client = new v2.TpuClient({
    ...CHANNEL_OPTIONS,
    ...address,
    ...transformerOption(endpoint, onExchange && (await hearCalls(onExchange))),
    ...(await credentialsFor(endpoint)),
  });
  // Without this call, a client that cannot start throws from a callback at its first call and ends the process.
  await client.initialize();
  return client;
}

type Transformer = (call: GrpcCall) => GrpcCall;

/** grpc-js takes a single function that may change each call, so this joins the steps. */
function transformerOption(endpoint: TpuEndpoint | undefined, hear: Transformer | undefined): object {
  const steps = [...withToken(endpoint), ...(hear === undefined ? [] : [hear])];
  const transformer: Transformer = (call) => steps.reduce((changed, step) => step(changed), call);
  return steps.length === 0 ? {} : { 'grpc.callInvocationTransformer': transformer };
}

/** gRPC sends no credentials over a plain-text channel, so the header is written into each call. */
function withToken({ insecure = false, accessTokenFile }: Partial<TpuEndpoint> = {}): readonly Transformer[] {
  if (!insecure || accessTokenFile === undefined) return [];
  return [
    (call) => {
      const token = tokenInFile(accessTokenFile);
      if (token !== undefined) call.metadata.set('authorization', `Bearer ${token}`);
      return call;
    },
  ];
}

async function credentialsFor(endpoint: TpuEndpoint | undefined): Promise<ClientOptions> {
  const { GoogleAuth, PassThroughClient } = await import('google-auth-library');
  if (endpoint?.insecure) {
    const { grpc } = await import('google-gax');
    // Any AuthClient works; gax's types only name those that read key files.
    const authClient = new PassThroughClient() as unknown as NonNullable<ClientOptions['authClient']>;
    return { sslCreds: grpc.credentials.createInsecure(), authClient };
  }
  // The client's constructor starts to authenticate in the background. Asking here first makes missing credentials a plain error.
  const auth = new GoogleAuth({ scopes: [SCOPE] });
  await auth.getClient().catch((error: unknown) => {
    throw credentialError(error);
  });
  return { auth };
}

function credentialError(error: unknown): ApiError {
  const message = messageOf(error);
  return { code: Code.Unauthenticated, message, reason: NO_CREDENTIALS };
}

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
