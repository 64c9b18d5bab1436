import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { type Answer, call, Refused } from './api.js';
import { beginLogin } from './issuer-login.js';
import { loginTab } from './login-answer.js';
import { forgetToken, keepToken } from './session.js';

type Issuer = Answer<'GET /v1/login'>['issuers'][number];

/** The page without a login. */
export function Login({ problem }: { readonly problem: string | undefined }) {
  return (
    <main className="login">
      <h1>jobctl</h1>
      <Ways problem={problem} isOver={false} />
    </main>
  );
}

/** Over the screens of a login that has ended. They stay as they are, with all that was typed, until the same person is back. */
export function LoginAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="login" aria-labelledby="again-title" onCancel={(event) => event.preventDefault()}>
      <h2 id="again-title">Your login has ended.</h2>
      <p>What you looked at and typed stays as it is.</p>
      <Ways problem={undefined} isOver />
      <button type="button" className="quiet" onClick={() => forgetToken(true)}>
        Leave this page instead
      </button>
    </dialog>
  );
}

interface WaysParts {
  readonly problem: string | undefined;
  /** Over other screens, so that the issuer's page opens in a tab of its own. */
  readonly isOver: boolean;
}

/** The ways to log in: of `jobctl ui` its command, of `jobctl serve` its issuers and a token that is pasted. */
function Ways({ problem, isOver }: WaysParts) {
  const [issuers, setIssuers] = useState<readonly Issuer[] | 'local'>();
  const [words, setWords] = useState(problem);
  useEffect(() => {
    call('GET /v1/login').then(
      (answer) => setIssuers(answer.issuers),
      (error: unknown) =>
        error instanceof Refused && error.code === 'older' ? setIssuers('local') : setWords(wordsOf(error)),
    );
  }, []);
  const offered = issuers === 'local' || issuers === undefined ? [] : issuers.filter(hasPage);
  return (
    <>
      {words !== undefined && (
        <p role="alert" className="problem">
          {words}
        </p>
      )}
      {issuers === 'local' && (
        <p>
          Open the link that <code>jobctl ui</code> prints: it is good once. Run the command again for another link.
        </p>
      )}
      {offered.map(({ issuer, page: { name } }) => (
        <IssuerButton key={issuer} {...{ issuer, name, isOver }} tell={setWords} />
      ))}
      {issuers !== undefined && issuers !== 'local' && (
        <Pasting isOnly={offered.length === 0}>
          <TokenForm tell={setWords} />
        </Pasting>
      )}
    </>
  );
}

type Offered = Issuer & { readonly page: NonNullable<Issuer['page']> };
const hasPage = (issuer: Issuer): issuer is Offered => issuer.page !== undefined;
const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

interface IssuerButtonParts extends Pick<WaysParts, 'isOver'> {
  readonly issuer: string;
  readonly name: string;
  readonly tell: (words: string | undefined) => void;
}

function IssuerButton({ issuer, name, isOver, tell }: IssuerButtonParts) {
  const logIn = (): void => {
    tell(undefined);
    // The new tab tells this one of the login, and closes itself.
    if (isOver) open(loginTab(issuer), '_blank');
    else
      beginLogin({ issuer, name }, { to: `${location.pathname}${location.search}`, isForOthers: false }).catch(
        (error: unknown) => tell(wordsOf(error)),
      );
  };
  return (
    <button type="button" className="main" title={issuer} onClick={logIn}>
      Log in with {name}
    </button>
  );
}

function Pasting({ isOnly, children }: { readonly isOnly: boolean; readonly children: ReactNode }) {
  if (isOnly) return <>{children}</>;
  return (
    <details>
      <summary>Paste a token instead</summary>
      {children}
    </details>
  );
}

function TokenForm({ tell }: Pick<IssuerButtonParts, 'tell'>) {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget).get('token');
    const text = typeof given === 'string' ? given.trim() : '';
    if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) keepToken(text, true);
    else tell('This is no token: it has three parts, with a dot between them.');
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor="token">
        Token of <code>jobctl login --print-token</code>
      </label>
      <input id="token" name="token" type="password" autoComplete="off" spellCheck={false} required />
      <button type="submit">Log in</button>
      <p className="note">
        It stays in this tab, and is forgotten when the tab is closed. The server asks for your rights at every call, as
        on the command line.
      </p>
    </form>
  );
}

/** A tab that was opened for the login of others: it leaves for the issuer at once, and has nothing else to show. */
export function LoginTab({ issuer, isDone }: { readonly issuer: string; readonly isDone: boolean }) {
  const [words, setWords] = useState<string>();
  useEffect(() => {
    if (isDone) close();
    else leaveFor(issuer).catch((error: unknown) => setWords(wordsOf(error)));
  }, [issuer, isDone]);
  return (
    <main className="login">
      <h1>jobctl</h1>
      {words !== undefined && (
        <p role="alert" className="problem">
          {words}
        </p>
      )}
      <p role="status">{isDone ? 'You are logged in. Close this tab, and go on in the other one.' : 'One moment ..'}</p>
      <p>
        <a href="/ui/">All jobs</a>
      </p>
    </main>
  );
}

async function leaveFor(issuer: string): Promise<void> {
  const { issuers } = await call('GET /v1/login');
  const own = issuers.filter(hasPage).find((each) => each.issuer === issuer);
  if (own === undefined) throw new Error('This server has no such login.');
  await beginLogin({ issuer, name: own.page.name }, { to: '/ui/', isForOthers: true });
}
