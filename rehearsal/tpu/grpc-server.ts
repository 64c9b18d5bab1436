import { createServer, type AddressInfo, type Socket } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import { listenFailure } from '../listen-failure.js';
import type { JsonObject } from '../json.js';
import type { Certificates } from '../access/certificates.js';
import { FOREIGN_ADVICE, foreignReason } from '../access/foreign-request.js';
import { isOwnLogin } from '../access/own-login.js';
import type { Guard } from '../loopback-server.js';
import { ApiError } from './api-error.js';
import type { Gateway } from './gateway.js';
import { answerJson } from './answer-json.js';
import type { ApiVersion } from './api-version.js';
import { decode, encode, protoRoot } from './protos.js';
import { errorTrailers } from './rich-status.js';

/** Operations and locations are the same in every version: an operation is answered in the version that it began in. */
const SERVICES: readonly (readonly [name: string, version: ApiVersion])[] = [
  ['google.cloud.tpu.v2.Tpu', 'v2'],
  ['google.cloud.tpu.v2alpha1.Tpu', 'v2alpha1'],
  ['google.longrunning.Operations', 'v2'],
  ['google.cloud.location.Locations', 'v2'],
];

const ADDRESS = '127.0.0.1';

export interface GrpcServer {
  readonly port: number;
  close(): void;
}

/** Serves Cloud TPU v2 and v2alpha1, their operations and locations on loopback. @param port 0: any free port */
export async function startGrpcServer(gateway: Gateway, port: number, guard: Guard): Promise<GrpcServer> {
  const server = new grpc.Server();
  const callers = new Map<string, Socket>();
  const door: Door = { gateway, hostNames: guard.hostNames, isOwnLogin: (peer) => isOwnLogin(callers.get(peer) ?? {}) };
  for (const [service, version] of SERVICES) {
    const { definition, handlers } = serviceOf(service, version, door);
    server.addService(definition, handlers);
  }
  const injector = server.createConnectionInjector(serverCredentials(guard.tls));
  // Accepted here: a gRPC call names its connection only by address, and the kernel is asked once for each connection.
  const listener = createServer((socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    callers.set(
      peer,
      socket.once('close', () => callers.delete(peer)),
    );
    injector.injectConnection(socket);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', (error) => reject(listenFailure('Cloud TPU (gRPC)', port, error, '--tpu-port')));
    listener.listen(port, ADDRESS, resolve);
  });
  const close = (): void => {
    listener.close();
    server.forceShutdown();
  };
  return { port: (listener.address() as AddressInfo).port, close };
}

function serverCredentials(tls: Certificates | undefined): grpc.ServerCredentials {
  if (tls === undefined) return grpc.ServerCredentials.createInsecure();
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) };
  return grpc.ServerCredentials.createSsl(null, [pair]);
}

/** The checks and the gateway that a call passes on its way in. */
interface Door {
  readonly gateway: Gateway;
  readonly hostNames: readonly string[];
  /** @param peer `ADDRESS:PORT` of the other end */
  readonly isOwnLogin: (peer: string) => boolean;
}

function serviceOf(
  name: string,
  version: ApiVersion,
  door: Door,
): { readonly definition: grpc.ServiceDefinition; readonly handlers: grpc.UntypedServiceImplementation } {
  const definition: Record<string, grpc.MethodDefinition<JsonObject, JsonObject>> = {};
  const handlers: Record<string, grpc.handleUnaryCall<JsonObject, JsonObject>> = {};
  for (const method of protoRoot().lookupService(name).methodsArray) {
    definition[method.name] = methodDefinition(name, method);
    handlers[method.name] = handler(door, method.name, version);
  }
  return { definition, handlers };
}

function methodDefinition(service: string, method: protobuf.Method): grpc.MethodDefinition<JsonObject, JsonObject> {
  const root = protoRoot();
  const request = root.lookupType(qualified(service, method.requestType));
  const response = root.lookupType(qualified(service, method.responseType));
  return {
    path: `/${service}/${method.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (json) => encode(request, json),
    requestDeserialize: (bytes) => decode(request, bytes),
    responseSerialize: (json) => encode(response, json),
    responseDeserialize: (bytes) => decode(response, bytes),
  };
}

function qualified(service: string, type: string): string {
  return type.includes('.') ? type : `${service.slice(0, service.lastIndexOf('.'))}.${type}`;
}

function handler(door: Door, method: string, version: ApiVersion): grpc.handleUnaryCall<JsonObject, JsonObject> {
  return (call, callback) => {
    const header = (name: string): string | undefined => call.metadata.get(name)[0]?.toString();
    const from = { host: call.getHost(), origin: header('origin'), 'sec-fetch-site': header('sec-fetch-site') };
    const foreign = foreignReason(from, door.hostNames);
    if (foreign !== undefined) return callback(grpcError(refusedAsForeign(foreign)));
    const headers = {
      authorization: header('authorization'),
      userProject: header('x-goog-user-project'),
      isOwnLogin: () => door.isOwnLogin(call.getPeer()),
    };
    const host = dialledName(call.getHost());
    door.gateway({ wire: 'grpc', version, headers, ...(host !== undefined && { host }) }, method, call.request).then(
      (answer) => callback(null, answerJson(answer, version)),
      (error: unknown) => callback(grpcError(error)),
    );
  };
}

const refusedAsForeign = (reason: string): ApiError =>
  new ApiError('PERMISSION_DENIED', `refused: ${reason}; ${FOREIGN_ADVICE}`);

/** Undefined if the caller dialled the address itself. */
const dialledName = (authority: string): string | undefined =>
  authority.startsWith(`${ADDRESS}:`) ? undefined : authority;

function grpcError(error: unknown): Partial<grpc.StatusObject> {
  const refused = error instanceof ApiError ? error : new ApiError('INTERNAL', String(error));
  const metadata = new grpc.Metadata();
  for (const [name, bytes] of errorTrailers(refused)) metadata.set(name, bytes);
  return { code: refused.code, details: refused.message, metadata };
}
