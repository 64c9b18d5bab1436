const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** A token is of no project; where none is named the library runs gcloud to learn one, half a second and more. */
const NO_PROJECT = 'unused';

/**
 * Tokens of the application default credentials for plain HTTP requests to `endpoint`. The library is loaded at the first
 * token. Over `http:` there are none: a token must not travel in the clear, and who serves so asks for none.
 */
export function accessTokens(endpoint: string): () => Promise<string | undefined> {
  if (new URL(endpoint).protocol === 'http:') return async () => undefined;
  let tokens: Promise<{ getAccessToken(): Promise<string | null | undefined> }> | undefined;
  return async () => {
    tokens ??= import('google-auth-library').then(
      ({ GoogleAuth }) => new GoogleAuth({ scopes: [SCOPE], projectId: NO_PROJECT }),
    );
    return (await (await tokens).getAccessToken()) ?? undefined;
  };
}
