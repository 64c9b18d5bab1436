import type * as OpenIdClient from 'openid-client';
import { NotLoggedIn, ServerUnreachable } from '../../../client/errors.js';
import { isLoopback } from '../../../client/http/server-options.js';
import { claimsOf, type OidcLogin } from './stored-logins.js';

/** An issuer, and the client with which people log in there. */
export interface IssuerClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Secret of a client on people's computers, which cannot keep secrets: public by design. */
  readonly clientSecret?: string | undefined;
}

export interface OpenedIssuer {
  readonly oidc: typeof OpenIdClient;
  readonly config: OpenIdClient.Configuration;
}

const TIMEOUT_S = 20;

/** Reads the issuer's metadata. @throws ServerUnreachable */
export async function openIssuer({ issuer, clientId, clientSecret }: IssuerClient): Promise<OpenedIssuer> {
  const oidc = await import('openid-client');
  const url = new URL(issuer);
  const auth = clientSecret === undefined ? oidc.None() : oidc.ClientSecretPost(clientSecret);
  const isLocal = url.protocol === 'http:' && isLoopback(url.hostname);
  const options = { timeout: TIMEOUT_S, ...(isLocal && { execute: [oidc.allowInsecureRequests] }) };
  try {
    return { oidc, config: await oidc.discovery(url, clientId, undefined, auth, options) };
  } catch (error) {
    throw new ServerUnreachable(
      `issuer ${issuer} cannot be asked how to log in: ${wordsOf(error)}`,
      `${new URL('.well-known/openid-configuration', issuer.endsWith('/') ? issuer : `${issuer}/`).href} is what it has to answer`,
    );
  }
}

/** Renews tokens that expire. @throws NotLoggedIn if the issuer no longer accepts the login; ServerUnreachable */
export async function refreshed(login: OidcLogin): Promise<OidcLogin> {
  const { issuer, refreshToken, expiresAt } = login;
  if (refreshToken === undefined)
    throw new NotLoggedIn(`your login at ${issuer} ended at ${new Date(expiresAt).toISOString()}`);
  const { oidc, config } = await openIssuer(login);
  try {
    return loginOf(login, await oidc.refreshTokenGrant(config, refreshToken), refreshToken);
  } catch (error) {
    if (error instanceof NotLoggedIn) throw error;
    if (error instanceof oidc.ResponseBodyError)
      throw new NotLoggedIn(`${issuer} does not renew your login: ${wordsOf(error)}`);
    throw new ServerUnreachable(`issuer ${issuer} does not renew your login: ${wordsOf(error)}`);
  }
}

/** The result of a grant in stored form. @param before the refresh token that stays valid if no new one came */
export function loginOf(
  { issuer, clientId, clientSecret }: IssuerClient,
  tokens: OpenIdClient.TokenEndpointResponse,
  before?: string,
): OidcLogin {
  const { id_token: idToken, refresh_token: refreshToken = before } = tokens;
  const claims = idToken === undefined ? undefined : claimsOf(idToken);
  if (idToken === undefined || claims === undefined)
    throw new NotLoggedIn(`${issuer} gave no ID token`, 'the scopes that the server names have to have openid');
  return {
    ...{ kind: 'oidc', issuer, clientId, idToken, expiresAt: claims.expiresAt },
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(refreshToken === undefined ? {} : { refreshToken }),
  };
}

/** The issuer's own message: an error code and a description, never a token. */
export function wordsOf(error: unknown): string {
  const { error: code, error_description: description, message, cause } = error as Record<string, unknown>;
  if (typeof code === 'string') return description === undefined ? code : `${code}: ${String(description)}`;
  const { code: system, message: inner } = (cause ?? {}) as Record<string, unknown>;
  if (message === 'fetch failed') return String(inner ?? system);
  return typeof system === 'string' && system !== message ? `${String(message)} (${system})` : String(message);
}
