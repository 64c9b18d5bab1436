import { answerText } from '../answer-text.js';
import { tokenInFile } from '../access-token.js';
import type { OnExchange } from '../exchange.js';
import { googleRefusal, inOneLine } from '../google-refusal.js';
import { GoogleLogin } from './login.js';
import { GoogleCallFailed, type Identity } from './port.js';
import { restErrorOf } from './rest-error.js';

const REQUEST_TIMEOUT_MS = 30_000;
/** Pages of the longest listing we allow. The limit ends the loop if a server repeats its page tokens for ever. */
const MAX_PAGES = 200;

export type Service =
  | 'cloudresourcemanager'
  | 'compute'
  | 'iam'
  | 'orgpolicy'
  | 'oslogin'
  | 'serviceusage'
  | 'storage'
  | 'tpu';

export interface GoogleRestOptions {
  readonly googleProject: string;
  /**
   * Replaces the addresses of all APIs but Cloud Storage; absent: Google's own. Over `http:` no credentials are sent, except the
   * token in `accessTokenFile`.
   */
  readonly apiEndpoint?: string;
  readonly accessTokenFile?: string;
  /** Replaces the address of Cloud Storage. */
  readonly storeEndpoint?: string;
  /** Receives each answered request as it crossed the wire. */
  readonly onExchange?: OnExchange;
}

/** Requests to Google's APIs in JSON with the application default credentials, each made once. ADR 0008. */
export class GoogleRest {
  readonly #options: GoogleRestOptions;
  readonly #login: GoogleLogin;

  constructor(options: GoogleRestOptions) {
    this.#options = options;
    this.#login = new GoogleLogin(options.googleProject);
  }

  async identity(): Promise<Identity> {
    return this.#isPlain('serviceusage') ? { kind: 'none' } : this.#login.identity();
  }

  /** @throws GoogleCallFailed */
  get<T>(service: Service, path: string): Promise<T> {
    return this.#request<T>('GET', service, path);
  }

  /** @throws GoogleCallFailed */
  post<T>(service: Service, path: string, body: object): Promise<T> {
    return this.#request<T>('POST', service, path, body);
  }

  /** @throws GoogleCallFailed */
  delete<T>(service: Service, path: string): Promise<T> {
    return this.#request<T>('DELETE', service, path);
  }

  /** The items of all pages under `key`. @throws GoogleCallFailed */
  async list<T>(service: Service, path: string, key: string): Promise<readonly T[]> {
    const all: T[] = [];
    let pageToken = '';
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const query = new URLSearchParams({ ...(pageToken === '' ? {} : { pageToken }) });
      const page = await this.get<Record<string, unknown>>(service, `${path}${pageToken === '' ? '' : `?${query}`}`);
      for (const one of (page[key] ?? []) as readonly T[]) all.push(one);
      pageToken = typeof page['nextPageToken'] === 'string' ? page['nextPageToken'] : '';
      if (pageToken === '') return all;
    }
    const message = `GET ${path}: no end after ${MAX_PAGES} pages`;
    throw new GoogleCallFailed(message, { message }, undefined);
  }

  #baseOf(service: Service): string {
    const { apiEndpoint, storeEndpoint } = this.#options;
    const configured = service === 'storage' ? storeEndpoint : apiEndpoint;
    return (configured ?? `https://${service}.googleapis.com`).replace(/\/$/, '');
  }

  #isPlain(service: Service): boolean {
    return this.#baseOf(service).startsWith('http:');
  }

  #ownToken(): Readonly<Record<string, string>> {
    const token = tokenInFile(this.#options.accessTokenFile);
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  #tell(method: string, request: object | undefined, code: number, text: string): void {
    const { onExchange } = this.#options;
    onExchange?.({ wire: 'rest', method, request: request ?? null, code, answer: contentOf(text) });
  }

  async #request<T>(method: 'GET' | 'POST' | 'DELETE', service: Service, path: string, body?: object): Promise<T> {
    const url = `${this.#baseOf(service)}${path}`;
    const login = this.#isPlain(service) ? this.#ownToken() : await this.#login.headers();
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { ...login, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await fetch(url, { method, headers, signal, ...content }).catch((error: unknown) =>
      fail(`${method} ${url}: ${reasonOf(error)}`),
    );
    const text = await answerText(response.body).catch((error: unknown) =>
      fail(`${method} ${url}: ${reasonOf(error)}`),
    );
    this.#tell(`${method} ${service} ${path}`, body, response.status, text);
    if (response.ok) return readAnswer<T>(text, `${method} ${url}`);
    const error = restErrorOf(response.status, text);
    const refusal = googleRefusal(error);
    const why = refusal === undefined ? `HTTP ${response.status}: ${error.message}` : inOneLine(refusal);
    throw new GoogleCallFailed(`${method} ${url}: ${why}`, error, refusal);
  }
}

/** Parsed JSON, or the plain text if it is not JSON. */
function contentOf(text: string): unknown {
  try {
    return text === '' ? null : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

/** An answer that is not JSON comes from a proxy or was cut off; it is evidence of nothing. */
function readAnswer<T>(text: string, what: string): T {
  try {
    return (text === '' ? {} : JSON.parse(text)) as T;
  } catch {
    return fail(`${what}: the answer is not JSON`);
  }
}

function fail(message: string): never {
  throw new GoogleCallFailed(message, { message }, undefined);
}

/** `fetch failed` alone does not help a user: the cause holds the reason. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message || error.cause.name}` : error.message;
}
