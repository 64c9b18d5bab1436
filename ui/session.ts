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

export function keepToken(value: string): void {
  sessionStorage.setItem(KEY, value);
  tell();
}

/** Forgets the token. @param isMeant true: the person logs out, so other tabs forget it too */
export function forgetToken(isMeant = false): void {
  sessionStorage.removeItem(KEY);
  if (isMeant) post({ kind: 'over' });
  tell();
}

export function onSession(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Time that other tabs have for an answer. */
const ASK_MS = 150;

/** Asks other tabs of this origin for their token. Resolves at once if this tab has one. */
export async function askOtherTabs(): Promise<void> {
  if (token() !== undefined || channel === undefined) return;
  post({ kind: 'who-has-it' });
  await new Promise<void>((resolve) => {
    const stop = onSession(done);
    const timer = setTimeout(done, ASK_MS);
    function done(): void {
      clearTimeout(timer);
      stop();
      resolve();
    }
  });
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
const post = (message: Message): void => channel?.postMessage(message);
const tell = (): void => listeners.forEach((listener) => listener());

channel?.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  const own = token();
  if (data.kind === 'who-has-it' && own !== undefined) post({ kind: 'here', token: own });
  if (data.kind === 'here' && own === undefined) keepToken(data.token);
  if (data.kind === 'over' && own !== undefined) forgetToken();
});
