import { answerText } from '../exchange.js';
import { accessTokens } from '../access-token.js';
import { type SecretStore, SecretsRefused, type StoredSecret, SecretsUnavailable } from './port.js';
import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/** A worker reads only secrets with this prefix, whatever a job file names. */
const PREFIX = 'jobctl-';
const LABEL = { jobctl: 'secret' } as const;
const FINGERPRINT = 'jobctl-fingerprint';
/** Pages of 250 secrets. The limit ends the loop if a server repeats its page tokens for ever. */
const MOST_PAGES = 200;
const PUT_AT = 'jobctl-put-at';

/**
 * Google's Secret Manager, by its REST API and the application default credentials. A secret is named `jobctl-NAME`, and its
 * newest version is the value. Fingerprint and time are annotations, so listing needs no right to read values. Older versions
 * stay until an operator destroys them.
 */
export class SecretManagerStore implements SecretStore {
  readonly place: string;
  readonly #project: string;
  readonly #rest: SecretManagerRest;

  constructor(project: string, endpoint?: string) {
    this.place = `Secret Manager of project ${project}`;
    this.#project = project;
    this.#rest = new SecretManagerRest(this.place, endpoint);
  }

  async read(name: string): Promise<string | undefined> {
    const answer = await this.#rest.call('GET', `${this.#path(name)}/versions/latest:access`, 'read');
    return answer === 'absent' ? undefined : Buffer.from(answer.payload?.data ?? '', 'base64').toString('utf8');
  }

  async list(): Promise<readonly StoredSecret[]> {
    const found: StoredSecret[] = [];
    let pageToken = '';
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const query = new URLSearchParams({ filter: `labels.jobctl=${LABEL.jobctl}`, pageSize: '250' });
      if (pageToken !== '') query.set('pageToken', pageToken);
      const page = await this.#rest.call('GET', `projects/${this.#project}/secrets?${query}`, 'list');
      if (page === 'absent') throw new SecretsRefused(`${this.place}: there is no such project, or no right to see it`);
      for (const one of (page.secrets ?? []).flatMap(storedSecret)) found.push(one);
      pageToken = page.nextPageToken ?? '';
      if (pageToken === '') return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    }
    throw new SecretsRefused(`${this.place}: the list of secrets has no end after ${MOST_PAGES} pages`);
  }

  async put(name: string, value: string): Promise<StoredSecret & { readonly isChanged: boolean }> {
    const fingerprint = await secretFingerprint(name, value);
    const known = await this.#describe(name);
    if (known !== undefined && (await this.#isValue(name, value)) && known.fingerprint === fingerprint)
      return { ...known, isChanged: false };
    await this.#make(name);
    const data = Buffer.from(value).toString('base64');
    await this.#rest.mustCall('POST', `${this.#path(name)}:addVersion`, 'add a version', { payload: { data } });
    const putAt = Date.now();
    // Last: after a crash before this call the old fingerprint stays, and the next put of the value replaces it.
    const annotations = { [FINGERPRINT]: fingerprint, [PUT_AT]: new Date(putAt).toISOString() };
    await this.#rest.mustCall('PATCH', `${this.#path(name)}?updateMask=annotations`, 'annotate', { annotations });
    return { name, fingerprint, putAt, isChanged: true };
  }

  async remove(name: string): Promise<boolean> {
    const secret = await this.#rest.call('GET', this.#path(name), 'look at');
    if (secret === 'absent') return false;
    this.#refuseForeign(name, secret);
    const only = secret.etag === undefined ? '' : `?etag=${encodeURIComponent(secret.etag)}`;
    return (await this.#rest.call('DELETE', `${this.#path(name)}${only}`, 'remove')) !== 'absent';
  }

  /** A user who may write but not read cannot compare, so each of their puts adds a version. */
  async #isValue(name: string, value: string): Promise<boolean> {
    return (await this.read(name).catch(() => undefined)) === value;
  }

  async #describe(name: string): Promise<StoredSecret | undefined> {
    const secret = await this.#rest.call('GET', this.#path(name), 'look at');
    if (secret === 'absent') return undefined;
    this.#refuseForeign(name, secret);
    return storedSecret(secret)[0];
  }

  async #make(name: string): Promise<void> {
    const body = { replication: { automatic: {} }, labels: LABEL };
    const path = `projects/${this.#project}/secrets?secretId=${PREFIX}${name}`;
    await this.#rest.mustCall('POST', path, 'make', body, [409]);
  }

  /** The name alone is no proof (docs/adr/0044). @throws SecretsRefused if another tool made the secret under our prefix */
  #refuseForeign(name: string, { labels }: RestSecret): void {
    if (labels?.['jobctl'] === LABEL.jobctl) return;
    throw new SecretsRefused(
      `${this.place}: secret ${PREFIX}${name} is not jobctl's: it has no label jobctl=${LABEL.jobctl}. Take another name`,
    );
  }

  #path(name: string): string {
    return `projects/${this.#project}/secrets/${PREFIX}${encodeURIComponent(name)}`;
  }
}

/** Empty if the secret has our label but not our prefix: another tool made it. */
function storedSecret({ name = '', annotations = {}, createTime }: RestSecret): StoredSecret[] {
  const id = name.slice(name.lastIndexOf('/') + 1);
  if (!id.startsWith(PREFIX)) return [];
  const putAt = Date.parse(annotations[PUT_AT] ?? createTime ?? '');
  return [{ name: id.slice(PREFIX.length), fingerprint: annotations[FINGERPRINT] ?? 'unknown', putAt: putAt || 0 }];
}

const GOOGLE = 'https://secretmanager.googleapis.com';
const TIMEOUT_MS = 30_000;

interface RestSecret {
  /** `projects/NUMBER/secrets/ID` */
  readonly name?: string;
  readonly createTime?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Identifies this state of the secret: a call that sends it fails if the secret has changed since. */
  readonly etag?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The fields of all answers together; each method fills its own. */
interface RestAnswer extends RestSecret {
  readonly secrets?: readonly RestSecret[];
  readonly nextPageToken?: string;
  readonly payload?: { readonly data?: string };
}

/** Calls of Secret Manager v1. Error texts contain Google's answer, never the request. */
class SecretManagerRest {
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

const derive = promisify<string, string, number, Buffer>(scrypt);
const SHOWN_BYTES = 5;

/**
 * For a private SSH key, its public fingerprint as `ssh-keygen -l` shows it. For any other value, 10 hexadecimal digits of a hash
 * that takes about 50 ms, so that a user who may list secrets but not read them cannot guess passwords from it.
 * @param name salts the hash: one value under two names has two fingerprints
 */
export async function secretFingerprint(name: string, value: string): Promise<string> {
  // ssh2 is slow to load, so it is loaded only for text that looks like a private key.
  if (value.includes('PRIVATE KEY-----')) {
    const { readPrivateKey } = await import('../hosts/private-key.js');
    const key = readPrivateKey(value);
    if (key.kind === 'key') return key.fingerprint;
  }
  return (await derive(value, `jobctl secret ${name}`, SHOWN_BYTES)).toString('hex');
}
