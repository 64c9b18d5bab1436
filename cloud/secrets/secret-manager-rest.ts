import { answerText } from '../answer-text.js';
import { accessTokens } from '../access-token.js';
import { SecretsRefused, SecretsUnavailable } from './port.js';

const GOOGLE = 'https://secretmanager.googleapis.com';
const TIMEOUT_MS = 30_000;

export interface RestSecret {
  /** `projects/NUMBER/secrets/ID` */
  readonly name?: string;
  readonly createTime?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Identifies this state of the secret: a call that sends it fails if the secret has changed since. */
  readonly etag?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The fields of all answers together; each method fills its own. */
export interface RestAnswer extends RestSecret {
  readonly secrets?: readonly RestSecret[];
  readonly nextPageToken?: string;
  readonly payload?: { readonly data?: string };
}

/** Calls of Secret Manager v1. Error texts contain Google's answer, never the request. */
export class SecretManagerRest {
  readonly #place: string;
  readonly #endpoint: string;
  readonly #token: () => Promise<string | undefined>;

  constructor(place: string, endpoint: string = GOOGLE) {
    this.#place = place;
    this.#endpoint = endpoint;
    this.#token = accessTokens(endpoint);
  }

  /**
   * @param what completes "cannot .. a secret"
   * @param alsoGood statuses beside 2xx that count as success
   * @throws SecretsRefused, SecretsUnavailable
   */
  async call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    what: string,
    body?: object,
    alsoGood: readonly number[] = [],
  ): Promise<RestAnswer | 'absent'> {
    const { status, text } = await this.#send(method, path, what, body);
    if (status === 404) return 'absent';
    if (alsoGood.includes(status)) return {};
    const answer = jsonOf(text);
    if (status >= 200 && status < 300) return answer;
    throw this.#failure(what, status, answer.error?.message ?? `HTTP ${status}`);
  }

  /** Like `call`, but a missing resource is a failure too. */
  async mustCall(...call: Parameters<SecretManagerRest['call']>): Promise<RestAnswer> {
    const answer = await this.call(...call);
    if (answer === 'absent') throw this.#failure(call[2], 404, 'not found');
    return answer;
  }

  async #send(
    method: string,
    path: string,
    what: string,
    body: object | undefined,
  ): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const token = await this.#token();
      const response = await fetch(`${this.#endpoint}/v1/${path}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { status: response.status, text: await answerText(response.body) };
    } catch (error) {
      const { message, cause } = error as Error;
      const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
      throw new SecretsUnavailable(`${this.#place}: cannot ${what} a secret: ${why}`, { cause: error });
    }
  }

  #failure(what: string, status: number, why: string): Error {
    const message = `${this.#place}: cannot ${what} a secret: ${why}`;
    if (status === 429 || status >= 500) return new SecretsUnavailable(message);
    return new SecretsRefused(`${message}${remedy(status)}`);
  }
}

function jsonOf(text: string): RestAnswer & { readonly error?: { readonly message?: string } } {
  try {
    return JSON.parse(text) as RestAnswer;
  } catch {
    return {};
  }
}

function remedy(status: number): string {
  if (status !== 401 && status !== 403) return '';
  return (
    '\n  workers need roles/secretmanager.secretAccessor; who puts secrets needs roles/secretmanager.admin on the project' +
    '\n  is the API enabled? gcloud services enable secretmanager.googleapis.com'
  );
}
