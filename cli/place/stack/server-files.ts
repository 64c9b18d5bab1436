import { join } from 'node:path';
import type { LoginFiles } from '../../../cloud/temporal/login-files.js';
import type { StackHome } from '../../terminal/home.js';

/** The one name in the server's certificate. */
export const SERVER_NAME = 'localhost';

/** Files in the state folder of a server that authenticates callers: mode 0600 in a folder of mode 0700. */
export interface ServerFiles {
  readonly folder: string;
  /** The authority that both sides trust. Its key is not stored. */
  readonly authority: string;
  /** The certificate of the frontend, and of the server's services among each other. */
  readonly certificate: string;
  readonly certificateKey: string;
  /** The one API key: a JWT that lets its holder do everything. */
  readonly apiKey: string;
  /** In the folder `config`. */
  readonly configuration: string;
  readonly dynamicConfiguration: string;
}

export function serverFiles({ serverDir: folder }: Pick<StackHome, 'serverDir'>): ServerFiles {
  return {
    folder,
    authority: join(folder, 'ca.pem'),
    certificate: join(folder, 'server.pem'),
    certificateKey: join(folder, 'server-key.pem'),
    apiKey: join(folder, 'api-key'),
    configuration: join(folder, 'config', 'stack.yaml'),
    dynamicConfiguration: join(folder, 'config', 'dynamic.yaml'),
  };
}

/** Login files for clients of that server. */
export function serverLoginFiles(home: Pick<StackHome, 'serverDir'>): LoginFiles {
  const { authority, apiKey } = serverFiles(home);
  return { tlsCaFile: authority, tlsServerName: SERVER_NAME, apiKeyFile: apiKey };
}
