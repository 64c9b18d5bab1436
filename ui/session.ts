import { claimsOf, isBetter } from './login-answer.js';

/**
 * The token of this tab. It is kept in `sessionStorage`, which belongs to one origin with its port. A cookie on 127.0.0.1 would
 * be sent to every other port of the computer too, and any cookie would let another site's page act (docs/adr/0164). Tabs of
 * one origin pass it on to each other, so a link that is opened in a new tab needs no login.
 */
const KEY = 'jobctl.token';

type Listener = () => void;
const listeners = new Set<Listener>();
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('jobctl.session');

type Message =
  | { readonly kind: 'who-has-it' }
  | { readonly kind: 'here'; readonly token: string }
  | { readonly kind: 'over' };

export const token = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined;

/** The person whose screens are shown: of the token, or of the one that has ended. */
let shown = personOf(token());

/** Who is logged in, or was until the login ended by itself. Undefined: nobody, or they logged out. */
export const person = (): string | undefined => shown;

/** @param isNew the person has just logged in: other tabs whose login has ended, or will before this one, get it too */
export function keepToken(value: string, isNew = false): void {
  sessionStorage.setItem(KEY, value);
  shown = personOf(value);
  if (isNew) post({ kind: 'here', token: value });
  tell();
}

/** Forgets the token. @param isMeant true: the person logs out, so other tabs forget it too, and nothing stays on the screen */
export function forgetToken(isMeant = false): void {
  sessionStorage.removeItem(KEY);
  if (isMeant) {
    shown = undefined;
    post({ kind: 'over' });
  }
  tell();
}

export function onSession(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Resolves when there is a token, or `signal` is aborted. */
export async function loggedIn(signal: AbortSignal): Promise<void> {
  if (token() !== undefined || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const stop = onSession(() => token() !== undefined && done());
    signal.addEventListener('abort', done, { once: true });
    function done(): void {
      stop();
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}

/** Time that other tabs have for an answer. */
const ASK_MS = 150;

/** Asks other tabs of this origin for their token. Resolves at once if this tab has one. */
export async function askOtherTabs(): Promise<void> {
  if (token() !== undefined || channel === undefined) return;
  post({ kind: 'who-has-it' });
  await loggedIn(AbortSignal.timeout(ASK_MS));
}

/** A token of `jobctl ui` has no claims, and is one person's. */
function personOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (claimsOf(text).who ?? 'the person of this computer');
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
const post = (message: Message): void => channel?.postMessage(message);
const tell = (): void => listeners.forEach((listener) => listener());

channel?.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  const own = token();
  if (data.kind === 'who-has-it' && own !== undefined) post({ kind: 'here', token: own });
  if (data.kind === 'here' && isBetter(data.token, own)) keepToken(data.token);
  if (data.kind === 'over' && (own !== undefined || shown !== undefined)) {
    shown = undefined;
    forgetToken();
  }
});
