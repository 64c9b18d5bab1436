import { readFileSync } from 'node:fs';

/** The files that hold the login for a Temporal server. */
export interface LoginFiles {
  /** PEM file of the authority of the server's certificate. Absent: the authorities that this computer trusts. */
  readonly tlsCaFile?: string | undefined;
  /** The name in that certificate, if it is not the host. */
  readonly tlsServerName?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  /** For use without certificate files. Absent: TLS if there is an API key. */
  readonly tls?: boolean | undefined;
}

/** The form that Temporal's clients take, native ones too. */
export interface TemporalLogin {
  readonly tls?: boolean | { readonly serverRootCACertificate?: Buffer; readonly serverNameOverride?: string };
  readonly apiKey?: string;
}

/** Reads the files at each call, because a restarted server has new ones. @throws Error from the file system */
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
