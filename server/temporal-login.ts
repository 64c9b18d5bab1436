import type { TemporalOptions } from '../client/connect.js';
import { ApiKeyFile } from '../cloud/temporal/api-key-file.js';
import { readLogin } from '../cloud/temporal/login-files.js';
import { fileErrorWords } from '../domain/error-words.js';
import { type ServerConfig, ServerConfigError } from './config.js';

/** Options for a server's connection to Temporal. A renewed API key is used from the next call on. @throws ServerConfigError */
export function temporalLogin(
  { temporal, codec }: ServerConfig,
  warn: (text: string) => void,
): { readonly options: TemporalOptions; close(): void } {
  const { address, namespace, tlsCaFile, tlsServerName } = temporal;
  const apiKeyFile = temporal.apiKeyFile ?? (process.env['JOBCTL_TEMPORAL_API_KEY_FILE'] || undefined);
  try {
    const { tls } = readLogin({ tlsCaFile, tlsServerName, tls: temporal.tls });
    const file = apiKeyFile === undefined ? undefined : ApiKeyFile.follow(apiKeyFile, { warn });
    const options: TemporalOptions = {
      ...(address === undefined ? {} : { address }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(codec === undefined ? {} : { codec }),
      connection: {
        ...(tls === undefined ? {} : { tls }),
        ...(file === undefined ? {} : { apiKey: () => file.current }),
      },
    };
    return { options, close: () => file?.close() };
  } catch (error) {
    const { path = 'a file' } = error as NodeJS.ErrnoException;
    throw new ServerConfigError(`temporal: ${path} cannot be read: ${fileErrorWords(error)}`);
  }
}
