import { type MouseEvent, type ReactNode, useSyncExternalStore } from 'react';

const MOVED = 'jobctl:moved';

/** Goes to another address of the page without loading it again. @param isSame true: the back button skips the present one */
export function go(to: string, isSame = false): void {
  if (isSame) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  dispatchEvent(new Event(MOVED));
  if (!isSame) scrollTo(0, 0);
}

function onMove(listener: () => void): () => void {
  addEventListener('popstate', listener);
  addEventListener(MOVED, listener);
  return () => {
    removeEventListener('popstate', listener);
    removeEventListener(MOVED, listener);
  };
}

export function useAddress(): { readonly pathname: string; readonly search: string } {
  const address = useSyncExternalStore(onMove, () => `${location.pathname}${location.search}`);
  const [pathname = '', search = ''] = address.split(/\?(.*)/s);
  return { pathname, search };
}

interface LinkParts {
  readonly to: string;
  readonly children: ReactNode;
  readonly className?: string;
  readonly isCurrent?: boolean;
  readonly title?: string;
}

export function Link({ to, children, className, isCurrent, title }: LinkParts) {
  const follow = (event: MouseEvent): void => {
    // A new tab, a new window, a download: the browser's own.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      href={to}
      onClick={follow}
      className={className}
      title={title}
      aria-current={isCurrent === true ? 'page' : undefined}
    >
      {children}
    </a>
  );
}

/** Stays on the screen, with other words in its address. Empty ones are left out. */
export function changeSearch(changes: Readonly<Record<string, string | undefined>>): void {
  const said = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === '') said.delete(key);
    else said.set(key, value);
  }
  const text = said.toString();
  go(`${location.pathname}${text === '' ? '' : `?${text}`}`, true);
}
