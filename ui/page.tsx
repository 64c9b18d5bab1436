import { focusManager, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { addressOf, screenOf, type Screen } from './address.js';
import { Board } from './board.js';
import { Login, LoginAgain } from './login.js';
import { loginTab } from './login-answer.js';
import { Boundary } from './parts/boundary.js';
import { useNow } from './parts/clock.js';
import { Link, useAddress } from './parts/link.js';
import { useAnswer } from './parts/answer.js';
import { Keys } from './parts/keys.js';
import { forgetToken, onSession, person, token } from './session.js';
import { onClock } from './words.js';

const Job = lazy(async () => ({ default: (await import('./job.js')).Job }));
const Group = lazy(async () => ({ default: (await import('./group.js')).Group }));
const Pool = lazy(async () => ({ default: (await import('./pool.js')).Pool }));
const Schedules = lazy(async () => ({ default: (await import('./schedules.js')).Schedules }));

/** @param problem why the link that opened the page gave no login */
export function Page({ problem }: { readonly problem: string | undefined }) {
  const isLoggedIn = useSyncExternalStore(onSession, () => token() !== undefined);
  const who = useSyncExternalStore(onSession, person);
  // Answers to one person are not shown to the next.
  const queries = useMemo(queriesOfOne, [who]);
  // Screens of a login that has ended ask for nothing; once there is another one, they look at once.
  useEffect(() => focusManager.setFocused(isLoggedIn ? undefined : false), [isLoggedIn]);
  if (who === undefined) return <Login problem={problem} />;
  return (
    <QueryClientProvider client={queries}>
      <Screens key={who} />
      {!isLoggedIn && <LoginAgain />}
    </QueryClientProvider>
  );
}

const queriesOfOne = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        refetchOnWindowFocus: true,
        networkMode: 'always',
        // The next look is the next try; a refusal would be the same.
        retry: false,
      },
    },
  });

function Screens() {
  const { pathname } = useAddress();
  const screen = screenOf(pathname);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  // A screen reader announces the new screen, and the keyboard focus moves into it.
  useEffect(() => {
    document.title = titleOf(screen);
    if (!first.current) main.current?.focus();
    first.current = false;
  }, [pathname]);
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <header className="top">
        <nav aria-label="Screens">
          <Link to={addressOf({ name: 'board' })} className="brand" isCurrent={screen.name === 'board'}>
            Jobs
          </Link>
          <Link
            to={addressOf({ name: 'pool', id: screen.name === 'pool' ? screen.id : 'default' })}
            isCurrent={screen.name === 'pool'}
          >
            Pool
          </Link>
          <Link to={addressOf({ name: 'schedules' })} isCurrent={screen.name === 'schedules'}>
            Schedules
          </Link>
        </nav>
        <Caller />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Boundary key={pathname} name="This screen" isScreen>
          <Suspense fallback={<p className="note">Loading ..</p>}>
            <Shown screen={screen} />
          </Suspense>
        </Boundary>
      </main>
      <Keys />
    </>
  );
}

function Shown({ screen }: { readonly screen: Screen }) {
  switch (screen.name) {
    case 'board':
      return <Board />;
    case 'job':
      return <Job key={screen.id} id={screen.id} />;
    case 'group':
      return <Group key={screen.id} id={screen.id} />;
    case 'pool':
      return <Pool key={screen.id} pool={screen.id} />;
    case 'schedules':
      return <Schedules />;
    case 'nowhere':
      return (
        <section>
          <h1>There is nothing here</h1>
          <p>
            The address names no screen. <Link to={addressOf({ name: 'board' })}>All jobs</Link>
          </p>
        </section>
      );
  }
}

function titleOf(screen: Screen): string {
  if (screen.name === 'board' || screen.name === 'nowhere') return 'jobctl';
  return screen.name === 'schedules' ? 'Schedules - jobctl' : `${screen.id} - jobctl`;
}

/** Time before the end of a login at which the page announces it. */
const SOON_MS = 5 * 60_000;

function Caller() {
  const { data } = useAnswer('GET /v1/whoami', {}, { everyMs: 60_000 });
  const now = useNow();
  const isNear = data !== undefined && data.expiresAt - now < SOON_MS;
  const ways = useAnswer('GET /v1/login', {}, { everyMs: 0, isWanted: isNear && data.issuer !== 'jobctl ui' });
  if (data === undefined) return null;
  const issuer = ways.data?.issuers.find((each) => each.issuer === data.issuer && each.page !== undefined);
  return (
    <div className="caller">
      {isNear && <span className="warn">{onClock(`login ends ${new Date(data.expiresAt).toISOString()}`, now)}</span>}
      {isNear && issuer !== undefined && (
        <button type="button" className="quiet" onClick={() => open(loginTab(issuer.issuer), '_blank')}>
          Log in again
        </button>
      )}
      <span title={data.issuer}>{data.id}</span>
      <button type="button" className="quiet" onClick={() => forgetToken(true)}>
        Log out
      </button>
    </div>
  );
}
