import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { messageOf } from '../../domain/errors.js';
import { QUOTA_NAME } from '../../domain/identity.js';
import type { Subject } from '../../domain/access.js';
import type { EpochMs } from '../../domain/units.js';
import type { IssuerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import { readMetadata } from './issuer-metadata.js';

/** A subject whose token was verified. */
export interface Caller extends Subject {
  readonly issuer: string;
  readonly expiresAt: EpochMs;
}

/** Signature algorithms that an issuer may use. Symmetric ones and `none` are not among them. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const CLOCK_SKEW_S = 30;
const LOG_IN = 'log in: jobctl login';
const KEYS_MS = 10_000;
const SERVICE_ACCOUNT = '.gserviceaccount.com';

/**
 * Verifies ID tokens (OpenID Connect Core 1.0, 3.1.3.7): issuer, signature, audience, expiry, then the rules of the
 * configuration. An issuer's keys are fetched on first use, and again when a token names an unknown key, so a rotation needs no
 * restart.
 */
export class TokenVerifier {
  readonly #issuers: ReadonlyMap<string, Issuer>;

  constructor(issuers: readonly IssuerConfig[]) {
    const prefixes = issuers.flatMap(({ groupPrefix }) => (groupPrefix === undefined ? [] : [groupPrefix]));
    this.#issuers = new Map(issuers.map((config) => [config.issuer, new Issuer(config, prefixes)]));
  }

  /** @throws ApiError `unauthenticated`, `forbidden`, or `unavailable` if the issuer's keys cannot be fetched */
  async verify(token: string): Promise<Caller> {
    const iss = unverifiedIssuer(token);
    const issuer = this.#issuers.get(iss);
    if (issuer === undefined) {
      const known = [...this.#issuers.keys()].join(', ');
      throw new ApiError(
        'unauthenticated',
        `the token is of issuer '${iss}', and this server takes those of ${known}`,
        LOG_IN,
      );
    }
    return issuer.verify(token);
  }
}

class Issuer {
  readonly #config: IssuerConfig;
  /** The prefixes of all issuers. */
  readonly #prefixes: readonly string[];
  #keys: Promise<JWTVerifyGetKey> | undefined;

  constructor(config: IssuerConfig, prefixes: readonly string[]) {
    this.#config = config;
    this.#prefixes = prefixes;
  }

  async verify(token: string): Promise<Caller> {
    const { issuer, audiences } = this.#config;
    const keys = await this.#keysOf();
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: [...audiences],
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_SKEW_S,
        requiredClaims: ['exp', 'iat', 'sub'],
      });
      return this.#caller(payload);
    } catch (error) {
      throw tokenRefusal(error, this.#config);
    }
  }

  async #keysOf(): Promise<JWTVerifyGetKey> {
    this.#keys ??= this.#discover();
    try {
      return await this.#keys;
    } catch (error) {
      this.#keys = undefined;
      const why = messageOf(error);
      throw new ApiError('unavailable', `the keys of issuer ${this.#config.issuer} cannot be had: ${why}`, 'try again');
    }
  }

  async #discover(): Promise<JWTVerifyGetKey> {
    const { jwks_uri: keys } = await readMetadata(this.#config.issuer);
    if (keys === undefined) throw new Error('its discovery document has no jwks_uri');
    return createRemoteJWKSet(new URL(keys), { cooldownDuration: 5_000, timeoutDuration: KEYS_MS });
  }

  #caller(payload: JWTPayload): Caller {
    const { issuer, audiences, hostedDomains, allowedGroups, groupsClaim, services } = this.#config;
    const { azp, hd, aud } = payload as JWTPayload & { readonly azp?: unknown; readonly hd?: unknown };
    if (Array.isArray(aud) && aud.length > 1 && !audiences.includes(String(azp)))
      throw new ApiError(
        'unauthenticated',
        `the token was made for '${String(azp)}' (azp), beside this server`,
        LOG_IN,
      );
    if (hostedDomains !== undefined && (typeof hd !== 'string' || !hostedDomains.includes(hd)))
      throw new ApiError(
        'forbidden',
        `accounts of domain '${String(hd ?? 'none')}' are not let in; of ${hostedDomains.join(', ')} they are`,
      );
    const id = this.#idOf(payload);
    const named = groupsClaim === null ? [] : textsOf(payload[groupsClaim]);
    if (allowedGroups !== undefined && !named.some((group) => allowedGroups.includes(group)))
      throw new ApiError('forbidden', `${id} is in none of the groups that are let in: ${allowedGroups.join(', ')}`);
    const isService = id.endsWith(SERVICE_ACCOUNT) || services.includes(id);
    const groups = this.#groupsOf(named);
    return { kind: isService ? 'service' : 'user', id, groups, issuer, expiresAt: Number(payload.exp) * 1_000 };
  }

  /** Returns groups by their names in pool files. Without a prefix, one that begins with another issuer's prefix is dropped. */
  #groupsOf(named: readonly string[]): readonly string[] {
    const { groupPrefix } = this.#config;
    if (groupPrefix !== undefined) return named.map((group) => `${groupPrefix}${group}`);
    return named.filter((group) => !this.#prefixes.some((prefix) => group.startsWith(prefix)));
  }

  /** The subject's name. An address that its issuer has not verified is refused, since it may belong to anyone. */
  #idOf(payload: JWTPayload): string {
    const { user, emailDomains } = this.#config;
    const { email, email_verified: isVerified } = payload as JWTPayload & Readonly<Record<string, unknown>>;
    const name = user === 'sub' ? payload.sub : email;
    if (typeof name !== 'string')
      throw new ApiError(
        'unauthenticated',
        `the token has no claim '${user === 'sub' ? 'sub' : 'email'}'`,
        'log in with scope email',
      );
    if (user !== 'sub' && isVerified !== true)
      throw new ApiError(
        'unauthenticated',
        `its issuer has not verified the address '${name}'`,
        'verify it there, then log in again',
      );
    const at = name.lastIndexOf('@');
    if (user !== 'sub' && emailDomains !== undefined && !emailDomains.includes(name.slice(at + 1)))
      throw new ApiError('forbidden', `'${name}' is not let in: its domain is none of ${emailDomains.join(', ')}`);
    const id = user === 'email-local-part' ? name.slice(0, at) : name;
    if (!QUOTA_NAME.test(id))
      throw new ApiError(
        'forbidden',
        `'${id}' cannot be a user of jobctl: letters, digits and . _ - + @ alone, 100 at most`,
      );
    return id;
  }
}

