import type * as OpenIdClient from 'openid-client';
import { messageOf } from '../../domain/errors.js';
import { type IssuerConfig, type ServerConfig, secretText } from '../config.js';
import { PAGE_PATH } from '../page-files.js';
import { ApiError } from '../problem.js';
import { isOnThisComputer, limitedFetch, readMetadata } from './issuer-metadata.js';

/** Sent by a page to begin a login. The page keeps the verifier, and knows the answer by `state`. */
interface Begin {
  readonly issuer: string;
  /** SHA-256 of the verifier (RFC 7636). */
  readonly challenge: string;
  readonly state: string;
  readonly nonce: string;
}

/** Sent by a page to which a login came back, with the values that it kept. */
interface End {
  readonly issuer: string;
  readonly code: string;
  /** The issuer by its own word (RFC 9207). Absent: it said none. */
  readonly iss?: string | undefined;
  readonly verifier: string;
  readonly nonce: string;
}

/** An issuer that the page offers. */
export type PageIssuer = IssuerConfig & { readonly page: NonNullable<IssuerConfig['page']> };

const hasPage = (issuer: IssuerConfig): issuer is PageIssuer => issuer.page !== undefined;

/** The issuer's name in the page: that of the configuration, or its host. */
export const nameOf = ({ issuer, page }: PageIssuer): string => page.name ?? new URL(issuer).host;

/**
 * The address to which an issuer sends browsers back. Several issuers have an address each, so that one of them cannot have
 * the server bring it the code of another (RFC 9700, 4.4).
 */
export const redirectUri = ({ page: { name } }: PageIssuer, publicUrl: string): string =>
  new URL(`${PAGE_PATH}/login${name === undefined ? '' : `/${name}`}`, publicUrl).href;

/** Most characters of an issuer's own words in a message. */
const MOST_WORDS = 300;
const TIMEOUT_S = 20;
const CLOCK_SKEW_S = 30;
/** An issuer's metadata are read again after this long. */
const KEPT_MS = 3_600_000;

interface Opened {
  readonly oidc: typeof OpenIdClient;
  readonly config: OpenIdClient.Configuration;
}

/**
 * Logins of people in the page: authorization code with PKCE, in which this server is the client (docs/adr/0175). It keeps
 * nothing of a login. State, nonce and verifier are the page's; the secret of the client never leaves this server.
 */
export class PageLogins {
  readonly #issuers: ReadonlyMap<string, PageIssuer>;
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #publicUrl: string;
  readonly #opened = new Map<string, { readonly opened: Promise<Opened>; readonly until: number }>();

