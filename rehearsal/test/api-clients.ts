import { v2, v2alpha1 } from '@google-cloud/tpu';
import { PassThroughClient } from 'google-auth-library';
import { grpc } from 'google-gax';
import type { RehearsalEndpoints } from '../index.js';
import type { TpuClient } from './cloud-under-test.js';

/** Google's own client in one version on one wire. Calls that both versions have are typed by v2. */
export interface ApiClient {
  readonly name: string;
  readonly version: 'v2' | 'v2alpha1';
  readonly wire: 'gRPC' | 'REST';
  readonly client: TpuClient;
}

export function apiClients({ tpu, rest }: Pick<RehearsalEndpoints, 'tpu' | 'rest'>): readonly ApiClient[] {
  return (['v2', 'v2alpha1'] as const).flatMap((version) =>
    (['gRPC', 'REST'] as const).map((wire) => {
      const Client = { v2: v2.TpuClient, v2alpha1: v2alpha1.TpuClient }[version] as typeof v2.TpuClient;
      // gax types its own copy of the auth library; the client is the same to it.
      const authClient = new PassThroughClient() as never;
      const { hostname: apiEndpoint, port } = new URL(wire === 'gRPC' ? `http://${tpu}` : rest);
      const place = { apiEndpoint, port: Number(port), authClient };
      const client =
        wire === 'gRPC'
          ? new Client({ ...place, sslCreds: grpc.credentials.createInsecure() })
          : new Client({ ...place, fallback: true, protocol: 'http' });
      return { name: `${version} over ${wire}`, version, wire, client };
    }),
  );
}

/** What a refused call told its caller. */
export interface Refused {
  readonly code: number;
  readonly text: string;
  /** As JSON, by the last part of their type's name. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** @throws Error if the call is not refused */
export async function refusedBy(call: Promise<unknown>): Promise<Refused> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as RefusedByGoogle,
  );
  if (error === undefined) throw new Error('the call succeeded, a refusal was expected');
  // Over REST `details` is a list, over gRPC the text.
  const text = typeof error.details === 'string' ? error.details : error.message;
  return { code: error.code, text, details: Object.fromEntries((error.statusDetails ?? []).map(named)) };
}

interface RefusedByGoogle extends Error {
  readonly code: number;
  readonly details?: unknown;
  readonly statusDetails?: readonly object[];
}

/** gax decodes the details that it knows: told apart by what each of them alone has. */
function named(detail: object): readonly [string, unknown] {
  const plain = JSON.parse(JSON.stringify(detail)) as Record<string, unknown>;
  const kind = 'reason' in plain ? 'ErrorInfo' : 'resourceName' in plain ? 'ResourceInfo' : 'other';
  return [kind, plain];
}
