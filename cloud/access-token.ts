import { readFileSync } from 'node:fs';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** A token is of no project; where none is named the library runs gcloud to learn one, half a second and more. */
const NO_PROJECT = 'unused';

/**
 * The access token in a file, read at each call, since its owner may put another one there; undefined without a file, or while there
 * is none. It is for a server on this computer, which takes no other credentials (docs/adr/0076).
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
 * Tokens of the application default credentials for plain HTTP requests to `endpoint`. The library is loaded at the first
 * token. Over `http:` there are none but the one in `file`: a token must not travel in the clear, and who serves so asks for none.
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
