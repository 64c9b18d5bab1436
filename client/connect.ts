import type { Client, ConnectionOptions } from '@temporalio/client';
import type { CodecReferences } from '../cloud/codec/codec-references.js';
import { TemporalRefused, TemporalUnreachable } from './errors.js';

export interface TemporalOptions {
  readonly address?: string;
  readonly namespace?: string;
  /** Keys of the payload codec, where the installation encrypts (docs/encryption.md). */
  readonly codec?: CodecReferences;
}

/**
 * A Temporal Client from what is given and, where it is silent, from @temporalio/envconfig (TEMPORAL_*, temporal.toml;
 * TLS and API keys too). @throws TemporalUnreachable, which says why, within some 10 s; TemporalRefused for settings that cannot be read; CodecKeyError.
 */
export async function connectTemporal(
  options: TemporalOptions,
): Promise<{ client: Client; address: string; close: () => Promise<void> }> {
  const [{ Client, Connection }, { openCodec }] = await Promise.all([
    import('@temporalio/client'),
    import('../cloud/codec/open-codec.js'),
  ]);
  const dataConverter = { payloadCodecs: [await openCodec(options.codec ?? {}, { onUnknownKey: 'mark' })] };
  const configured = await fromEnvironment(options);
  const address = options.address ?? configured.address ?? '127.0.0.1:7233';
  try {
    const connection = await Connection.connect({ ...configured.options, address, connectTimeout: '5s' });
    const namespace = options.namespace ?? configured.namespace ?? 'default';
    const client = new Client({ connection, namespace, dataConverter });
    return { client, address, close: () => connection.close() };
  } catch (error) {
    throw await unreachable(address, configured.options, error as Error);
  }
}

/** The SDK says 'deadline' whatever the cause is: it is looked for here. */
async function unreachable(address: string, options: ConnectionOptions, error: Error): Promise<TemporalUnreachable> {
  const { whyUnreachable } = await import('../cloud/temporal/why-unreachable.js');
  const tls = options.tls ?? options.apiKey !== undefined;
  const found = await whyUnreachable({ address, tls });
  return new TemporalUnreachable(
    `Temporal at ${address} cannot be reached: ${found?.why ?? error.message}`,
    found?.remedy,
  );
}

/** Not loaded where the caller has said everything and the environment says nothing: a start-up cost. */
async function fromEnvironment(
  options: TemporalOptions,
): Promise<{ address?: string; namespace?: string; options: ConnectionOptions }> {
  const isSilent = !Object.keys(process.env).some((name) => name.startsWith('TEMPORAL_'));
  if (isSilent && options.address !== undefined) return { options: {} };
  const { loadClientConnectConfig } = await import('@temporalio/envconfig');
  const { connectionOptions, namespace } = readSettings(loadClientConnectConfig);
  const { address } = connectionOptions;
  return {
    ...(address === undefined ? {} : { address }),
    ...(namespace === undefined ? {} : { namespace }),
    options: connectionOptions,
  };
}

/** A profile that is not there, a certificate file that cannot be read. */
function readSettings<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    throw new TemporalRefused(
      `the settings of Temporal's client cannot be read: ${(error as Error).message}`,
      'they are in TEMPORAL_* variables and in temporal.toml (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE)',
    );
  }
}
