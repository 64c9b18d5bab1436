import type { AuthClient, GoogleAuth } from 'google-auth-library';
import { messageOf } from '../../domain/errors.js';
import { answerText, type OnExchange } from '../exchange.js';
import { tokenInFile } from '../access-token.js';
import { googleRefusal, inOneLine, type GoogleError, NO_CREDENTIALS } from '../google-refusal.js';
import { GoogleCallFailed, type Identity } from './port.js';

const REQUEST_TIMEOUT_MS = 30_000;
/** Pages of the longest listing we allow. The limit ends the loop if a server repeats its page tokens for ever. */
const MAX_PAGES = 200;

type Service =
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
  patch<T>(service: Service, path: string, body: object): Promise<T> {
    return this.#request<T>('PATCH', service, path, body);
  }

  /** @throws GoogleCallFailed */
  delete<T>(service: Service, path: string): Promise<T> {
    return this.#request<T>('DELETE', service, path);
  }

  /** The items of all pages under `key`. @throws GoogleCallFailed */
  async list<T>(
    service: Service,
    path: string,
    key: string,
    onPage: (page: Readonly<Record<string, unknown>>) => void = () => {},
  ): Promise<readonly T[]> {
    const all: T[] = [];
    let pageToken = '';
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const query = new URLSearchParams({ ...(pageToken === '' ? {} : { pageToken }) });
      const page = await this.get<Record<string, unknown>>(service, `${path}${pageToken === '' ? '' : `?${query}`}`);
      onPage(page);
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

  async #request<T>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    service: Service,
    path: string,
    body?: object,
  ): Promise<T> {
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

interface ErrorBody {
  readonly error?: {
    readonly message?: string;
    readonly status?: string;
    readonly details?: readonly {
      readonly reason?: string;
      readonly metadata?: Readonly<Record<string, string>>;
    }[];
  };
}

const SHOWN_CHARACTERS = 500;

/** Reads Google's JSON of a failed request. From any other body (a proxy's page) it takes the first characters. */
export function restErrorOf(httpStatus: number, body: string): GoogleError {
  const { message, status, details = [] } = parsed(body)?.error ?? {};
  const info = details.find((detail) => detail.reason !== undefined);
  return {
    httpStatus,
    message: message ?? body.slice(0, SHOWN_CHARACTERS),
    ...(status === undefined ? {} : { status }),
    ...(info?.reason === undefined ? {} : { reason: info.reason }),
    ...(info?.metadata === undefined ? {} : { metadata: info.metadata }),
  };
}

function parsed(body: string): ErrorBody | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the same request may succeed later. */
export const isOutage = (httpStatus: number): boolean => httpStatus >= 500 || httpStatus === 429 || httpStatus === 408;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const EMAIL_TIMEOUT_MS = 5_000;

/** The application default credentials for requests about a Google project, loaded on first use. */
export class GoogleLogin {
  readonly #googleProject: string;
  #opened: Promise<{ readonly auth: GoogleAuth; readonly client: AuthClient }> | undefined;

  constructor(googleProject: string) {
    this.#googleProject = googleProject;
  }

  /** @throws GoogleCallFailed */
  async headers(): Promise<Record<string, string>> {
    const { client } = await this.#open();
    const { token } = await client.getAccessToken().catch(failLogin);
    const quotaProject = client.quotaProjectId ?? ((await isPerson(client)) ? this.#googleProject : undefined);
    return {
      authorization: `Bearer ${token}`,
      // Service Usage and similar APIs refuse a person's call that names no project to count it for.
      ...(quotaProject === undefined ? {} : { 'x-goog-user-project': quotaProject }),
    };
  }

  /** @throws GoogleCallFailed, also if the login has expired */
  async identity(): Promise<Identity> {
    const { auth, client } = await this.#open();
    const { token } = await client.getAccessToken().catch(failLogin);
    const kind = await kindOf(client);
    const email = await within(EMAIL_TIMEOUT_MS, emailOf(auth, client, kind, token ?? ''));
    return {
      kind,
      ...(email === undefined ? {} : { email }),
      ...(client.quotaProjectId === undefined ? {} : { quotaProject: client.quotaProjectId }),
    };
  }

  #open(): Promise<{ readonly auth: GoogleAuth; readonly client: AuthClient }> {
    this.#opened ??= openLogin(this.#googleProject);
    return this.#opened;
  }
}

/**
 * The Google project that the environment names. In this order: GOOGLE_CLOUD_PROJECT, the credentials (for a person their quota
 * project), gcloud's configuration, the VM's project.
 */
export async function defaultGoogleProject(): Promise<string | undefined> {
  const { GoogleAuth } = await import('google-auth-library');
  const auth = new GoogleAuth({ scopes: [SCOPE] });
  const named = process.env['GOOGLE_CLOUD_PROJECT'] || process.env['GCLOUD_PROJECT'];
  if (named) return named;
  const client = await auth.getClient().catch(() => undefined);
  return client?.quotaProjectId ?? (await auth.getProjectId().catch(() => undefined));
}

async function openLogin(projectId: string): Promise<{ readonly auth: GoogleAuth; readonly client: AuthClient }> {
  const { GoogleAuth } = await import('google-auth-library');
  // Without a project id the library runs gcloud to find it, which takes half a second or more.
  const auth = new GoogleAuth({ scopes: [SCOPE], projectId });
  const client = await auth
    .getClient()
    .catch((error: unknown) => refuse({ message: messageOf(error), reason: NO_CREDENTIALS }));
  return { auth, client };
}

function failLogin(error: unknown): never {
  refuse({ message: messageOf(error), ...statusOf(error) });
}

function refuse(error: GoogleError): never {
  const refusal = googleRefusal(error);
  throw new GoogleCallFailed(
    refusal === undefined ? `no access token: ${error.message}` : inOneLine(refusal),
    error,
    refusal,
  );
}

function statusOf(error: unknown): { httpStatus?: number } {
  const status = (error as { readonly response?: { readonly status?: unknown } }).response?.status;
  return typeof status === 'number' ? { httpStatus: status } : {};
}

async function kindOf(client: AuthClient): Promise<Identity['kind']> {
  const { BaseExternalAccountClient, UserRefreshClient } = await import('google-auth-library');
  if (client instanceof UserRefreshClient) return 'user';
  return client instanceof BaseExternalAccountClient || isFederatedPerson(client) ? 'external' : 'service-account';
}

/** Compares the class name, because the library does not export the class (9.15). */
const isFederatedPerson = ({ constructor }: AuthClient): boolean =>
  constructor.name === 'ExternalAccountAuthorizedUserClient';

async function isPerson(client: AuthClient): Promise<boolean> {
  return (await kindOf(client)) === 'user' || isFederatedPerson(client);
}

async function emailOf(
  auth: GoogleAuth,
  client: AuthClient,
  kind: Identity['kind'],
  token: string,
): Promise<string | undefined> {
  if (kind !== 'user') return (await auth.getCredentials()).client_email ?? undefined;
  const { OAuth2Client } = await import('google-auth-library');
  return client instanceof OAuth2Client ? (await client.getTokenInfo(token)).email : undefined;
}

/** The address is optional: if it cannot be found in time, the result is undefined. */
async function within<T>(ms: number, found: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  return Promise.race([found.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
