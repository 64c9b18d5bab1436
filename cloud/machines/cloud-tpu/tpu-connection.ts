import type { v2 } from '@google-cloud/tpu';
import type { ClientOptions } from 'google-gax';
import { messageOf } from '../../../domain/error-words.js';
import { tokenInFile } from '../../access-token.js';
import type { OnExchange } from '../../exchange.js';
import { GoogleRest } from '../../google-project/rest.js';
import { NO_CREDENTIALS } from '../../google-refusal.js';
import { Code, type ApiError } from './api-error.js';
import { type GrpcCall, hearCalls } from './heard-calls.js';

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