  /** @throws ServerConfigError if a secret cannot be read */
  constructor({ issuers, publicUrl = '' }: Pick<ServerConfig, 'issuers' | 'publicUrl'>) {
    const own = issuers.filter(hasPage);
    this.#issuers = new Map(own.map((each) => [each.issuer, each]));
    this.#secrets = new Map(
      own.flatMap(({ issuer, page: { clientSecret } }): [string, string][] =>
        clientSecret === undefined ? [] : [[issuer, secretText(clientSecret, 'issuers.page.clientSecret').trim()]],
      ),
    );
    this.#publicUrl = publicUrl;
  }

  /** The name of the issuer in the page. Undefined: people do not log in there by the page. */
  nameOf(issuer: string): string | undefined {
    const own = this.#issuers.get(issuer);
    return own && nameOf(own);
  }

  /** The address at the issuer to which the page goes. @throws ApiError */
  async begin({ issuer, challenge, state, nonce }: Begin): Promise<string> {
    const own = this.#own(issuer);
    const { oidc, config } = await this.#open(own);
    const url = oidc.buildAuthorizationUrl(config, {
      ...{ redirect_uri: redirectUri(own, this.#publicUrl), scope: scopesOf(own), state, nonce },
      ...{ code_challenge: challenge, code_challenge_method: 'S256' },
    });
    return url.href;
  }

  /** The ID token for a code. Its signature is not verified here. @throws ApiError */
  async end({ issuer, code, iss, verifier, nonce }: End): Promise<string> {
    const own = this.#own(issuer);
    const { oidc, config } = await this.#open(own);
    const answer = new URL(redirectUri(own, this.#publicUrl));
    answer.searchParams.set('code', code);
    if (iss !== undefined) answer.searchParams.set('iss', iss);
    try {
      const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, idTokenExpected: true };
      const { id_token: token } = await oidc.authorizationCodeGrant(config, answer, checks);
      if (token !== undefined) return token;
    } catch (error) {
      throw refusalOf(error, own, oidc);
    }
    throw new ApiError('unauthenticated', `${issuer} gave no ID token`, 'scopes of this issuer have to have openid');
  }

  #own(issuer: string): PageIssuer {
    const own = this.#issuers.get(issuer);
    if (own !== undefined) return own;
    throw new ApiError(
      'invalid',
      `issuer: '${issuer}' has no login in the page`,
      'GET /v1/login names those that have one: `page`',
    );
  }

  /** @throws ApiError `unavailable` */
  async #open(own: PageIssuer): Promise<Opened> {
    const { issuer } = own;
    const known = this.#opened.get(issuer);
    if (known !== undefined && performance.now() < known.until) return known.opened;
    const opened = this.#discovered(own).catch((error: unknown) => {
      this.#opened.delete(issuer);
      throw new ApiError('unavailable', `${issuer} cannot be asked how to log in: ${messageOf(error)}`, 'try again');
    });
    this.#opened.set(issuer, { opened, until: performance.now() + KEPT_MS });
    return opened;
  }

  async #discovered({ issuer, page: { clientId } }: PageIssuer): Promise<Opened> {
    const [oidc, metadata] = await Promise.all([import('openid-client'), readMetadata(issuer)]);
    const { authorization_endpoint: authorize, token_endpoint: token } = metadata;
    if (authorize === undefined || token === undefined)
      throw new Error('its discovery document has no authorization_endpoint or no token_endpoint');
    const secret = this.#secrets.get(issuer);
    const auth = secret === undefined ? oidc.None() : secretAuth(oidc, metadata, secret);
    const config = new oidc.Configuration(metadata, clientId, { [oidc.clockTolerance]: CLOCK_SKEW_S }, auth);
    config.timeout = TIMEOUT_S;
    config[oidc.customFetch] = (url, options) => limitedFetch(url, options as RequestInit);
    if (isOnThisComputer(issuer)) oidc.allowInsecureRequests(config);
    return { oidc, config };
  }
}

/** A page needs no renewal: its login lasts as long as its ID token. */
const scopesOf = ({ scopes }: PageIssuer): string => scopes.filter((scope) => scope !== 'offline_access').join(' ');

/** A client with a secret sends it by Basic unless it is told otherwise (OpenID Connect Core 1.0, 9). */
function secretAuth(
  oidc: typeof OpenIdClient,
  { token_endpoint_auth_methods_supported: methods }: OpenIdClient.ServerMetadata,
  secret: string,
): OpenIdClient.ClientAuth {
  const isPost = methods !== undefined && !methods.includes('client_secret_basic');
  return isPost ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret);
}

/** Codes of a token endpoint that refuses the server, and not the person. */
const OF_THE_CLIENT: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client', 'invalid_request']);
/** Codes of the library for an answer that is not one to this login, or is damaged. */
const OF_THE_ANSWER: ReadonlySet<unknown> = new Set([
  ...['OAUTH_INVALID_RESPONSE', 'OAUTH_PARSE_ERROR', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
  ...['OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED', 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED', 'OAUTH_UNSUPPORTED_OPERATION'],
]);

function refusalOf(error: unknown, { issuer, page }: PageIssuer, oidc: typeof OpenIdClient): ApiError {
  if (error instanceof oidc.ResponseBodyError) {
    const { error: code, error_description: description } = error;
    const said = description === undefined ? code : `${code}: ${description}`;
    const words = `${issuer} gave no login: ${said.slice(0, MOST_WORDS)}`;
    return OF_THE_CLIENT.has(code)
      ? new ApiError('unavailable', words, `an operator looks at client ${page.clientId} and its secret (serve.json)`)
      : new ApiError('unauthenticated', words, 'log in again');
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError)
    return new ApiError(
      'unavailable',
      `${issuer} does not take this server as client ${page.clientId}`,
      'an operator looks at its secret (serve.json)',
    );
  const { code, cause = error } = error as { readonly code?: unknown; readonly cause?: unknown };
  const why = messageOf(cause).slice(0, MOST_WORDS);
  return OF_THE_ANSWER.has(code)
    ? new ApiError('unauthenticated', `the answer of ${issuer} is not one to this login: ${why}`, 'log in again')
    : new ApiError('unavailable', `${issuer} does not answer: ${why}`, 'log in again');
}
