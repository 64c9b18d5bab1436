import type { Client, ConnectionOptions } from '@temporalio/client';
import { TemporalUnreachable } from './errors.js';

export interface TemporalOptions {
  readonly address?: string;
  readonly namespace?: string;
}

/**
 * A Temporal Client from what is given and, where it is silent, from @temporalio/envconfig (TEMPORAL_*, temporal.toml;
 * TLS and API keys too). @throws TemporalUnreachable within 5 s.
 */
export async function connectTemporal(
  options: TemporalOptions,
): Promise<{ client: Client; address: string; close: () => Promise<void> }> {
  const { Client, Connection } = await import('@temporalio/client');
  const configured = await fromEnvironment(options);
  const address = options.address ?? configured.address ?? '127.0.0.1:7233';
  try {
    const connection = await Connection.connect({ ...configured.options, address, connectTimeout: '5s' });
    const client = new Client({ connection, namespace: options.namespace ?? configured.namespace ?? 'default' });
    return { client, address, close: () => connection.close() };
  } catch (error) {
    throw new TemporalUnreachable(`Temporal at ${address} cannot be reached: ${(error as Error).message}`);
  }
}

/** Not loaded where the caller has said everything and the environment says nothing: a start-up cost. */
async function fromEnvironment(
  options: TemporalOptions,
): Promise<{ address?: string; namespace?: string; options: ConnectionOptions }> {
  const isSilent = !Object.keys(process.env).some((name) => name.startsWith('TEMPORAL_'));
  if (isSilent && options.address !== undefined) return { options: {} };
  const { loadClientConnectConfig } = await import('@temporalio/envconfig');
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const { address } = connectionOptions;
  return {
    ...(address === undefined ? {} : { address }),
    ...(namespace === undefined ? {} : { namespace }),
    options: connectionOptions,
  };
}
