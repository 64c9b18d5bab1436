import { readFileSync } from 'node:fs';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Given to the library as the project. Without one, the library runs gcloud to find it, which takes half a second or more. */
const NO_PROJECT = 'unused';

/**
 * The access token in a file, or undefined without a file or while the file does not exist. The file is read at each call, since
 * its owner may replace the token. It is for a server on this computer, which takes no other credentials (docs/adr/0076).
 */
export function tokenInFile(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Tokens of the application default credentials for plain HTTP requests to `endpoint`. The library is loaded at the first token.
 * For `http:` only the token in `file` is used: others must not travel in the clear, and such a server asks for no token.
 */
export function accessTokens(endpoint: string, file?: string): () => Promise<string | undefined> {
  if (new URL(endpoint).protocol === 'http:') return async () => tokenInFile(file);
  let tokens: Promise<{ getAccessToken(): Promise<string | null | undefined> }> | undefined;
  return async () => {
    tokens ??= import('google-auth-library').then(
      ({ GoogleAuth }) => new GoogleAuth({ scopes: [SCOPE], projectId: NO_PROJECT }),
    );
    return (await (await tokens).getAccessToken()) ?? undefined;
  };
}