/** The issuer that the token names. It only selects the keys: the token is not trusted before they verify its signature. */
function unverifiedIssuer(token: string): string {
  try {
    const [, payload = ''] = token.split('.');
    const { iss } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { readonly iss?: unknown };
    if (typeof iss === 'string') return iss.slice(0, 200);
  } catch {
    // Falls through to the error below.
  }
  throw new ApiError('unauthenticated', 'the token is no JWT of an issuer', LOG_IN);
}

const textsOf = (claim: unknown): readonly string[] =>
  Array.isArray(claim) ? claim.filter((each): each is string => typeof each === 'string') : [];

function tokenRefusal(error: unknown, { issuer, audiences }: IssuerConfig): Error {
  if (error instanceof ApiError) return error;
  if (error instanceof errors.JWTExpired)
    return new ApiError(
      'unauthenticated',
      `the token has expired at ${new Date(Number(error.payload.exp) * 1_000).toISOString()}`,
      LOG_IN,
    );
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud')
    return new ApiError(
      'unauthenticated',
      `the token is for '${String(error.payload.aud)}', wanted ${audiences.join(' or ')}`,
      LOG_IN,
    );
  if (error instanceof errors.JWTClaimValidationFailed)
    return new ApiError('unauthenticated', `the token's claim '${error.claim}' is wrong: ${error.message}`, LOG_IN);
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed)
    return new ApiError('unauthenticated', `the token is not signed by ${issuer}`, LOG_IN);
  if (
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWTInvalid
  )
    return new ApiError('unauthenticated', `the token is not one that ${issuer} makes: ${error.message}`, LOG_IN);
  if (error instanceof errors.JWKSTimeout || error instanceof TypeError || isFetchFailure(error))
    return new ApiError(
      'unavailable',
      `the keys of issuer ${issuer} cannot be had: ${(error as Error).message}`,
      'try again',
    );
  if (error instanceof errors.JOSEError)
    return new ApiError('unauthenticated', `the token is not valid: ${error.message}`, LOG_IN);
  return error as Error;
}

/** jose's errors for a failed request and for an answer that is not a key set. */
const isFetchFailure = (error: unknown): boolean =>
  error instanceof errors.JOSEError && /JSON Web Key Set HTTP response|fetch failed/.test(error.message);
