/** Reads what comes back of a login at an issuer, and what tokens say of themselves. Nothing here knows the browser's tab. */

/** A login that the tab has begun at an issuer. */
export interface PendingLogin {
  readonly issuer: string;
  /** Its name in the page, which is in the address that it sends the browser back to if there are several issuers. */
  readonly name: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The address of the page that is shown afterwards. */
  readonly to: string;
  /** The login is for other tabs, and this one has nothing else to show. */
  readonly isForOthers: boolean;
}

/** Path to which issuers send browsers back, alone or followed by the name of the issuer. */
const BACK = '/ui/login';
export const BOARD = '/ui/';

/** The address of a tab that does nothing but log in. */
export const loginTab = (issuer: string): string => `${BACK}?for=${encodeURIComponent(issuer)}`;

export const isLoginPath = (pathname: string): boolean => pathname === BACK || pathname.startsWith(`${BACK}/`);

/** An address within the page, whatever was asked for: the page never leads to another site. */
export function ownAddress(text: string, origin: string): string {
  if (!text.startsWith('/') || !URL.canParse(text, origin)) return BOARD;
  const { origin: of, pathname, search } = new URL(text, origin);
  const isOwn = of === origin && pathname.startsWith(BOARD) && !isLoginPath(pathname);
  return isOwn ? `${pathname}${search}` : BOARD;
}

export const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
/** The challenge of a verifier, by the method S256 (RFC 7636, 4.2). */
export const challengeOf = async (verifier: string): Promise<string> =>
  base64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));

/** An issuer's answer, and what the tab kept of the login that it answers. */
export interface CameBack {
  readonly pending: PendingLogin;
  readonly code: string;
  readonly iss: string | undefined;
}

const NOT_OURS = 'The answer belongs to no login of this tab: it was begun elsewhere, or has ended. Log in again.';

/**
 * Reads the address to which an issuer sent the browser. Without the state of this tab's login nothing of the address is used or
 * shown, since anybody can make such an address.
 * @throws Error in words for the person
 */
export function cameBack(pathname: string, search: string, pending: PendingLogin | undefined): CameBack {
  const said = new URLSearchParams(search);
  const [, name] = /^\/ui\/login\/([\w-]+)$/.exec(pathname) ?? [];
  if (pending === undefined || said.get('state') !== pending.state) throw new Error(NOT_OURS);
  // With several issuers each has its own address: the answer of one is not taken for that of another (RFC 9700, 4.4).
  if (name !== undefined && name !== pending.name) throw new Error(NOT_OURS);
  const [error, description] = [said.get('error'), said.get('error_description')];
  if (error !== null) {
    const words = error === 'access_denied' ? 'it was refused there' : error.slice(0, 100);
    throw new Error(
      `${pending.issuer} gave no login: ${words}${description === null ? '' : ` (${description.slice(0, 300)})`}`,
    );
  }
  const code = said.get('code');
  if (code === null) throw new Error(`${pending.issuer} sent no code.`);
  return { pending, code, iss: said.get('iss') ?? undefined };
}

/** Claims of a JSON Web Token. The server judges the token; here they only tell two of them apart. */
export function claimsOf(text: string): { readonly who?: string; readonly endsAt?: number } {
  try {
    const payload = text.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? '';
    const { iss, sub, exp } = JSON.parse(atob(payload)) as Readonly<Record<string, unknown>>;
    return {
      ...(typeof sub === 'string' && { who: `${String(iss)} ${sub}` }),
      ...(typeof exp === 'number' && { endsAt: exp * 1_000 }),
    };
  } catch {
    return {};
  }
}

/** Whether a tab with `own` takes the token that another tab tells: one of the same person that ends later. */
export function isBetter(told: string, own: string | undefined): boolean {
  if (own === undefined) return true;
  const [a, b] = [claimsOf(told), claimsOf(own)];
  return a.who !== undefined && a.who === b.who && (a.endsAt ?? 0) > (b.endsAt ?? 0);
}
