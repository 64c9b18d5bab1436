import { type MouseEvent, type ReactNode, useSyncExternalStore } from 'react';

const MOVED = 'jobctl:moved';

/**
 * Goes to another address of the page without a reload.
 * @param isSame true: it replaces the present address, so the back button skips that
 */
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
    // The browser handles clicks for a new tab, a new window or a download.
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

/** Changes the search of the address, and stays on the screen. Empty values are left out. */
export function changeSearch(changes: Readonly<Record<string, string | undefined>>): void {
  const said = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === '') said.delete(key);
    else said.set(key, value);
  }
  const text = said.toString();
  go(`${location.pathname}${text === '' ? '' : `?${text}`}`, true);
}
