import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as OpenIdClient from 'openid-client';
import type { TokenEndpointResponse } from 'openid-client';
import { NotLoggedIn, ServerUnreachable } from '../../../client/errors.js';
import { spawn } from 'node:child_process';
import type { Environment } from '../../terminal/home.js';
import { isLoopback } from '../../../client/http/server-options.js';
import { claimsOf, type OidcLogin } from './stored-logins.js';

/** Logins at an OpenID Connect issuer: by the browser, and their renewal. */

const PATH = '/callback';
/** Time that a user has for the login at the issuer. */
export const LOGIN_PATIENCE_MS = 10 * 60_000;

interface LoopbackWish {
  readonly scopes: readonly string[];
  readonly signal: AbortSignal;
  /** Shows the address to the user. */
  readonly show: (url: string) => void;
}

/**
 * Logs in by authorization code with PKCE: the issuer sends the browser back to a port of this computer (RFC 8252). Only a
 * request with the state of this login counts; other requests are answered and ignored, so that another page cannot end the
 * login.
 * @throws NotLoggedIn
 */
export async function loopbackLogin(
  { oidc, config }: OpenedIssuer,
  { scopes, signal, show }: LoopbackWish,
): Promise<TokenEndpointResponse> {
  const [pkceCodeVerifier, expectedState, expectedNonce] = [
    oidc.randomPKCECodeVerifier(),
    oidc.randomState(),
    oidc.randomNonce(),
  ];
  const back = await listen(expectedState);
  try {
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: back.redirectUri,
      scope: scopes.join(' '),
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
      ...refreshWish(config.serverMetadata().issuer, scopes),
    });
    show(url.href);
    const current = await Promise.race([back.called, aborted(signal)]);
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
    return await oidc.authorizationCodeGrant(config, current, checks);
  } catch (error) {
    if (error instanceof NotLoggedIn) throw error;
    throw new NotLoggedIn(`${config.serverMetadata().issuer} gave no login: ${wordsOf(error)}`);
  } finally {
    back.server.close();
    back.server.closeAllConnections();
  }
}

/** Parameters that make an issuer return a refresh token. */
function refreshWish(issuer: string, scopes: readonly string[]): Record<string, string> {
  if (issuer === 'https://accounts.google.com') return { access_type: 'offline', prompt: 'consent' };
  return scopes.includes('offline_access') ? { prompt: 'consent' } : {};
}

interface Back {
  readonly server: Server;
  readonly redirectUri: string;
  /** The address that the issuer sent the browser to. */
  readonly called: Promise<URL>;
}

function listen(state: string): Promise<Back> {
  return new Promise((resolve, reject) => {
    let origin = '';
    let done: (url: URL) => void = () => undefined;
    const called = new Promise<URL>((told) => (done = told));
    const server = createServer((request, response) => {
      const url = callOf(request, origin);
      const problem = url === undefined ? 404 : url.searchParams.get('state') === state ? undefined : 400;
      answer(response, problem, url?.searchParams.has('error') === true);
      if (problem === undefined && url !== undefined) done(url);
    });
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      resolve({ server, redirectUri: `${origin}${PATH}`, called });
    });
  });
}

/** The URL of the issuer's answer. Undefined for other requests and foreign host names: a page may rebind a name to 127.0.0.1. */
function callOf({ method, url = '', headers }: IncomingMessage, origin: string): URL | undefined {
  if (method !== 'GET' || `http://${headers.host}` !== origin || !URL.canParse(url, origin)) return undefined;
  const called = new URL(url, origin);
  return called.pathname === PATH ? called : undefined;
}

const WORDS: Readonly<Record<number, string>> = {
  400: 'This is not the answer to the login that jobctl waits for.',
  404: 'There is nothing here.',
};

function answer(response: ServerResponse, problem: number | undefined, isRefused: boolean): void {
  response.writeHead(problem ?? 200, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    connection: 'close',
  });
  const done = isRefused ? 'jobctl was given no login.' : 'jobctl has your login.';
  response.end(`${(problem && WORDS[problem]) ?? `${done} You can close this page.`}\n`);
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const fail = (): void => reject(new NotLoggedIn('nobody logged in at the issuer: nothing was changed'));
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });

interface DeviceWish {
  readonly scopes: readonly string[];
  readonly signal: AbortSignal;
  /** Shows the address, and the code to enter there. */
  readonly show: (url: string, code: string) => void;
}

export const hasDeviceLogin = ({ config }: OpenedIssuer): boolean =>
  config.serverMetadata().device_authorization_endpoint !== undefined;

/** Logs in a device without a browser (RFC 8628): the user enters a code in the browser of another device. @throws NotLoggedIn */
export async function deviceLogin(
  { oidc, config }: OpenedIssuer,
  { scopes, signal, show }: DeviceWish,
): Promise<TokenEndpointResponse> {
  const { issuer } = config.serverMetadata();
  try {
    const begun = await oidc.initiateDeviceAuthorization(config, { scope: scopes.join(' ') });
    show(begun.verification_uri, begun.user_code);
    return await oidc.pollDeviceAuthorizationGrant(config, begun, undefined, { signal });
  } catch (error) {
    if (signal.aborted) throw new NotLoggedIn('nobody logged in at the issuer: nothing was changed');
    throw new NotLoggedIn(`${issuer} gave no login: ${wordsOf(error)}`);
  }
}

/** The program that opens an address for a user at this computer. Undefined: there is no display. */
export function browserOf(env: Environment, platform = process.platform): string | undefined {
  if (env['BROWSER']) return env['BROWSER'];
  if (platform === 'darwin') return 'open';
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? 'xdg-open' : undefined;
}

/** Opens the address in the browser. Never fails: the address was printed too. */
export function openBrowser(program: string, url: string): void {
  const browser = spawn(program, [url], { detached: true, stdio: 'ignore' });
  browser.once('error', () => undefined);
  browser.unref();
}

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
