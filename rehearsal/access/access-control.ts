import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readToken, signToken } from './access-token.js';
import { isEqual } from './equal-text.js';
import type { Principal } from './principal.js';
import { DEFAULT_PRINCIPAL, hasScope, holds } from './principal.js';

/** Access rights, plain JSON. A snapshot of it is all that a restart needs. */
export interface AccessState {
  /** Key of the tokens' signatures. */
  key: string;
  /** If false, rights are not checked: every known caller may do everything. */
  isEnforced: boolean;
  /** Keyed by email. */
  principals: Record<string, Principal>;
  /** Principal whose tokens the metadata server and the credentials file give; null: none, as on a VM without an account. */
  current: string | null;
  /** Serial number of the last token issued. */
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

/** The parts of a call that identify its caller and the project that it is counted for. */
export interface CallHeaders {
  readonly authorization: string | undefined;
  /** Whether the kernel says that a process of the rehearsal's own login makes the call. Costs a read of /proc. */
  readonly isOwnLogin: () => boolean;
  /** `x-goog-user-project`: a project in place of the caller's own. */
  readonly userProject: string | undefined;
}

/** The caller, as identified by the token of the call. */
export type Caller =
  | { readonly kind: 'anybody' }
  | { readonly kind: 'principal'; readonly principal: Principal; readonly until: number }
  | { readonly kind: 'nobody'; readonly why: 'no-token' | 'unknown-token' | 'expired-token' };

export interface GivenToken {
  readonly access_token: string;
  readonly expires_in: number;
  readonly token_type: 'Bearer';
}

/** Callers that are accepted at all, whatever rights principals have (docs/adr/0076). */
export interface OwnCallers {
  /** Token of this rehearsal. */
  readonly token: string;
  /** Whether calls of the same login need no token. */
  readonly trustsLogin: boolean;
}

/** Issues tokens and identifies their principals. Each API words its own refusals. */
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

  /** Returns the principal with this email; the email `current` stands for the current one. Undefined if there is none. */
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
   * Identifies the caller. While rights are not enforced, a caller with the rehearsal's token, or with one that it issued, may do
   * everything.
   * @param loginSuffices whether the rehearsal's login needs no token: for an API whose clients cannot send one
   */
  caller(headers: CallHeaders, { loginSuffices = false } = {}): Caller {
    const token = tokenIn(headers);
    const found = token === undefined ? NO_TOKEN : this.bearer(token);
    if (this.state.isEnforced) return found;
    const isKnown = found.kind === 'principal' || this.isOwner(headers, { loginSuffices });
    return isKnown ? { kind: 'anybody' } : found;
  }

  /** Whether the call has the rehearsal's own token, or needs none because it comes from the rehearsal's login. */
  isOwner(headers: CallHeaders, { loginSuffices = false } = {}): boolean {
    const token = tokenIn(headers);
    if (token !== undefined && isEqual(token, this.#own.token)) return true;
    return (this.#own.trustsLogin || loginSuffices) && headers.isOwnLogin();
  }

  /** Identifies the principal of a token, whether rights are enforced or not. */
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
