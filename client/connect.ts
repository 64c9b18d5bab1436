import { fileErrorWords } from '../domain/errors.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Unreachable } from '../cloud/temporal/explain-refusal.js';
import type { CodecReferences } from '../cloud/codec/codec-key.js';
import { TemporalRefused, TemporalUnreachable } from './errors.js';

export interface TemporalOptions {
  readonly address?: string;
  readonly namespace?: string;
  /** Keys of the payload codec, if the installation encrypts payloads (docs/encryption.md). */
  readonly codec?: CodecReferences;
  /** TLS and API key of the server. Temporal's own settings take precedence. */
  readonly connection?: Pick<ConnectionOptions, 'tls' | 'apiKey'>;
  /** Temporal's own settings that fill in missing ones: `all`, only TEMPORAL_* `variables`, or `none`. Absent: all. */
  readonly ownSettings?: 'all' | 'variables' | 'none';
}

/**
 * Connects a Temporal Client. Settings that `options` lacks come from @temporalio/envconfig: TEMPORAL_* variables and
 * temporal.toml, TLS and API keys included.
 * @throws TemporalUnreachable with the reason, within about 10 s; TemporalRefused if the server refuses or the settings cannot
 *   be read; CodecKeyError.
 */
export async function connectTemporal(
  options: TemporalOptions,
): Promise<{ client: Client; address: string; close: () => Promise<void> }> {
  const [{ Client, Connection }, { openCodec }] = await Promise.all([
    import('@temporalio/client'),
    import('../cloud/codec/payload-codec.js'),
  ]);
  const dataConverter = { payloadCodecs: [await openCodec(options.codec ?? {}, { onUnknownKey: 'mark' })] };
  const configured = await fromEnvironment(options);
  const settings: ConnectionOptions = { ...options.connection, ...configured.options };
  const address = options.address ?? configured.address ?? '127.0.0.1:7233';
  const namespace = options.namespace ?? configured.namespace ?? 'default';
  try {
    const connecting = Connection.connect({ ...settings, address, connectTimeout: '5s' });
    const connection = await Promise.race([connecting, lastingRefusal(connecting, address, settings)]);
    const client = new Client({ connection, namespace, dataConverter });
    return { client, address, close: () => connection.close() };
  } catch (error) {
    if (error instanceof TemporalUnreachable) throw error;
    const { explainRefusal } = await import('../cloud/temporal/explain-refusal.js');
    const refusal = explainRefusal(error, namespace);
    if (refusal?.kind === 'refused')
      throw new TemporalRefused(`Temporal at ${address}: ${refusal.why}`, refusal.remedy);
    const found = await look(address, settings);
    throw unreachable(address, found ?? { why: (error as Error).message });
  }
}

const LOOK_AFTER_MS = 700;

/** Rejects early if waiting cannot help, as with an untrusted certificate. Otherwise the promise never settles. */
async function lastingRefusal(
  connecting: Promise<unknown>,
  address: string,
  options: ConnectionOptions,
): Promise<never> {
  const isOver = await Promise.race([
    connecting.then(
      () => true,
      () => true,
    ),
    sleep(LOOK_AFTER_MS, false, { ref: false }),
  ]);
  const found = isOver ? undefined : await look(address, options);
  if (found?.isLasting) throw unreachable(address, found);
  return new Promise(() => undefined);
}

/** Finds the cause of a failure itself, because the SDK reports every failure as a deadline. */
async function look(address: string, options: ConnectionOptions): Promise<Unreachable | undefined> {
  const { whyUnreachable } = await import('../cloud/temporal/explain-refusal.js');
  return whyUnreachable({ address, tls: options.tls ?? options.apiKey !== undefined });
}

const unreachable = (address: string, { why, remedy }: Pick<Unreachable, 'why'> & Partial<Unreachable>) =>
  new TemporalUnreachable(`Temporal at ${address} cannot be reached: ${why}`, remedy);

/** Loads @temporalio/envconfig only if it could add something, because it costs start-up time. */
async function fromEnvironment(
  options: TemporalOptions,
): Promise<{ address?: string; namespace?: string; options: ConnectionOptions }> {
  const isSilent = !Object.keys(process.env).some((name) => name.startsWith('TEMPORAL_'));
  const { ownSettings = 'all' } = options;
  if (ownSettings === 'none' || (isSilent && options.address !== undefined)) return { options: {} };
  const { loadClientConnectConfig } = await import('@temporalio/envconfig');
  const { connectionOptions, namespace } = readSettings(() =>
    loadClientConnectConfig({ disableFile: ownSettings === 'variables' }),
  );
  const { address } = connectionOptions;
  return {
    ...(address === undefined ? {} : { address }),
    ...(namespace === undefined ? {} : { namespace }),
    // The library returns `apiKey: undefined` if no variable sets it, which would override the caller's key.
    options: Object.fromEntries(Object.entries(connectionOptions).filter(([, value]) => value !== undefined)),
  };
}

/** @throws TemporalRefused if, for example, the profile does not exist or a certificate file cannot be read */
function readSettings<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    throw new TemporalRefused(
      `the settings of Temporal's client cannot be read: ${settingsWords(error as Error)}`,
      'they are in TEMPORAL_* variables and in temporal.toml (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE)',
    );
  }
}

/** Rewords messages of the library, which passes on those of its TOML parser and of the system. */
function settingsWords({ message }: Error): string {
  if (message.startsWith('Invalid TOML'))
    return `its file is not TOML (line ${/^(\d+): .*\n *\^/m.exec(message)?.[1] ?? '?'})`;
  const profile = /^Profile '(.*)' not found/.exec(message)?.[1];
  if (profile !== undefined) return `no profile '${profile}' is in temporal.toml`;
  const [, code, path] = /^(E[A-Z]+): [^']*'([^']+)'$/.exec(message) ?? [];
  return path === undefined ? message : `${path}: ${fileErrorWords({ code })}`;
}

/**
 * A data converter for a service that talks to jobctl's workflows with its own Temporal Client or Worker and must read
 * encrypted payloads: `new Client({ .., dataConverter: await jobDataConverter({ key: 'file:///etc/jobctl/key' }) })`
 * (docs/encryption.md). It also reads plain payloads.
 * @throws CodecKeyError
 */
export async function jobDataConverter(codec: CodecReferences): Promise<DataConverter> {
  const { openCodec } = await import('../cloud/codec/payload-codec.js');
  return { payloadCodecs: [await openCodec(codec, { onUnknownKey: 'fail' })] };
}
