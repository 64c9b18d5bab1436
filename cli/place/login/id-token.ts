/** Claims of an ID token. They are not verified here: the server does that. */
export interface TokenClaims {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly subject: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Returns the claims, or undefined if the text is no JSON Web Token. */
export function claimsOf(token: string): TokenClaims | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
    const { iss, aud, sub, exp, email } = claims;
    if (typeof iss !== 'string' || typeof exp !== 'number') return undefined;
    const audiences = (Array.isArray(aud) ? aud : [aud]).map(String);
    return { issuer: iss, audiences, subject: String(email ?? sub), expiresAt: exp * 1_000 };
  } catch {
    return undefined;
  }
}

/** A token that expires sooner is not sent: it could expire on its way. */
export const LEAST_LIFE_MS = 60_000;

export const isFresh = (expiresAt: number, now = Date.now()): boolean => expiresAt - now > LEAST_LIFE_MS;
