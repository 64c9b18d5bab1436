import { readFileSync } from 'node:fs';

/** Where the login for a Temporal server is kept. */
export interface LoginFiles {
  /** PEM: the authority of the server's certificate. Absent: those that this computer trusts. */
  readonly tlsCaFile?: string | undefined;
  /** The name in that certificate, if it is not the host. */
  readonly tlsServerName?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  /** Without certificate files. Absent: TLS where there is an API key. */
  readonly tls?: boolean | undefined;
}

/** As Temporal's clients take it, native ones too. */
export interface TemporalLogin {
  readonly tls?: boolean | { readonly serverRootCACertificate?: Buffer; readonly serverNameOverride?: string };
  readonly apiKey?: string;
}

/** Read anew at each call: a server that is started again has other ones. Empty without files. @throws Error of the file system */
export function readLogin({ tlsCaFile, tlsServerName, apiKeyFile, tls }: LoginFiles): TemporalLogin {
  const files = {
    ...(tlsCaFile !== undefined && { serverRootCACertificate: readFileSync(tlsCaFile) }),
    ...(tlsServerName !== undefined && { serverNameOverride: tlsServerName }),
  };
  return {
    ...(Object.keys(files).length > 0 ? { tls: files } : tls !== undefined && { tls }),
    ...(apiKeyFile !== undefined && { apiKey: readFileSync(apiKeyFile, 'utf8').trim() }),
  };
}
