import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { call, Refused } from './api.js';
import { Page } from './page.js';
import { askOtherTabs, keepToken } from './session.js';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: true,
      networkMode: 'always',
      // The next look is the next try; a refusal would be the same.
      retry: false,
    },
  },
});

/**
 * Logs in by the link that `jobctl ui` printed. Its code stands behind the `#`, which browsers send to no server, and is valid
 * once.
 */
async function openByLink(): Promise<string | undefined> {
  const [, code] = /^#open=([\w-]{20,100})$/.exec(location.hash) ?? [];
  if (code === undefined) return undefined;
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  try {
    keepToken((await call('POST /v1/page-session', { body: { code } })).token);
    return undefined;
  } catch (error) {
    return error instanceof Refused ? error.message : String(error);
  }
}

const problem = await openByLink();
await askOtherTabs();
const place = document.querySelector('#page');
if (place === null) throw new TypeError('index.html has no #page');
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Page problem={problem} />
    </QueryClientProvider>
  </StrictMode>,
);
