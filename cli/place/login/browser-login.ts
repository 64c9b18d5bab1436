import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TokenEndpointResponse } from 'openid-client';
import { NotLoggedIn } from '../../../client/errors.js';
import { type OpenedIssuer, wordsOf } from './issuer-client.js';
import { spawn } from 'node:child_process';
import type { Environment } from '../../terminal/home.js';

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
