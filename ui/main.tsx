import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { call, Refused } from './api.js';
import { type Finished, finishLogin } from './issuer-login.js';
import { isLoginPath } from './login-answer.js';
import { LoginTab } from './login.js';
import { Page } from './page.js';
import { askOtherTabs, keepToken } from './session.js';

/**
 * Logs in by the link that `jobctl ui` printed. Its code stands behind the `#`, which browsers send to no server, and is valid
 * once.
 */
async function openByLink(): Promise<Finished> {
  const [, code] = /^#open=([\w-]{20,100})$/.exec(location.hash) ?? [];
  if (code === undefined) return {};
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  try {
    keepToken((await call('POST /v1/page-session', { body: { code } })).token, true);
    return {};
  } catch (error) {
    return { problem: error instanceof Refused ? error.message : String(error) };
  }
}

const forIssuer = isLoginPath(location.pathname) ? new URLSearchParams(location.search).get('for') : null;
const isBack = isLoginPath(location.pathname) && forIssuer === null;
const { problem, isForOthers = false } = isBack ? await finishLogin() : await openByLink();
if (forIssuer === null) await askOtherTabs();
const place = document.querySelector('#page');
if (place === null) throw new TypeError('index.html has no #page');
createRoot(place).render(
  <StrictMode>
    {forIssuer !== null || isForOthers ? (
      <LoginTab issuer={forIssuer ?? ''} isDone={isForOthers} />
    ) : (
      <Page problem={problem} />
    )}
  </StrictMode>,
);
