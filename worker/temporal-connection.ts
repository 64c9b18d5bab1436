import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { ApiKeyFile, readLogin } from '../cloud/temporal/login-files.js';
import { explainRefusal, whyUnreachable } from '../cloud/temporal/explain-refusal.js';
import type { WorkerConfig } from './config.js';

export interface WorkerConnection {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly address: string;
}

/** Connects once. @throws Error with the address, the reason and the remedy */
export async function connectWorker({ temporal }: WorkerConfig): Promise<WorkerConnection> {
  const profile = temporal.profile === undefined ? {} : { profile: temporal.profile };
  const { connectionOptions, namespace: configured } = loadClientConnectConfig(profile);
  const namespace = temporal.namespace ?? configured ?? 'default';
  const address = temporal.address ?? connectionOptions.address ?? '127.0.0.1:7233';
  const options = { ...connectionOptions, ...readLogin(temporal), address } as NativeConnectionOptions;
  try {
    const connection = await NativeConnection.connect(options);
    return { connection, namespace, address };
  } catch (error) {
    const refusal = explainRefusal(error, namespace);
    if (refusal?.kind === 'refused') {
      throw new Error(`Temporal at ${address}: ${refusal.why}\n  ${refusal.remedy}`, { cause: error });
    }
    const tls = options.tls ?? options.apiKey !== undefined;
    const found = await whyUnreachable({ address, tls });
    const { why = (error as Error).message, remedy = ASK } = found ?? {};
    throw new Error(`Temporal at ${address} cannot be reached: ${why}\n  ${remedy}`, { cause: error });
  }
}

const ASK = 'is the address right (TEMPORAL_ADDRESS, --temporal-address), is the server up?';

/** Uses a renewed API key from the next call on. @returns a function that ends the watch */
export function followApiKey(
  { temporal: { apiKeyFile } }: WorkerConfig,
  { connection }: WorkerConnection,
  warn: (text: string) => void,
): () => void {
  if (apiKeyFile === undefined) return () => undefined;
  const onChange = (apiKey: string): void =>
    void connection.setApiKey(apiKey).catch((error: unknown) => warn(`the new API key is not used: ${String(error)}`));
  const file = ApiKeyFile.follow(apiKeyFile, { onChange, warn });
  return () => file.close();
}
