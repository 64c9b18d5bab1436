import type { JournalEvent } from '../../../rehearsal/journal.js';
import { tokenInFile } from '../../../cloud/access-token.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { RehearsalStatus } from './admin-answers.js';

/** A rehearsal on this computer answers in milliseconds, unless it is starting or stopping. */
const CALL_TIMEOUT_MS = 15_000;

/** The rehearsal's admin interface (docs/rehearsal.md): the only access of this command line to a rehearsal. */
export class RehearsalAdmin {
  readonly #url: string;
  readonly #tokenFile: string | undefined;

  /** @param url without a slash at the end @param tokenFile absent: the rehearsal requires no token of this login's processes */
  constructor(url: string, tokenFile?: string) {
    this.#url = url;
    this.#tokenFile = tokenFile;
  }

  async status(): Promise<RehearsalStatus> {
    return JSON.parse(await this.#call('GET', 'status')) as RehearsalStatus;
  }

  /** Events after event number `after`, oldest first. */
  async journal(after: number): Promise<readonly JournalEvent[]> {
    const lines = (await this.#call('GET', `journal?after=${after}`)).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEvent);
  }

  /** Everything that the simulated cloud knows, as JSON lines. */
  dump(): Promise<string> {
    return this.#call('GET', 'dump');
  }

  async get(verb: string): Promise<object> {
    return JSON.parse(await this.#call('GET', verb)) as object;
  }

  /** Changes the rehearsal. Undefined fields of `body` are not sent. */
  async post(verb: string, body: object): Promise<object> {
    return JSON.parse(await this.#call('POST', verb, body)) as object;
  }

  async delete(verb: string): Promise<object> {
    return JSON.parse(await this.#call('DELETE', verb)) as object;
  }

  async #call(method: string, path: string, body?: object): Promise<string> {
    const token = tokenInFile(this.#tokenFile);
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : JSON_BODY),
    };
    const sent = { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const signal = AbortSignal.timeout(CALL_TIMEOUT_MS);
    let answer: { readonly status: number; readonly text: string };
    try {
      const response = await fetch(`${this.#url}/admin/${path}`, { method, signal, ...sent });
      answer = { status: response.status, text: await response.text() };
    } catch (error) {
      throw unanswered(this.#url, error as Error);
    }
    if (answer.status >= 400) throw refusal(path, answer.status, answer.text);
    return answer.text;
  }
}

const JSON_BODY = { 'content-type': 'application/json' };

function unanswered(url: string, { message, cause }: Error): CliError {
  const why = cause instanceof Error ? cause.message : message;
  return new CliError(
    ExitCode.Unavailable,
    `the rehearsal at ${url} does not answer: ${why}`,
    '`jobctl dev status` shows the local stack, `jobctl dev up` starts what does not run',
  );
}

/** An error with the rehearsal's own message, which lists the existing objects if one is not found. */
function refusal(path: string, status: number, text: string): CliError {
  const exitCode = EXIT_CODES[status] ?? (status < 500 ? ExitCode.Usage : ExitCode.Failed);
  const [what = '', ...rest] = wordsOf(text).split('\n');
  const isUnknownVerb = status === 404 && what.startsWith('Route ');
  if (!isUnknownVerb) return new CliError(exitCode, what, ...rest.map((line) => line.trim()));
  const why = 'it is of another version of jobctl; `jobctl dev down` and `jobctl dev up` start this one';
  return new CliError(ExitCode.Unavailable, `the rehearsal that runs does not know /admin/${path}`, why);
}

const EXIT_CODES: Readonly<Record<number, ExitCode>> = { 404: ExitCode.NotFound, 409: ExitCode.Refused };

function wordsOf(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { readonly error?: string; readonly message?: string };
    return message ?? error ?? text;
  } catch {
    return text;
  }
}
