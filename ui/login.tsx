import { type FormEvent, useEffect, useState } from 'react';
import { call, Refused } from './api.js';
import { keepToken } from './session.js';

interface LoginParts {
  readonly problem: string | undefined;
  readonly hasEnded: boolean;
}

/** The page without a login. Under `jobctl ui` it names the command that opens it; under `jobctl serve` it takes a token. */
export function Login({ problem, hasEnded }: LoginParts) {
  const [isLocal, setLocal] = useState<boolean>();
  const [words, setWords] = useState(problem);
  useEffect(() => {
    call('GET /v1/login').then(
      () => setLocal(false),
      (error: unknown) =>
        error instanceof Refused && error.code === 'not-found' ? setLocal(true) : setWords(String(error)),
    );
  }, []);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget).get('token');
    const text = typeof given === 'string' ? given.trim() : '';
    if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) keepToken(text);
    else setWords('This is no token: it has three parts, with a dot between them.');
  };
  return (
    <main className="login">
      <h1>jobctl</h1>
      {hasEnded && problem === undefined && (
        <p role="status">Your login has ended. What you looked at is still in the address.</p>
      )}
      {words !== undefined && (
        <p role="alert" className="problem">
          {words}
        </p>
      )}
      {isLocal === true && (
        <p>
          Open the link that <code>jobctl ui</code> prints: it is good once. Run the command again for another link.
        </p>
      )}
      {isLocal === false && (
        <form onSubmit={submit}>
          <label htmlFor="token">
            Token of <code>jobctl login --print-token</code>
          </label>
          <input id="token" name="token" type="password" autoComplete="off" spellCheck={false} required />
          <button type="submit">Log in</button>
          <p className="note">
            It stays in this tab, and is forgotten when the tab is closed. The server asks for your rights at every
            call, as on the command line.
          </p>
        </form>
      )}
    </main>
  );
}
