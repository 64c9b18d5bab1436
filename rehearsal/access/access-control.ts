import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readToken, signToken } from './access-token.js';
import { isEqual } from './equal-text.js';
import type { Principal } from './principal.js';
import { DEFAULT_PRINCIPAL, hasScope, holds } from './principal.js';

/** Who may do what, plain JSON: a snapshot of it is the whole truth after a restart. */
export interface AccessState {
  /** Of the tokens' signatures. */
  key: string;
  /** Without it every caller may do everything, with any token or none. */
  isEnforced: boolean;
  /** By email. */
  principals: Record<string, Principal>;
  /** Whose tokens the metadata server and the credentials file give; null: nobody's, as on a VM without a service account. */
  current: string | null;
  /** The serial number of the last token given out. */
  lastToken: number;
  /** Tokens up to this serial number are revoked. */
  revokedUpTo: number;
}

export function initialAccess(): AccessState {
  const { email } = DEFAULT_PRINCIPAL;
  return {
    key: randomBytes(32).toString('hex'),
    isEnforced: false,
    principals: { [email]: DEFAULT_PRINCIPAL },
    current: email,
    lastToken: 0,
    revokedUpTo: 0,
  };
}

/** What a call says of who makes it, and whom it is counted for. */
export interface CallHeaders {
  readonly authorization: string | undefined;
  /** Whether the kernel says that a process of the rehearsal's own login makes it. Costs a look into /proc. */
  readonly isOwnLogin: () => boolean;
  /** `x-goog-user-project`: a project in place of the caller's own. */
  readonly userProject: string | undefined;
}

/** Who makes a call, by the token that came with it. */
export type Caller =
  | { readonly kind: 'anybody' }
  | { readonly kind: 'principal'; readonly principal: Principal; readonly until: number }
  | { readonly kind: 'nobody'; readonly why: 'no-token' | 'unknown-token' | 'expired-token' };

export interface GivenToken {
  readonly access_token: string;
  readonly expires_in: number;
  readonly token_type: 'Bearer';
}

/** Who may call at all, whatever rights principals have (docs/adr/0076). */
export interface OwnCallers {
  /** Of this rehearsal. */
  readonly token: string;
  /** Calls of the same login need no token. */
  readonly trustsLogin: boolean;
}

/** Gives tokens out and says whose a token is. What a refusal looks like is each API's own matter. */
export class AccessControl {
  readonly state: AccessState;
  readonly #now: () => number;
  readonly #own: OwnCallers;

  /** @param now epoch ms. */
  constructor(state: AccessState, now: () => number, own: OwnCallers) {
    this.state = state;
    this.#now = now;
    this.#own = own;
  }

  /** The principal called so, or the current one by the name `current`; undefined if there is none. */
  principal(email: string): Principal | undefined {
    const name = email === 'current' ? this.state.current : email;
    return name === null ? undefined : this.state.principals[name];
  }

  giveToken(principal: Principal): GivenToken {
    const { email, tokenSeconds, tokenValidSeconds = tokenSeconds } = principal;
    this.state.lastToken += 1;
    const until = this.#now() + tokenValidSeconds * 1000;
    const access_token = signToken(this.state.key, { email, serial: this.state.lastToken, until });
    return { access_token, expires_in: tokenSeconds, token_type: 'Bearer' };
  }

  revokeTokens(): void {
    this.state.revokedUpTo = this.state.lastToken;
  }

  /**
   * Without rights of principals: whoever has the rehearsal's token, or one that it gave out, may do everything.
   * @param loginSuffices for an API whose clients cannot be given a token
   */
  caller(headers: CallHeaders, { loginSuffices = false } = {}): Caller {
    const token = tokenIn(headers);
    const found = token === undefined ? NO_TOKEN : this.bearer(token);
    if (this.state.isEnforced) return found;
    const isKnown = found.kind === 'principal' || this.isOwner(headers, { loginSuffices });
    return isKnown ? { kind: 'anybody' } : found;
  }

  /** Whether the caller is whose rehearsal this is. */
  isOwner(headers: CallHeaders, { loginSuffices = false } = {}): boolean {
    const token = tokenIn(headers);
    if (token !== undefined && isEqual(token, this.#own.token)) return true;
    return (this.#own.trustsLogin || loginSuffices) && headers.isOwnLogin();
  }

  /** Whose token this is, enforced or not. */
  bearer(token: string): Exclude<Caller, { kind: 'anybody' }> {
    const content = readToken(this.state.key, token);
    const principal = content && this.state.principals[content.email];
    if (content === undefined || principal === undefined || content.serial <= this.state.revokedUpTo) {
      return { kind: 'nobody', why: 'unknown-token' };
    }
    const { until } = content;
    return until <= this.#now() ? { kind: 'nobody', why: 'expired-token' } : { kind: 'principal', principal, until };
  }
}

const NO_TOKEN = { kind: 'nobody', why: 'no-token' } as const;

const tokenIn = ({ authorization }: CallHeaders): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];

export function callHeaders(headers: IncomingHttpHeaders, isOwnLogin: () => boolean): CallHeaders {
  const userProject = headers['x-goog-user-project'];
  return {
    authorization: headers.authorization,
    isOwnLogin,
    userProject: Array.isArray(userProject) ? userProject[0] : userProject,
  };
}

export function mayDo(caller: Caller, permission: string): boolean {
  return caller.kind === 'anybody' || (caller.kind === 'principal' && holds(caller.principal, permission));
}

export function isInScope(caller: Caller, scopes: readonly string[]): boolean {
  return caller.kind === 'anybody' || (caller.kind === 'principal' && hasScope(caller.principal, scopes));
}
