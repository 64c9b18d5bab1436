import { call } from './api.js';
import { base64Url, BOARD, cameBack, challengeOf, ownAddress, type PendingLogin } from './login-answer.js';
import { keepToken } from './session.js';

/**
 * Logins at an issuer by authorization code with PKCE (docs/adr/0175). The tab that begins one keeps its state, nonce and
 * verifier until the issuer sends the browser back; the server exchanges the code, with the secret of its client if it has
 * one.
 */
const KEY = 'jobctl.login';

const random = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/**
 * Leaves the page for the issuer's.
 * @throws Error if the issuer would send the browser back to another address than this page's, where this tab's login would not
 *   be known
 */
export async function beginLogin(
  issuer: { readonly issuer: string; readonly name: string },
  then: Pick<PendingLogin, 'to' | 'isForOthers'>,
): Promise<void> {
  const [state, nonce, verifier] = [random(), random(), random()];
  const challenge = await challengeOf(verifier);
  const { url } = await call('POST /v1/page-login', { body: { issuer: issuer.issuer, challenge, state, nonce } });
  const back = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
  if (back.origin !== location.origin)
    throw new Error(
      `Logins come back to ${back.origin}, and this page is at ${location.origin}: open ${back.origin}${BOARD}`,
    );
  const pending: PendingLogin = { issuer: issuer.issuer, name: issuer.name, state, nonce, verifier, ...then };
  sessionStorage.setItem(KEY, JSON.stringify(pending));
  location.assign(url);
}

/** Outcome of a login that came back. */
export interface Finished {
  readonly problem?: string;
  /** It was for other tabs, and they have it now. */
  readonly isForOthers?: boolean;
}

/** Ends a login with the address of the tab. The code is taken out of the address before anything else. */
export async function finishLogin(): Promise<Finished> {
  const { pathname, search, origin } = location;
  const pending = takePending();
  history.replaceState(null, '', ownAddress(pending?.to ?? BOARD, origin));
  if (search === '') return {};
  try {
    const { pending: own, code, iss } = cameBack(pathname, search, pending);
    const { issuer, verifier, nonce, isForOthers } = own;
    const body = { issuer, code, verifier, nonce, ...(iss !== undefined && { iss }) };
    keepToken((await call('POST /v1/page-login/code', { body })).token, true);
    return { isForOthers };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** A login is ended once, whatever comes of it. */
function takePending(): PendingLogin | undefined {
  const kept = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  return kept === null ? undefined : (JSON.parse(kept) as PendingLogin);
}
